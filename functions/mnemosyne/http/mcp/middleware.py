"""Middleware of the MCP endpoint: reject invalid requests and correct common mistakes of clients."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, SUPPORTED_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemosyne.domain import rate_limit
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.text_checks import excerpt
from mnemosyne.errors import InvalidRequest
from mnemosyne.http.common import body as bodies
from mnemosyne.http.common.body import BODY_BYTES, BODY_SECONDS
from mnemosyne.http.common.errors import error_response
from mnemosyne.http.mcp import request_headers
from mnemosyne.http.mcp.access import MCP_PATH, Access, needs_database, resource_path
from mnemosyne.http.mcp.batch import answer_batch
from mnemosyne.http.mcp.exchange import DEFAULT_REVISION, Exchanges
from mnemosyne.http.mcp.reply import Reply
from mnemosyne.http.mcp.streams import STREAMS
from mnemosyne.mcp import jsonrpc
from mnemosyne.mcp.record import site_context
from mnemosyne.mcp.thread_limiter import ThreadLimiter
from mnemosyne.mcp.tool import principal_context
from mnemosyne.observability import trace

PARSERS = 2
"""Number of threads that parse large bodies. More threads would not be faster, because parsing holds the GIL."""
LONGEST_WAIT_SECONDS = 2.0
"""Maximum expected wait for a database thread, in seconds. A call that would wait longer gets 429 at once."""


class McpMiddleware:
    """Validates the credential, headers, size and JSON-RPC of a request before the MCP server gets it."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        exchanges: Exchanges,
        transport: ASGIApp,
        access: Access,
        database: ThreadLimiter,
        streams: Callable[[Any], bool],
        origins: Sequence[str] = (),
    ) -> None:
        self._app = app
        self._exchanges = exchanges
        self._transport = transport
        self._access = access
        self._database = database
        self._streams = streams
        self._allowed_origins = re.compile(request_headers.origins_pattern(origins))
        self._parsers = anyio.CapacityLimiter(PARSERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request to `/mcp`, in the trace that its headers name. Pass other requests on unchanged."""
        if scope["type"] != "http" or scope["path"].rstrip("/") != MCP_PATH:
            await self._app(scope, receive, send)
            return
        headers = request_headers.normalize(list(scope["headers"]))
        path = resource_path(scope)
        own_scope = {**scope, "path": path, "raw_path": path.encode(), "headers": headers.raw}
        with trace(headers):
            response = request_headers.reject_ambiguous(headers)
            response = response or request_headers.reject_foreign_origin(headers, self._allowed_origins)
            principal = None if response else await self._access.authenticate(own_scope, headers)
            if isinstance(principal, Principal):
                response = request_headers.reject_unserved_host(headers, self._access.serves)
            if isinstance(principal, Principal) and response is None:
                request = _ReceivedRequest(receive, scope["headers"], len(scope["headers"]))
                await self._serve(principal, own_scope, headers, request, Reply(send))
                return
            await bodies.drain(receive)
        await (response or principal)(own_scope, receive, send)  # type: ignore[misc, operator]

    async def _serve(
        self, principal: Principal, scope: Scope, headers: Headers, request: "_ReceivedRequest", reply: Reply
    ) -> None:
        """Serve an authenticated request, and charge the bytes of its response even if the client disconnects."""
        try:
            async with self._acquire_slot(principal) as acquired:
                if acquired:
                    # Charge before the body is read, so that malformed requests cost as much as valid requests.
                    response = self._access.spend(principal, rate_limit.REQUEST)
                    response = response or request_headers.reject_unsupported(scope, headers)
                else:
                    response = self._access.reject_concurrent(principal)
                if response is not None:
                    await bodies.drain(request.receive)
                else:
                    response = await self._answer(principal, scope, headers, request, reply)
                if response is not None:
                    await reply.send(response, scope, request.receive)
        finally:
            if (units := reply.bytes // rate_limit.BYTES_OUT) and self._access.is_limited(principal):
                self._access.budgets.charge(principal.id, units)

    def _acquire_slot(self, principal: Principal) -> AbstractAsyncContextManager[bool]:
        return (
            self._access.concurrency.acquire(principal.id) if self._access.is_limited(principal) else nullcontext(True)
        )

    async def _answer(
        self, principal: Principal, scope: Scope, headers: Headers, request: "_ReceivedRequest", reply: Reply
    ) -> Response | None:
        """Read the body and run the request. Return the response, or None if it was already sent."""
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await bodies.read(request.receive)
        except TimeoutError:
            return error_response(408, f"the body did not arrive within {BODY_SECONDS} s")
        if body is None:
            return error_response(413, f"a request must be at most {BODY_BYTES:,} bytes")
        if len(request.headers) != request.headers_before:
            return error_response(400, "trailers are not supported: send every header before the body")
        cost = rate_limit.REQUEST + len(body) // rate_limit.BYTES_IN
        if (rejection := self._access.spend(principal, cost - rate_limit.REQUEST, rate_limit.REQUEST)) is not None:
            return rejection
        try:
            payload, problem = await self._parse_body(body)
        except InvalidRequest as exc:
            return error_response(400, str(exc), code=mcp_types.PARSE_ERROR)
        if problem:
            return error_response(400, f"Invalid request: {problem}", id_=jsonrpc.id_of(payload))
        jsonrpc.normalize(payload)
        jsonrpc.complete_initialize(payload)
        wrong_version = _reject_version_mismatch(headers, payload) or _reject_unsupported_version(headers, payload)
        if wrong_version is not None:
            return wrong_version
        id_ = jsonrpc.id_of(payload)
        wait = self._database.wait_seconds(principal)
        if wait > LONGEST_WAIT_SECONDS and needs_database(payload):
            return self._access.reject_busy(principal, wait, id_)
        if (rejection := self._access.restrict(scope, headers, principal, payload, cost, id_)) is not None:
            return rejection
        with principal_context(principal), site_context(self._access.origin(scope, headers)):
            if isinstance(payload, list):
                revision = headers.get("mcp-protocol-version", DEFAULT_REVISION)
                # The answer to a batch is JSON, whatever the client accepts.
                with_json = {**scope, "headers": request_headers.with_json(headers)}
                return await answer_batch(self._transport, with_json, revision, payload, request.receive, reply)
            return await self._pass_on(scope, headers, payload, request.receive, reply)

    async def _pass_on(
        self, scope: Scope, headers: Headers, payload: Any, receive: Receive, reply: Reply
    ) -> Response | None:
        """Pass the request to the MCP server.

        The server responds with a stream if the client requests a stream or accepts nothing else.
        """
        accept = headers.get("accept", "")
        accepts_json = request_headers.accepts(accept, request_headers.JSON)
        accepts_stream = request_headers.accepts(accept, request_headers.STREAM)
        if not accepts_json and not accepts_stream:
            message = f"Accept must allow application/json or text/event-stream, got {accept[:100]!r}"
            return error_response(406, message, id_=jsonrpc.id_of(payload))
        streamed = accepts_stream and (not accepts_json or self._streams(payload))
        if accepts_json and not streamed:
            response = await self._exchanges.answer(payload, headers)
            if response is not None:
                return response
        if not accepts_json:
            scope = {**scope, "headers": request_headers.with_json(headers)}
        # Encode the payload again, because the SDK cannot parse some bodies that `jsonrpc.read` can parse.
        body = bodies.replay(json.dumps(payload).encode(), receive)
        await reply.send(self._transport, {**scope, STREAMS: streamed}, body)
        return None

    async def _parse_body(self, body: bytes) -> tuple[Any, str | None]:
        """Return the parsed JSON and, if the body is not a valid message, the reason.

        Large bodies are parsed in a thread, so that the event loop stays free.
        """
        if len(body) <= bodies.INLINE_BYTES:
            return _parse(body)
        return await anyio.to_thread.run_sync(partial(_parse, body), limiter=self._parsers)


@dataclass(frozen=True)
class _ReceivedRequest:
    receive: Receive
    headers: list[tuple[bytes, bytes]]
    headers_before: int
    """Number of headers before the body. The HTTP server's parser appends trailers, the headers after the body, to
    `headers`, so that this list becomes longer."""


def _parse(body: bytes) -> tuple[Any, str | None]:
    payload = jsonrpc.read(body)
    brackets = body.count(b"{") + body.count(b"[")
    return payload, jsonrpc.problem(payload, escaped=b"\\u" in body, brackets=brackets)


def _reject_version_mismatch(headers: Headers, payload: Any) -> Response | None:
    """Return 400 if `_meta` names a protocol version and the header does not name the same version; else None.

    The SDK itself rejects such a request if the header names a version in which requests have `_meta`. If the header
    names an older version or is missing, the SDK would serve the request in an older version. In an older version,
    `delete_memory` deletes without asking the user.
    """
    header = headers.get("mcp-protocol-version")
    if header is not None and header not in HANDSHAKE_PROTOCOL_VERSIONS:
        return None
    for request in payload if isinstance(payload, list) else [payload]:
        meta = jsonrpc.member(request, "params", "_meta")
        version = meta.get(mcp_types.PROTOCOL_VERSION_META_KEY)
        if mcp_types.PROTOCOL_VERSION_META_KEY in meta and (version is None or version != header):
            message = (
                f"Header mismatch: MCP-Protocol-Version must be {excerpt(version)}, as in params._meta, got "
                f"{'no header' if header is None else excerpt(header)}"
            )
            if not isinstance(version, str):
                name = f"params._meta.{mcp_types.PROTOCOL_VERSION_META_KEY}"
                message = f"{name} must be a protocol version, got {excerpt(version)}"
            return error_response(400, message, code=mcp_types.HEADER_MISMATCH, id_=jsonrpc.id_of(payload))
    return None


def _reject_unsupported_version(headers: Headers, payload: Any) -> Response | None:
    """Return 400 for an unsupported protocol version; None if it is supported.

    A request with `_meta` names its version in `_meta`, and the SDK validates that version.
    """
    revision = headers.get("mcp-protocol-version", DEFAULT_REVISION)
    if revision in SUPPORTED_PROTOCOL_VERSIONS or not isinstance(payload, dict) or "_meta" in payload.get("params", {}):
        return None
    supported = ", ".join(SUPPORTED_PROTOCOL_VERSIONS)
    message = f"Unsupported protocol version: MCP-Protocol-Version must be one of {supported}, got {revision[:40]!r}"
    return error_response(
        400,
        message,
        code=mcp_types.UNSUPPORTED_PROTOCOL_VERSION,
        id_=jsonrpc.id_of(payload),
        data={"supported": list(SUPPORTED_PROTOCOL_VERSIONS), "requested": revision[:40]},
    )
