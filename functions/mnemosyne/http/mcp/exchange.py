"""Answer a request with one JSON message. The module uses the SDK's server, but not the SDK's transport.

The SDK's transport would take most of the CPU time: it starts tasks and streams for each request, parses the body a
second time, and repeats the checks of the middleware.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner, modern_error_data
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    validate_mcp_param_headers,
)
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.responses import Response

DEFAULT_REVISION = "2025-03-26"
"""Protocol revision of a request without the header MCP-Protocol-Version, as the protocol demands."""
SUBSCRIPTION = "subscriptions/listen"
"""The only method whose response is always a stream of messages."""
_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)


class Exchanges:
    """Passes single requests to the SDK's server."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server

    async def answer(self, payload: Mapping[str, Any], headers: Mapping[str, str]) -> Response | None:
        """Return the response to a request; None if the SDK's transport must respond.

        The SDK's transport responds to notifications and to `subscriptions/listen`. It also rejects requests whose
        headers contradict their body.
        """
        if "id" not in payload or "method" not in payload or payload["method"] == SUBSCRIPTION:
            return None
        client = self.client(payload, headers)
        if client is None:
            return None
        revision, capabilities = client
        exchange, status = _Exchange(payload["id"]), 200
        connection = Connection(exchange, protocol_version=revision)
        connection.client_capabilities = capabilities
        connection.initialized.set()
        message = {"jsonrpc": "2.0", "id": payload["id"]}
        try:
            runner = ServerRunner(self._server, connection, {})
            message["result"] = await runner.on_request(exchange, payload["method"], payload.get("params"))
        except Exception as exc:  # noqa: BLE001 - the SDK logs and classifies it
            error = modern_error_data(exc)
            message["error"] = error.model_dump(by_alias=True, mode="json", exclude_none=True)
            if revision not in HANDSHAKE_PROTOCOL_VERSIONS:
                status = ERROR_CODE_HTTP_STATUS.get(error.code, 200)
        return Response(to_json(message), status, media_type="application/json")

    def client(
        self, payload: Mapping[str, Any], headers: Mapping[str, str]
    ) -> tuple[str, mcp_types.ClientCapabilities | None] | None:
        """Return the client's protocol revision and capabilities; None if the request's headers contradict its body."""
        revision = headers.get("mcp-protocol-version", DEFAULT_REVISION)
        if revision in HANDSHAKE_PROTOCOL_VERSIONS:
            return revision, None
        route = classify_inbound_request(payload, headers=headers)
        if isinstance(route, InboundLadderRejection) or not self._has_param_headers(payload, headers):
            return None
        try:
            capabilities = mcp_types.ClientCapabilities.model_validate(route.client_capabilities, by_name=False)
        except ValidationError:  # invalid capabilities: the SDK rejects the request when it validates `_meta`
            capabilities = None
        return route.protocol_version, capabilities

    def _has_param_headers(self, payload: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
        """Whether the headers `Mcp-Param-*` of a tool call repeat its arguments as the tool's schema requires.

        True if no such headers are required.
        """
        find_schema = self._server.get_tool_input_schema
        if payload["method"] != "tools/call" or find_schema is None:
            return True
        params = payload["params"]
        schema = find_schema(params["name"])
        return schema is None or validate_mcp_param_headers(schema, params.get("arguments") or {}, headers) is None


@dataclass(frozen=True)
class _Exchange:
    """The SDK's context of one request. Nothing can be sent to the client before the response."""

    request_id: mcp_types.RequestId
    transport: TransportContext = _TRANSPORT
    message_metadata: None = None
    can_send_request: bool = False

    @property
    def cancel_requested(self) -> anyio.Event:
        """An event that is never set, because a client cancels a request by closing the connection."""
        return anyio.Event()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Raise NoBackChannelError, because the server cannot send requests to the client."""
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Drop a notification to the client."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop a report of progress to the client."""
