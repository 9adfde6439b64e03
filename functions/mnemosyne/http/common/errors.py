"""Error responses: an HTTP status and a JSON-RPC error."""

from collections.abc import Mapping
from typing import Any

import mcp_types
from starlette.responses import JSONResponse, Response


def error_response(
    status: int,
    message: str,
    *,
    code: int = mcp_types.INVALID_REQUEST,
    id_: str | int | None = None,
    headers: Mapping[str, str] | None = None,
    data: Mapping[str, Any] | None = None,
) -> Response:
    """Build an error response; `id_` is the id of the JSON-RPC request, if known."""
    body = error(message, code, id_)
    if data is not None:
        body["error"]["data"] = data
    return JSONResponse(body, status_code=status, headers=headers)


def error(message: str, code: int = mcp_types.INVALID_REQUEST, id_: str | int | None = None) -> dict[str, Any]:
    """Build a JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}
