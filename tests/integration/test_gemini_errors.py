"""Error responses of the Gemini API in many forms, with the real client."""

import gzip
from typing import Any

import pytest

from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.errors import ServiceError
from tests.fakes_wire.gemini import GeminiServer, error
from tests.fakes_wire.http import Html, Reply

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
