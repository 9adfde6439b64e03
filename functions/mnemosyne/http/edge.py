"""What stands in front of the protocol's server: refuse what it should never see, smooth what clients get wrong."""

import json
from typing import Any

import anyio
import mcp_types
from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemosyne.errors import InvalidRequest
from mnemosyne.http.access import Access
from mnemosyne.mcp import jsonrpc
from mnemosyne.mcp.tool import acting
from mnemosyne.observability import trace

MCP_PATH = "/mcp"
BODY_BYTES = 4 * 1024 * 1024
DRAINED_BYTES = 32 * 1024 * 1024
"""What Cloud Run takes of a request at most."""
BODY_SECONDS = 30
"""How long a body may take to arrive: one that drips in keeps a place that others wait for."""
BATCH_REQUESTS = 50
_BATCH_REVISIONS = ("2024-11-05", "2025-03-26")
_DEFAULT_REVISION = "2025-03-26"  # what a request without MCP-Protocol-Version speaks, says the protocol


class McpEdge:
    """Middleware over the MCP app: methods, media type, size and form are settled before the protocol begins."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or hand it on within its trace."""
        if scope["type"] != "http" or scope["path"].rstrip("/") != MCP_PATH:
            await self._app(scope, receive, send)
            return
        headers = _cleaned(scope["headers"])
        scope = {**scope, "path": MCP_PATH, "raw_path": MCP_PATH.encode(), "headers": headers.raw}
        with trace(headers):
            response = await self._answer(scope, headers, receive, send)
        if response is not None:
            await response(scope, receive, send)

    async def _answer(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> Response | None:
        """The response where one is made here; None once the protocol's server has sent its own."""
        refused = _refusal(scope, headers)
        if refused is not None:
            await _drain(receive)
            return refused
        caller = await self._access.admit(scope, headers)
        if isinstance(caller, Response):
            return caller
        try:
            with anyio.fail_after(BODY_SECONDS):
                body = await _read(receive)
        except TimeoutError:
            return _error(408, f"the body did not arrive within {BODY_SECONDS} s")
        if body is None:
            return _error(413, f"a request must be at most {BODY_BYTES:,} bytes")
        try:
            posted = jsonrpc.read(body)
        except InvalidRequest as exc:
            return _error(400, str(exc), code=mcp_types.PARSE_ERROR)
        if problem := jsonrpc.problem(posted):
            return _error(400, f"Invalid request: {problem}", id_=jsonrpc.id_of(posted))
        if (unsupported := _unsupported(headers, posted)) is not None:
            return unsupported
        if _completed(posted):
            body = json.dumps(posted).encode()
        if (refused := self._access.restrict(scope, headers, caller, posted)) is not None:
            return refused
        with acting(caller):
            if isinstance(posted, list):
                return await self._batch(scope, headers, posted)
            await self._app(scope, _replay(body), send)
            return None

    async def _batch(self, scope: Scope, headers: Headers, batch: list[Any]) -> Response:
        """Each request answered in turn, as the revisions that know batches ask."""
        revision = headers.get("mcp-protocol-version", _DEFAULT_REVISION)
        if revision not in _BATCH_REVISIONS:
            return _error(400, f"revision {revision[:20]} has no batches: send one request per POST")
        if not 1 <= len(batch) <= BATCH_REQUESTS:
            return _error(400, f"a batch must have between 1 and {BATCH_REQUESTS} requests, got {len(batch)}")
        answers = []
        for one in batch:
            problem = "must be an object" if isinstance(one, list) else jsonrpc.problem(one)
            if problem:
                answers.append(_error_body(f"Invalid request: {problem}", id_=jsonrpc.id_of(one)))
                continue
            collected = _Collected()
            await self._app(scope, _replay(json.dumps(one).encode()), collected)
            if collected.status in (403, 421):  # a Host or Origin not served: the same for all of them
                return Response(collected.body, status_code=collected.status)
            if collected.body:
                answers.append(json.loads(collected.body))
        return JSONResponse(answers) if answers else Response(status_code=202)


class _Collected:
    """An ASGI `send` that keeps status and body."""

    def __init__(self) -> None:
        self.status = 0
        self.body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        if message["type"] == "http.response.body":
            self.body += message.get("body", b"")


def _cleaned(raw: list[tuple[bytes, bytes]]) -> Headers:
    """The headers trimmed, without any session's id, and with an Accept header.

    There are no sessions: an id sent by an older client means nothing. Scripts that send no Accept take JSON.
    """
    headers = MutableHeaders(raw=[(name, value.strip()) for name, value in raw])
    del headers["mcp-session-id"]
    headers.setdefault("accept", "application/json, text/event-stream")
    return headers


def _refusal(scope: Scope, headers: Headers) -> Response | None:
    if scope["method"] != "POST":
        message = "this server keeps no sessions and opens no streams: only POST is served here"
        return _error(405, message, Allow="POST")
    content_type = headers.get("content-type", "")
    if content_type.split(";")[0].strip().lower() != "application/json":
        return _error(415, f"Content-Type must be application/json, got {content_type[:100]!r}")
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:20]) > BODY_BYTES:
        return _error(413, f"a request must be at most {BODY_BYTES:,} bytes, got {int(length[:20]):,}")
    return None


async def _read(receive: Receive) -> bytes | None:
    """The whole body; None where it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > BODY_BYTES:
            if more:
                await _drain(receive)
            return None
        if not more:
            return bytes(body)


async def _drain(receive: Receive) -> None:
    """Let a client that is still sending finish: many look at an answer only then. Bounded in time and size."""
    left = DRAINED_BYTES
    with anyio.move_on_after(BODY_SECONDS):
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if message["type"] != "http.request" or not message.get("more_body", False):
                return


def _unsupported(headers: Headers, posted: Any) -> Response | None:
    """The answer to a request under a revision that nobody knows; where it says more of itself, the SDK judges it."""
    revision = headers.get("mcp-protocol-version", _DEFAULT_REVISION)
    if revision in SUPPORTED_PROTOCOL_VERSIONS or not isinstance(posted, dict) or "_meta" in posted.get("params", {}):
        return None
    supported = ", ".join(SUPPORTED_PROTOCOL_VERSIONS)
    message = f"Unsupported protocol version: MCP-Protocol-Version must be one of {supported}, got {revision[:40]!r}"
    return _error(400, message, code=mcp_types.UNSUPPORTED_PROTOCOL_VERSION, id_=jsonrpc.id_of(posted))


def _completed(posted: Any) -> bool:
    """Add what scripts leave out of their handshake and nobody misses; whether anything was."""
    if not isinstance(posted, dict) or posted.get("method") != "initialize":
        return False
    given = posted.get("params", {})
    posted["params"] = {"capabilities": {}, "clientInfo": {"name": "unknown", "version": "0"}, **given}
    return bool(posted["params"] != given)


def _replay(body: bytes) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


def _error_body(message: str, code: int = mcp_types.INVALID_REQUEST, id_: str | int | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


def _error(
    status: int, message: str, *, code: int = mcp_types.INVALID_REQUEST, id_: str | int | None = None, **headers: str
) -> Response:
    return JSONResponse(_error_body(message, code, id_), status_code=status, headers=headers)
