"""Error responses of the Gemini API in many forms, and connections that break off, with the real client."""

import gzip
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mnemosyne.adapters.embedders import gemini_calls
from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.adapters.embedders.gemini_errors import VertexAi
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
    "bytes": Reply(bytes(range(256))),
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


@pytest.mark.parametrize("status", [400, 403, 429, 503])
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


NEW_KEY = "add a valid key to the secret gemini_api_key_secret"
RESTRICTIONS = "in its API restrictions, and remove its application restrictions"
REFUSED = "refuses this deployment's credentials"
LOG_IN = "run `gcloud auth application-default login`; in a deployment"
ROLE = "grants roles/aiplatform.user"
ADMINISTRATOR = "ask an administrator of the organization"
# Answers of the Gemini developer API (None) and of Vertex AI that users of Google's libraries have reported.
ANSWERS: list[tuple[VertexAi | None, int, str, str, str]] = [
    (None, 400, "API key not valid. Please pass a valid API key.", "refuses the API key", NEW_KEY),
    (None, 400, "API key expired. Please renew the API key.", "refuses the API key", NEW_KEY),
    (None, 400, "API Key not found. Please pass a valid API key.", "refuses the API key", NEW_KEY),
    (None, 403, "Your API key was reported as leaked. Please use another API key.", "refuses the API key", NEW_KEY),
    (None, 403, "Permission denied: Consumer 'api_key:AIza01' has been suspended.", "refuses the API key", NEW_KEY),
    (
        None,
        403,
        "Method doesn't allow unregistered callers. Please use API Key or other form of API consumer identity.",
        "refuses the API key",
        NEW_KEY,
    ),
    # Since June 2026, Google answers thus to standard keys without restrictions.
    (
        None,
        401,
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other",
        REFUSED,
        NEW_KEY,
    ),
    (
        None,
        403,
        "Requests to this API generativelanguage.googleapis.com method BatchEmbedContents are blocked.",
        "may not be used with this API key",
        RESTRICTIONS,
    ),
    (None, 403, "Requests from referer <empty> are blocked.", "may not be used with this API key", RESTRICTIONS),
    (
        None,
        403,
        "The provided API key has an IP address restriction. The originating IP address of the call violates it.",
        "refuses the API key",
        RESTRICTIONS,
    ),
    (
        None,
        403,
        "Generative Language API has not been used in project 1 before or it is disabled. Enable it by visiting "
        "https://console.developers.google.com/apis/api/generativelanguage.googleapis.com/overview?project=1",
        "is not enabled",
        "enable generativelanguage.googleapis.com",
    ),
    (None, 400, "User location is not supported for the API use.", "location of this caller", "to use Vertex AI"),
    (
        None,
        400,
        "Gemini API free tier is not available in your country. Please enable billing on your project in Google AI "
        "Studio.",
        "problem with its billing",
        "link the project",
    ),
    (None, 429, "Gemini Embedding doesn't have a free quota tier.", "is zero", "request a quota"),
    (
        None,
        429,
        "Quota exceeded for metric: generativelanguage.googleapis.com/embed_content_free_tier_requests, limit: 100",
        "exhausted or zero",
        "request a higher quota",
    ),
    (
        PLACE,
        401,
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other",
        REFUSED,
        LOG_IN,
    ),
    (PLACE, 403, "Request had insufficient authentication scopes.", REFUSED, LOG_IN),
    (
        PLACE,
        403,
        "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p/"
        "locations/us-central1/publishers/google/models/gemini-embedding-001' (or it may not exist).",
        "may not be used at europe-west1",
        ROLE,
    ),
    (
        PLACE,
        403,
        "Vertex AI API has not been used in project 1 before or it is disabled. Enable it by visiting "
        "https://console.developers.google.com/apis/api/aiplatform.googleapis.com/overview?project=1 then retry.",
        "is not enabled in project test-project",
        "enables aiplatform.googleapis.com",
    ),
    (
        PLACE,
        403,
        "This API method requires billing to be enabled. Please enable billing on project #1 by visiting "
        "https://console.developers.google.com/billing/enable?project=1 then retry.",
        "problem with its billing",
        "link the project",
    ),
    (
        PLACE,
        403,
        "The billing account for the owning project is disabled in state absent",
        "problem with its billing",
        "open billing account",
    ),
    (
        PLACE,
        403,
        "Caller does not have required permission to use project test-1. Grant the caller the "
        "roles/serviceusage.serviceUsageConsumer role, or a custom role with the serviceusage.services.use permission, "
        "by visiting https://console.developers.google.com/iam-admin/iam/project?project=test-1 and then retry.",
        "quota project",
        "run `gcloud auth application-default set-quota-project",
    ),
    (
        PLACE,
        403,
        "Your application is authenticating by using local Application Default Credentials. The "
        "aiplatform.googleapis.com API requires a quota project, which is not set by default.",
        "quota project",
        "run `gcloud auth application-default set-quota-project",
    ),
    (
        PLACE,
        403,
        "Permission denied on resource project My First Project.",
        "project test-project",
        "GOOGLE_CLOUD_PROJECT",
    ),
    (
        PLACE,
        403,
        "Permission denied: Consumer 'projects/1' has been suspended.",
        "project test-project",
        "GOOGLE_CLOUD_PROJECT",
    ),
    (PLACE, 403, "Project #1 has been deleted.", "project test-project", "GOOGLE_CLOUD_PROJECT"),
    (
        PLACE,
        403,
        "Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: VQQnKfXtZ16NHnO",
        "a policy of the organization",
        ADMINISTRATOR,
    ),
    (
        PLACE,
        400,
        "Organization Policy constraint constraints/vertexai.allowedModels violated for projects/1 attempting to use a "
        "disallowed Gen AI model gemini-embedding-001.",
        "a policy of the organization",
        ADMINISTRATOR,
    ),
    (
        PLACE,
        400,
        "Project `1` is not allowed to use Publisher Model `projects/p/locations/l/publishers/google/models/m`",
        "is not available at europe-west1",
        "embedding_location",
    ),
    (
        PLACE,
        404,
        "Publisher Model `projects/p/locations/l/publishers/google/models/m` was not found",
        "is not available at europe-west1",
        "embedding_location",
    ),
    (
        PLACE,
        429,
        "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: "
        "gemini-embedding. Please submit a quota increase request.",
        "exhausted or zero",
        "request a higher quota",
    ),
]


@pytest.mark.parametrize(
    ("vertex", "status", "message", "cause", "next_step"), ANSWERS, ids=[f"{row[1]} {row[2][:50]}" for row in ANSWERS]
)
def test_a_real_answer_of_google_is_reported_with_its_cause_and_the_next_step(
    gemini: GeminiServer, vertex: VertexAi | None, status: int, message: str, cause: str, next_step: str
) -> None:
    gemini.fault = lambda s: error(status, message)
    embedder = GeminiEmbedder("gemini-embedding-001", 64, vertex, pause_seconds=0)
    for embed in (lambda: embedder.embed_query("tea"), lambda: embedder.embed_documents(["tea", "cars"])):
        with pytest.raises(ServiceError) as raised:
            embed()
        assert cause in raised.value.cause
        assert next_step in raised.value.next_step
        assert raised.value.needs_operator or status == 429
        assert f"answered {status}: {message[:20]}" in raised.value.detail
