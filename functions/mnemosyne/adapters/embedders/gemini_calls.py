"""Limits of calls to the Gemini API, and the repetition of calls.

The limits are the numbers of texts and tokens in a call, the time of a response, and the total time of the calls for
the same documents.
"""

import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mnemosyne.domain.batches import batches
from mnemosyne.domain.chunking import most_tokens
from mnemosyne.errors import Unavailable

if TYPE_CHECKING:
    import httpx2
    from google.genai.types import HttpOptions, HttpRetryOptions

CALL_TEXTS: Final = 100
"""Maximum number of texts in a call. This is the limit of the developer API; Vertex AI takes 250."""
CALL_TOKENS: Final = 20_000
"""Maximum number of tokens in a call. This is the limit of Vertex AI."""
DOCUMENTS_SECONDS: Final = 45.0
"""Time in seconds after which no further call is made for the same documents.

A delivery embeds its memories in groups, and begins no group after 60 seconds. With this limit, the last group ends
within the function's timeout of 120 seconds, if its last call needs no retry.
"""
ONE_BY_ONE_SECONDS: Final = 600.0
"""Time in seconds in which each text is sent alone, after the service refused several texts but accepted each alone.
Then several texts are sent again, because the refusal may have been temporary."""
RETRIED: Final = [408, 429, 500, 502, 503, 504]
"""HTTP statuses after which a call is repeated."""
BROKEN_OFF_SECONDS: Final = 2.0
"""Time in seconds in which a connection must break off for its call to be repeated. After a longer time, the repetition
would make a search wait too long."""


@dataclass(frozen=True)
class ModelProperties:
    """Limit of an input in tokens, and whether the task is a prefix of the text."""

    input_tokens: int
    has_prefixes: bool


def properties_of(name: str) -> ModelProperties:
    """Return the properties of a model. For an unknown model, assume the low input limit of gemini-embedding-001."""
    is_newer = name.startswith("gemini-embedding-2")
    return ModelProperties(8_192, True) if is_newer else ModelProperties(2_048, False)


def check_deadline(deadline: float, embedded: int, count: int) -> None:
    """Raise Unavailable if the deadline has passed. The message says how many of the `count` texts are embedded."""
    if time.monotonic() >= deadline:
        raise Unavailable(
            f"the embedding service is slow: {embedded} of {count} texts were embedded in the time of one attempt; the "
            "next attempt embeds the others"
        )


def calls(texts: Sequence[str]) -> Iterator[list[str]]:
    """Split the texts into parts, each within the service's limits for one call."""
    return batches(texts, most_tokens, most=CALL_TEXTS, largest=CALL_TOKENS)


def http_options(seconds: float) -> "HttpOptions":
    """Return the options of the client. `seconds` is the timeout of an attempt."""
    from google.genai.types import HttpOptions

    return HttpOptions(
        timeout=int(seconds * 1000),
        client_args={"event_hooks": {"request": [_note_start], "response": [_limit_body, _raise_for_status]}},
        # The empty SSL context is for asynchronous calls, which are never made. Without this context, the client would
        # load the CA certificates three times instead of once. Loading them takes 40 ms in a cold start.
        async_client_args={"ssl": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)},
    )


def retry_options(attempts: int, pause_seconds: float) -> "HttpRetryOptions":
    """Return the options for retries. The first pause is between `pause_seconds` and twice as long."""
    from google.genai.types import HttpRetryOptions

    return HttpRetryOptions(
        attempts=attempts,
        initial_delay=pause_seconds,
        jitter=pause_seconds,
        max_delay=4.0,
        exp_base=2.0,
        http_status_codes=RETRIED,
    )


def repeat_if_broken_off(call: Callable[[], Any]) -> Any:
    """Make a call, and repeat it once if the connection breaks off soon.

    An example is a connection that the service has closed because it was idle. google-genai repeats calls after some
    statuses, after a timeout, and if no connection can be opened, but not after a connection that broke off.
    """
    import httpx2

    until = time.monotonic() + BROKEN_OFF_SECONDS
    try:
        return call()
    except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
        if time.monotonic() > until:
            raise
        return call()


def _note_start(request: "httpx2.Request") -> None:
    request.extensions["started"] = time.monotonic()


def _limit_body(response: "httpx2.Response") -> None:
    """Stop reading a response's body when the read timeout has passed since the start of the request.

    The HTTP client limits only the time between two reads. So without this hook, a body that arrives slowly, byte by
    byte, would have no limit. The last read may last as long as the read timeout.
    """
    import httpx2

    chunks: Any = response.stream
    until = response.request.extensions["started"] + response.request.extensions["timeout"]["read"]

    class LimitedStream(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for chunk in chunks:
                if time.monotonic() > until:
                    raise httpx2.ReadTimeout("the body did not arrive in time", request=response.request)
                yield chunk

        def close(self) -> None:
            chunks.close()

    response.stream = LimitedStream()


def _raise_for_status(response: "httpx2.Response") -> None:
    """Raise google-genai's exception for an error response, whatever its body is.

    google-genai reads the body before it looks at the status. So without this hook, it would lose the status if the
    body is incomplete or in an unknown encoding, and would not repeat a call that was answered with 503.
    """
    import httpx2
    from google.genai.errors import APIError

    if not response.is_error:
        return
    try:
        response.read()
        body: Any = response.json()
    except httpx2.HTTPError as exc:
        body = {"message": f"no message, because the body cannot be read ({type(exc).__name__})"}
    except (ValueError, RecursionError):
        body = {"message": response.content.decode(errors="replace") or response.reason_phrase}
    APIError.raise_error(response.status_code, body, response)
