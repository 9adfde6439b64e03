"""Both Gemini models on both services, with the real google-genai client: no text is cut, and each has a vector."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from mnemosyne.adapters.embedders.batching import MicroBatchingEmbedder
from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.adapters.embedders.gemini_errors import VertexAi
from mnemosyne.domain.chunking import chunks, embed_whole
from mnemosyne.errors import InvalidRequest, TextTooLong
from mnemosyne.ports.embedder import Embedder
from tests.fakes_wire.gemini import INPUT_TOKENS, VERTEX_CALL_TOKENS, GeminiServer, count_tokens, error
from tests.texts import TEXTS

MODELS = list(INPUT_TOKENS)
PLACE = VertexAi("test-project", "europe-west1")


@pytest.fixture(params=[None, PLACE], ids=["developer API", "Vertex AI"])
def vertex(request: pytest.FixtureRequest) -> VertexAi | None:
    place: VertexAi | None = request.param
    return place


def embed_all(text: str, embedder: Embedder) -> Sequence[object]:
    (vectors,) = embed_whole([text], embedder.chunk_limit, embedder.embed_documents)
    return vectors


def texts_in(body: dict[str, Any]) -> list[str]:
    return [embed_request["content"]["parts"][0]["text"] for embed_request in body.get("requests", [body])]


def texts_received(gemini: GeminiServer) -> list[str]:
    """Return the texts of all requests that the service received."""
    return [text for body in gemini.requests for text in texts_in(body)]


# tests/unit/domain/test_tokens.py compares the estimated length of each kind of text with real tokenizers.
@pytest.mark.parametrize("kind", ["Korean", "rare scripts"])
@pytest.mark.parametrize("model", MODELS)
def test_the_model_reads_each_sent_text_completely(
    gemini: GeminiServer, vertex: VertexAi | None, model: str, kind: str
) -> None:
    embedder = GeminiEmbedder(model, 64, vertex)
    for shape in TEXTS[kind][:3]:
        text = shape(Random(kind), 5_000)
        assert len(embed_all(text, embedder)) == len(chunks(text, embedder.chunk_limit))
    assert gemini.embedded == texts_received(gemini)


def test_a_call_keeps_within_the_service_s_limits(gemini: GeminiServer) -> None:
    embedder = GeminiEmbedder("gemini-embedding-001", 64, PLACE)
    long = [shape(Random(kind), 4_000) for kind in ("English", "Korean", "base64") for shape in TEXTS[kind]]
    texts = [chunk for text in long for chunk in chunks(text, embedder.chunk_limit)] + ["short"] * 250
    assert len(embedder.embed_documents(texts)) == len(texts)
    calls = [texts_in(body) for body in gemini.requests]
    assert max(map(len, calls)) <= 100
    for call in calls:
        assert sum(count_tokens(call)) <= VERTEX_CALL_TOKENS
    assert len(calls) < len(texts) / 5


@pytest.mark.parametrize("model", MODELS)
def test_requests_to_vertex_ai_disable_truncation_for_one_text_and_for_several(
    gemini: GeminiServer, model: str
) -> None:
    embedder = GeminiEmbedder(model, 64, PLACE)
    embedder.embed_documents(["tea"])
    embedder.embed_documents(["tea", "cars"])
    embedder.embed_query("tea")
    single, several, query = gemini.requests
    for config in [single["embedContentConfig"], *(text["embedContentConfig"] for text in several["requests"])]:
        assert config["autoTruncate"] is False
    assert query["embedContentConfig"]["autoTruncate"] is False
    assert [path.rpartition(":")[2] for path in gemini.paths] == ["embedContent", "batchEmbedContents", "embedContent"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("density", [1.5, 8.0])
def test_a_text_that_the_service_rejects_as_too_long_is_stored_in_more_chunks(
    gemini: GeminiServer, model: str, density: float
) -> None:
    """In this test, the fake model counts more tokens than Mnemosyne has estimated."""
    gemini.tokens = lambda texts: [int(density * len(text)) for text in texts]
    embedder = MicroBatchingEmbedder(GeminiEmbedder(model, 64, PLACE))
    text = TEXTS["English"][1](Random(1), 10_000)
    contents = ["green tea", text, "fast cars"]
    before, vectors, after = embed_whole(contents, embedder.chunk_limit, embedder.embed_documents)
    assert (len(before), len(after)) == (1, 1)
    assert len(vectors) > INPUT_TOKENS["gemini-embedding-2"] / INPUT_TOKENS[model]
    read = [embedded_text.removeprefix("title: none | text: ") for embedded_text in gemini.embedded]
    assert set(text.split()) == {
        word for embedded_text in read[-len(vectors) - 1 : -1] for word in embedded_text.split()
    }
    assert max(gemini.tokens(gemini.embedded)) <= INPUT_TOKENS[model]
    assert gemini.calls < 60


@pytest.mark.parametrize(
    "message",
    [
        "Unable to submit request because the input token count is 2060 but model gemini-embedding-001 supports 2048.",
        "Request payload size exceeds the limit: 36000 bytes.",
        "The text is too long for this model",
    ],
)
def test_a_refusal_because_of_length_is_recognized_in_each_known_wording(gemini: GeminiServer, message: str) -> None:
    gemini.fault = lambda s: error(400, message) if max(map(len, texts_in(s.requests[-1]))) > 1_000 else None
    assert len(embed_all("some words " * 300, GeminiEmbedder("gemini-embedding-001", 64, PLACE))) >= 3


def test_a_vector_of_a_truncated_text_is_not_used(gemini: GeminiServer) -> None:
    def truncates(s: GeminiServer) -> tuple[int, object] | None:
        answer = {"embedding": {"values": [1.0] * 64}, "truncated": True}
        return (200, answer) if "tea" in str(s.requests[-1]) else None

    gemini.fault = truncates
    with pytest.raises(TextTooLong):
        GeminiEmbedder("gemini-embedding-2", 64, PLACE).embed_documents(["tea"])


def test_a_batch_that_is_too_long_in_total_is_split_and_later_batches_are_not(gemini: GeminiServer) -> None:
    gemini.tokens = lambda texts: [10 * len(text) for text in texts]
    embedder = GeminiEmbedder("gemini-embedding-001", 64, PLACE)
    assert len(embedder.embed_documents(["x" * 150] * 20)) == 20
    assert gemini.calls == 1 + 2
    assert len(embedder.embed_documents(["tea", "cars"])) == 2
    assert gemini.calls == 1 + 2 + 1


@pytest.mark.parametrize("model", MODELS)
def test_a_query_of_any_length_is_embedded_completely(gemini: GeminiServer, model: str) -> None:
    embedder = GeminiEmbedder(model, 64)
    text = " ".join(f"word{n}" for n in range(5_000))
    assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1.0, abs=1e-5)
    assert gemini.embedded == texts_received(gemini)
    assert {word for embedded_text in gemini.embedded for word in embedded_text.split()} >= set(text.split())


@pytest.mark.parametrize("dimension", [128, 3072])
def test_vectors_of_each_dimension_are_normalised(gemini: GeminiServer, dimension: int) -> None:
    embedder = GeminiEmbedder("gemini-embedding-001", dimension)
    for vector in [*embedder.embed_documents(["tea", "cars"]), embedder.embed_query("tea")]:
        assert vector.shape == (dimension,)
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("scale", [1e-320, 1e308])
def test_a_vector_of_any_length_is_normalised(gemini: GeminiServer, scale: float) -> None:
    values = [scale, -scale, *[0.0] * 62]
    gemini.fault = lambda server: (200, {"embeddings": [{"values": values}]})
    vector = GeminiEmbedder("gemini-embedding-001", 64).embed_query("tea")
    assert vector[:2] == pytest.approx([0.5**0.5, -(0.5**0.5)], abs=1e-3)


def test_gemini_embedding_2_gets_its_task_as_a_prefix_of_the_text(
    gemini: GeminiServer, vertex: VertexAi | None
) -> None:
    embedder = GeminiEmbedder("gemini-embedding-2", 64, vertex)
    embedder.embed_documents(["tea", "cars"])
    embedder.embed_query("tea")
    assert texts_received(gemini) == [
        "title: none | text: tea",
        "title: none | text: cars",
        "task: search result | query: tea",
    ]
    assert "task_type" not in str(gemini.requests)
    assert "taskType" not in str(gemini.requests)


def test_gemini_embedding_001_gets_its_task_as_a_field(gemini: GeminiServer, vertex: VertexAi | None) -> None:
    embedder = GeminiEmbedder("gemini-embedding-001", 64, vertex)
    embedder.embed_documents(["tea", "cars"])
    embedder.embed_query("tea")
    assert texts_received(gemini) == ["tea", "cars", "tea"]
    assert "'taskType': 'RETRIEVAL_DOCUMENT'" in str(gemini.requests[0])
    assert "'taskType': 'RETRIEVAL_QUERY'" in str(gemini.requests[1])


def test_a_refused_text_is_invalid_and_does_not_change_how_others_are_sent(gemini: GeminiServer) -> None:
    gemini.fault = lambda s: error(400, "content is not allowed") if "poison" in str(s.requests[-1]) else None
    embedder = GeminiEmbedder("gemini-embedding-001", 64)
    with pytest.raises(InvalidRequest, match="content is not allowed"):
        embedder.embed_documents(["tea", "poison"])
    calls = gemini.calls
    embedder.embed_documents(["snow", "wind"])
    assert gemini.calls == calls + 1


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
        ("", "aiplatform.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
    ],
)
def test_each_location_has_its_host(monkeypatch: pytest.MonkeyPatch, location: str, host: str) -> None:
    for variable in ("GOOGLE_VERTEX_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.delenv(variable, raising=False)
    client = GeminiEmbedder("gemini-embedding-2", 64, VertexAi("test-project", location))._client
    assert client._api_client._http_options.base_url == f"https://{host}/"
