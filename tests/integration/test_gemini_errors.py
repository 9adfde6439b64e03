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
