"""Both Gemini models on both services, with the real google-genai client: no text is cut, and each has a vector."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from mnemosyne.adapters.embedders.batching import MicroBatchingEmbedder
from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.adapters.embedders.gemini_errors import VertexAi
from mnemosyne.domain.chunking import chunks, embed_whole
from mnemosyne.errors import InvalidRequest, ServiceError, TextTooLong
from mnemosyne.ports.embedder import Embedder
from tests.fakes_wire.gemini import INPUT_TOKENS, VERTEX_CALL_TOKENS, GeminiServer, count_tokens, error
from tests.texts import TEXTS

MODELS = list(INPUT_TOKENS)
PLACE = VertexAi("test-project", "europe-west1")
KINDS = ["English", "Korean", "Japanese", "Chinese", "Arabic", "base64", "JSON", "hex", "digits", "rare scripts"]


@pytest.fixture(params=[None, PLACE], ids=["developer API", "Vertex AI"])
def vertex(request: pytest.FixtureRequest) -> VertexAi | None:
    place: VertexAi | None = request.param
    return place


def embed_all(text: str, embedder: Embedder) -> Sequence[object]:
    (vectors,) = embed_whole([text], embedder.chunk_limit, embedder.embed_documents)
    return vectors


def texts_received(gemini: GeminiServer) -> list[str]:
    """Return the texts of all requests that the service received."""
    requests = [embed_request for body in gemini.requests for embed_request in body.get("requests", [body])]
    return [request["content"]["parts"][0]["text"] for request in requests]


# By day, each kind of text is sent once to each model and once to each service. At night, it is sent to each pair of
# a model and a service.
@pytest.mark.parametrize(
    ("kind", "model", "vertex"),
    [
        pytest.param(
            kind, model, place, id=f"{kind}-{model}-{name}",
            marks=[] if (first + second + third) % 2 == 0 else [pytest.mark.nightly],
        )
        for first, kind in enumerate(KINDS)
        for second, model in enumerate(MODELS)
        for third, (name, place) in enumerate({"developer API": None, "Vertex AI": PLACE}.items())
    ],
)  # fmt: skip
def test_the_model_reads_each_sent_text_completely(
    gemini: GeminiServer, vertex: VertexAi | None, model: str, kind: str
) -> None:
    embedder = GeminiEmbedder(model, 64, vertex)
    for shape in TEXTS[kind][:3]:
        text = shape(Random(kind), 5_000)
        assert len(embed_all(text, embedder)) == len(chunks(text, embedder.chunk_limit))
    assert gemini.embedded == texts_received(gemini)


@pytest.mark.parametrize("model", MODELS)
def test_a_call_keeps_within_the_service_s_limits(gemini: GeminiServer, vertex: VertexAi | None, model: str) -> None:
    embedder = GeminiEmbedder(model, 64, vertex)
    long = [shape(Random(kind), 4_000) for kind in KINDS for shape in TEXTS[kind]]
    texts = [chunk for text in long for chunk in chunks(text, embedder.chunk_limit)] + ["short"] * 250
    assert len(embedder.embed_documents(texts)) == len(texts)
    calls = [body.get("requests", [body]) for body in gemini.requests]
    assert max(map(len, calls)) <= 100
    for call in calls:
        assert (
            sum(count_tokens([embed_request["content"]["parts"][0]["text"] for embed_request in call]))
            <= VERTEX_CALL_TOKENS
        )
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
@pytest.mark.parametrize("density", [1.5, 3.0, 8.0])
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
        "The input token count (25270) exceeds the maximum number of tokens allowed (2048).",
        "Unable to submit request because the input token count is 2060 but model gemini-embedding-001 supports 2048.",
        "Request payload size exceeds the limit: 36000 bytes.",
        "The text is too long for this model",
        "text exceeds the maximum length",
    ],
)
def test_a_refusal_because_of_length_is_recognized_in_each_known_wording(
    gemini: GeminiServer, vertex: VertexAi | None, message: str
) -> None:
    gemini.fault = lambda s: error(400, message) if max(map(len, sent_last(s))) > 1_000 else None
    assert len(embed_all("some words " * 300, GeminiEmbedder("gemini-embedding-001", 64, vertex))) >= 3


def sent_last(gemini: GeminiServer) -> list[str]:
    body = gemini.requests[-1]
    return [embed_request["content"]["parts"][0]["text"] for embed_request in body.get("requests", [body])]


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
def test_a_query_of_any_length_is_embedded_completely(
    gemini: GeminiServer, vertex: VertexAi | None, model: str
) -> None:
    embedder = GeminiEmbedder(model, 64, vertex)
    text = " ".join(f"word{n}" for n in range(5_000))
    assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1.0, abs=1e-5)
    assert gemini.embedded == texts_received(gemini)
    assert {word for embedded_text in gemini.embedded for word in embedded_text.split()} >= set(text.split())


@pytest.mark.parametrize("dimension", [128, 768, 1536, 3072])
@pytest.mark.parametrize("model", MODELS)
def test_vectors_of_each_dimension_are_normalised(
    gemini: GeminiServer, vertex: VertexAi | None, model: str, dimension: int
) -> None:
    embedder = GeminiEmbedder(model, dimension, vertex)
    for vector in [*embedder.embed_documents(["tea", "cars"]), embedder.embed_query("tea")]:
        assert vector.shape == (dimension,)
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-30, 1.0, 1e30, 1e200, 1e308])
def test_a_vector_of_any_length_is_normalised(gemini: GeminiServer, vertex: VertexAi | None, scale: float) -> None:
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


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "Publisher Model `projects/p/locations/europe-west1/publishers/google/models/m` was not found"),
        (403, "Permission 'aiplatform.endpoints.predict' denied on resource"),
        (400, "Publisher Model `projects/p/locations/europe-west1/m` is not supported in the embedContent API."),
        (400, "Precondition check failed."),
        (400, "User location is not supported for the API use."),
    ],
)
def test_an_unusable_model_is_named_with_its_location_and_the_setting_to_change(
    gemini: GeminiServer, model: str, status: int, message: str
) -> None:
    gemini.fault = lambda s: error(status, message)
    for texts in (["tea"], ["tea", "cars"]):
        with pytest.raises(ServiceError, match=f"{model} (is not available|may not be used) at") as raised:
            GeminiEmbedder(model, 64, PLACE).embed_documents(texts)
        assert raised.value.needs_operator
        assert f"answered {status}: {message[:20]}" in str(raised.value)
        assert "embedding_model (MNEMOSYNE_EMBEDDING_MODEL)" in raised.value.next_step
        assert status == 403 or "embedding_location (GOOGLE_CLOUD_LOCATION)" in raised.value.next_step


def test_if_the_service_has_no_batches_texts_are_sent_one_by_one(gemini: GeminiServer) -> None:
    gemini.fault = lambda s: error(404, "Not Found") if s.paths[-1].endswith(":batchEmbedContents") else None
    embedder = GeminiEmbedder("gemini-embedding-2", 64, PLACE)
    assert len(embedder.embed_documents(["tea", "cars", "rain"])) == 3
    assert gemini.calls == 1 + 3
    assert len(embedder.embed_documents(["snow", "wind"])) == 2
    assert gemini.calls == 1 + 3 + 2


@pytest.mark.parametrize("model", MODELS)
def test_a_model_over_its_quota_is_retried(gemini: GeminiServer, vertex: VertexAi | None, model: str) -> None:
    gemini.fault = lambda s: error(429, "Resource exhausted") if s.calls == 1 else None
    assert len(GeminiEmbedder(model, 64, vertex, pause_seconds=0.01).embed_documents(["tea", "cars"])) == 2
    assert gemini.calls == 2


@pytest.mark.parametrize("model", MODELS)
def test_a_refused_text_is_invalid_and_does_not_change_how_others_are_sent(
    gemini: GeminiServer, vertex: VertexAi | None, model: str
) -> None:
    gemini.fault = lambda s: error(400, "content is not allowed") if "poison" in str(s.requests[-1]) else None
    embedder = GeminiEmbedder(model, 64, vertex)
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
@pytest.mark.parametrize("model", MODELS)
def test_each_location_has_its_host(monkeypatch: pytest.MonkeyPatch, model: str, location: str, host: str) -> None:
    for variable in ("GOOGLE_VERTEX_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.delenv(variable, raising=False)
    client = GeminiEmbedder(model, 64, VertexAi("test-project", location))._client
    assert client._api_client._http_options.base_url == f"https://{host}/"
