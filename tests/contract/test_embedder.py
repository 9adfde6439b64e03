"""Contract of each Embedder."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mnemosyne.adapters.embedders.batching import MicroBatchingEmbedder
from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.adapters.embedders.multilingual import MultilingualEmbedder
from mnemosyne.adapters.embedders.offline import OfflineEmbedder
from mnemosyne.ports.embedder import Embedder
from tests.fakes import FakeEmbedder
from tests.fakes_wire.gemini import GeminiServer


@pytest.fixture
def gemini(monkeypatch: pytest.MonkeyPatch) -> Iterator[Embedder]:
    """The real google-genai client with a local server that implements the API."""
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    monkeypatch.delenv("GOOGLE_GENAI_USE_VERTEXAI", raising=False)
    with GeminiServer().serving() as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield GeminiEmbedder("gemini-embedding-001", 64)


LOCAL: Mapping[str, Callable[[], Embedder]] = {
    "fake": FakeEmbedder,
    "offline": OfflineEmbedder,
    "multilingual": cache(MultilingualEmbedder),
}


@pytest.fixture(params=["fake", "offline", "multilingual", "gemini", "offline, batching", "gemini, batching"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    name, _, batching = request.param.partition(", ")
    new_embedder: Embedder = LOCAL[name]() if name in LOCAL else request.getfixturevalue("gemini")
    return MicroBatchingEmbedder(new_embedder) if batching else new_embedder


def test_one_normalised_vector_per_text_in_order(embedder: Embedder) -> None:
    texts = ["green tea", "fast cars", "green tea", "x" * 2_000]
    vectors = embedder.embed_documents(texts)
    assert len(vectors) == 4
    for vector in vectors:
        assert vector.shape == (embedder.dimension,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(vectors[0], vectors[2])


def test_a_query_is_nearest_to_the_text_that_means_the_same(embedder: Embedder) -> None:
    query = embedder.embed_query("a cup of tea")
    tea, cars = embedder.embed_documents(["she drinks a cup of green tea", "fast cars on the road"])
    assert query @ tea > query @ cars


def test_embedding_no_texts_returns_no_vectors(embedder: Embedder) -> None:
    assert list(embedder.embed_documents([])) == []


def test_an_embedder_has_a_model_name_a_dimension_and_a_lexical_weight(embedder: Embedder) -> None:
    assert embedder.model
    assert len(embedder.embed_query("tea")) == embedder.dimension
    assert 0 <= embedder.lexical_weight <= 1
    assert embedder.chunk_limit.characters > 0
    assert embedder.for_namespace("ns").dimension == embedder.dimension


@pytest.mark.parametrize("name", ["offline", "multilingual"])
@pytest.mark.parametrize(
    "text",
    [
        *("\ue000\ue001", "\x07", "🜚", "", " ", "\0", "tea\0tea"),
        *("ﷺ" * 150, "½℻㍿" * 80),  # more tokens than the multilingual model reads
        *(pytest.param(text, marks=pytest.mark.nightly) for text in ("ﷺ" * 3_000, "\u0301" * 5_000, "각" * 3_000)),
    ],
)
def test_text_of_any_characters_has_a_vector(name: str, text: str) -> None:
    assert np.linalg.norm(LOCAL[name]().embed_query(text)) == pytest.approx(1.0, abs=1e-5)


def test_counts_are_shared_between_processes_through_the_file(tmp_path: Path) -> None:
    reader = OfflineEmbedder(tmp_path).for_namespace("ns")
    before = reader.embed_query("Caroline paint")
    OfflineEmbedder(tmp_path).for_namespace("ns").embed_documents(["Caroline"] * 500)
    assert not np.array_equal(reader.embed_query("Caroline paint"), before)


def test_memories_of_other_namespaces_do_not_change_a_namespace_s_vectors(tmp_path: Path) -> None:
    embedder = OfflineEmbedder(tmp_path)
    before = embedder.for_namespace("ada").embed_query("Caroline paint")
    embedder.for_namespace("bob").embed_documents(["Caroline"] * 500)
    assert np.array_equal(embedder.for_namespace("ada").embed_query("Caroline paint"), before)
