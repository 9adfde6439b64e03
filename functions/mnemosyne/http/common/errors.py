"""How a request is refused: a status, and the reason as a JSON-RPC error."""

from collections.abc import Mapping
from typing import Any

import mcp_types
from starlette.responses import JSONResponse, Response


def refusal(
    status: int,
    message: str,
    *,
    code: int = mcp_types.INVALID_REQUEST,
    id_: str | int | None = None,
    headers: Mapping[str, str] | None = None,
    data: Mapping[str, Any] | None = None,
) -> Response:
    """Return the response that says why, under the request's id where that is known."""
    body = error(message, code, id_)
    if data is not None:
        body["error"]["data"] = data
    return JSONResponse(body, status_code=status, headers=headers)


def error(message: str, code: int = mcp_types.INVALID_REQUEST, id_: str | int | None = None) -> dict[str, Any]:
    """Return a JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}
