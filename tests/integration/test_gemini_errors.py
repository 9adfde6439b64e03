"""Error responses of the Gemini API in many forms, and connections that break off."""

import gzip
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mnemosyne.adapters.embedders import gemini_calls
from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.adapters.embedders.gemini_errors import Explanations, VertexAi
from mnemosyne.errors import ServiceError
from tests.fakes_wire.gemini import GeminiServer, error
from tests.fakes_wire.http import Html, Reply

PLACE = VertexAi("test-project", "europe-west1")
PAGE = "<html><title>Error (Forbidden)!!1</title>Your client does not have permission"
BODIES: dict[str, Any] = {
    "empty": Reply(),
    "page": Html(PAGE),
    "not UTF-8": Reply("Accès refusé".encode("latin-1")),
    "JSON that is not UTF-8": Reply('{"error": {"message": "refusé"}}'.encode("latin-1")),
    "gzip": Reply(gzip.compress(PAGE.encode()), {"Content-Encoding": "gzip"}),
    "not gzip": Reply(PAGE.encode(), {"Content-Encoding": "gzip"}),
    "cut": Reply(PAGE.encode(), cut=True),
    "unknown charset": Reply(PAGE.encode(), {"Content-Type": "text/html; charset=none"}),
    "null": "null",
    "list": [],
    "list of an error": [{"error": {"message": "no"}}],
    "text": '"no"',
    "error as text": {"error": "no"},
    "error without a message": {"error": {"code": 500}},
    "message in parts": {"error": {"message": {"text": "no"}}},
    "nested": 100_000 * "[",
}


@pytest.mark.parametrize("status", [400, 503])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_error_response_is_classified_by_its_status_whatever_its_body_is(
    gemini: GeminiServer, status: int, body: Any
) -> None:
    embedder = GeminiEmbedder("gemini-embedding-001", 64, pause_seconds=0)

    def raised(answer: tuple[int, Any]) -> tuple[ServiceError, int]:
        gemini.fault = lambda s: answer
        before = gemini.calls
        with pytest.raises(ServiceError) as caught:
            embedder.embed_query("tea")
        return caught.value, gemini.calls - before

    expected, expected_calls = raised(error(status, "no"))
    exc, calls = raised((status, body))
    assert (type(exc), exc.cause, calls) == (type(expected), expected.cause, expected_calls)
    assert f"answered {status}: " in exc.detail


def _break_off(server: GeminiServer) -> tuple[int, Any]:
    raise ConnectionAbortedError


BROKEN_OFF: dict[str, Callable[[GeminiServer], tuple[int, Any]]] = {
    "before the answer": _break_off,
    "during the answer": lambda server: (200, Reply(b'{"embeddings": []}', cut=True)),
}


@pytest.mark.parametrize("fault", BROKEN_OFF.values(), ids=BROKEN_OFF)
@pytest.mark.parametrize("vertex", [None, PLACE], ids=["developer API", "Vertex AI"])
def test_a_call_whose_connection_broke_off_is_repeated_once(
    gemini: GeminiServer, vertex: VertexAi | None, fault: Callable[[GeminiServer], tuple[int, Any]]
) -> None:
    """The service closes idle connections, and a call may be sent on such a connection."""
    embedder = GeminiEmbedder("gemini-embedding-001", 64, vertex, pause_seconds=0)

    def vectors() -> list[object]:
        return [
            embedder.embed_query("tea").tolist(),
            *map(np.ndarray.tolist, embedder.embed_documents(["tea", "cars"])),
        ]

    before = vectors()
    gemini.calls = 0
    gemini.fault = lambda server: fault(server) if server.calls in (1, 3) else None
    assert vectors() == before
    assert gemini.calls == 2 * 2


def test_a_call_whose_connection_broke_off_late_is_not_repeated(
    gemini: GeminiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gemini_calls, "BROKEN_OFF_SECONDS", -1.0)
    gemini.fault = _break_off
    with pytest.raises(ServiceError, match="the connection broke off"):
        GeminiEmbedder("gemini-embedding-001", 64).embed_query("tea")
    assert gemini.calls == 1


# Answers of the Gemini developer API (None) and of Vertex AI that users of Google's libraries have reported, shortened.
ANSWERS: list[tuple[VertexAi | None, int, str, str, str]] = [
    (None, 400, "API key not valid. Please pass a valid API key.", "refuses the API key", "add a valid key"),
    (None, 403, "Your API key was reported as leaked.", "refuses the API key", "in its API restrictions"),
    (None, 403, "Consumer 'api_key:AIza01' has been suspended.", "refuses the API key", "add a valid key"),
    # Since June 2026, Google answers thus to standard keys without restrictions.
    (None, 401, "Expected OAuth 2 access token, login cookie or other", "deployment's credentials", "add a valid key"),
    (None, 403, "Requests from referer <empty> are blocked.", "with this API key", "in its API restrictions"),
    (None, 403, "API has not been used in project 1 before", "is not enabled", "enable generativelanguage.googleapis"),
    (None, 400, "User location is not supported.", "location of this caller", "to use Vertex AI"),
    (
        None,
        400,
        "The free tier is not available. Please enable billing",
        "problem with its billing",
        "link the project",
    ),
    (None, 429, "Gemini Embedding doesn't have a free quota tier.", "is zero", "request a quota"),
    (None, 429, "Quota exceeded, limit: 0, model: x", "is zero", "request a quota"),
    (None, 429, "embed_content_free_tier_requests, limit: 100", "exhausted or zero", "lower max_instances.ingest"),
    (None, 429, "Your prepayment credits are depleted.", "credits are used up", "buy credits"),
    (
        None,
        429,
        "Your project has exceeded its monthly spending cap.",
        "spending cap is reached",
        "raise the spending cap",
    ),
    (PLACE, 401, "Expected OAuth 2 access token, login cookie or other", "deployment's credentials", "gcloud auth"),
    (PLACE, 403, "insufficient authentication scopes.", "refuses this deployment's credentials", "gcloud auth"),
    (PLACE, 403, "'aiplatform.endpoints.predict' denied", "may not be used at europe-west1", "roles/aiplatform.user"),
    (PLACE, 403, "API has not been used in project 1", "not enabled in project test-project", "enables aiplatform"),
    (PLACE, 403, "The billing account is disabled in state absent", "with its billing", "open billing account"),
    (PLACE, 403, "Caller does not have permission to use project test-1.", "quota project", "set-quota-project"),
    (PLACE, 403, "The API requires a quota project", "quota project", "set-quota-project"),
    (PLACE, 403, "Permission denied on resource project A.", "project test-project", "GOOGLE_CLOUD_PROJECT"),
    (PLACE, 403, "Consumer 'projects/1' has been suspended.", "project test-project", "GOOGLE_CLOUD_PROJECT"),
    (PLACE, 403, "Project #1 has been deleted.", "project test-project", "GOOGLE_CLOUD_PROJECT"),
    (PLACE, 403, "prohibited by organization's policy.", "a policy of the organization", "ask an administrator"),
    (PLACE, 400, "Organization Policy constraint violated", "a policy of the organization", "ask an administrator"),
    (PLACE, 400, "Project `1` is not allowed to use Publisher Model `m`", "is not available at", "embedding_location"),
    (PLACE, 400, "`m` is not supported in the embedContent API.", "is not available at", "embedding_location"),
    (PLACE, 400, "Precondition check failed.", "is not available at europe-west1", "embedding_location"),
    (PLACE, 400, "User location is not supported.", "location of this caller", "embedding_location"),
    (PLACE, 404, "Publisher Model `m` was not found", "is not available at europe-west1", "MNEMOSYNE_EMBEDDING_MODEL"),
]


@pytest.mark.parametrize(
    ("vertex", "status", "message", "cause", "next_step"), ANSWERS, ids=[f"{row[1]} {row[2]}" for row in ANSWERS]
)
def test_a_real_answer_of_google_is_reported_with_its_cause_and_the_next_step(
    vertex: VertexAi | None, status: int, message: str, cause: str, next_step: str
) -> None:
    raised = Explanations("gemini-embedding-001", 64, vertex).error(status, message)
    assert isinstance(raised, ServiceError)
    assert cause in raised.cause
    assert next_step in raised.next_step
    assert raised.needs_operator or "exhausted" in cause
