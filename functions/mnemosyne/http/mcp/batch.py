"""JSON-RPC batches of older protocol revisions. The requests of a batch run in sequence."""

import json
from typing import Any

import anyio
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope

from mnemosyne.http.common import body as bodies
from mnemosyne.http.common.errors import error, error_response
from mnemosyne.http.mcp.reply import Reply
from mnemosyne.mcp import jsonrpc

BATCH_REQUESTS = 50
ANSWER_BYTES = 4 * 1024 * 1024
"""Maximum number of bytes of all responses of a batch together. The responses are kept in memory until the last one is
complete."""
REVISIONS = ("2024-11-05", "2025-03-26")
"""Protocol revisions with batches."""


async def answer_batch(
    app: ASGIApp, scope: Scope, revision: str, batch: list[Any], receive: Receive, reply: Reply
) -> Response | None:
    """Pass each request of a batch to the app, and return the response to the batch.

    If the client disconnects, cancel the remaining requests and return None. The bytes of the finished responses are
    still counted in `reply`, although they could not be sent.
    """
    if revision not in REVISIONS:
        return error_response(400, f"revision {revision[:20]} has no batches: send one request per POST")
    if not 1 <= len(batch) <= BATCH_REQUESTS:
        return error_response(400, f"a batch must have between 1 and {BATCH_REQUESTS} requests, got {len(batch)}")
    answers: list[bytes] = []
    async with anyio.create_task_group() as group:

        async def cancel_on_disconnect() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(cancel_on_disconnect)
        for request in batch:
            if answer := await _answer_request(app, scope, request, sum(map(len, answers))):
                answers.append(answer)
        group.cancel_scope.cancel()
        body = b"[" + b",".join(answers) + b"]"
        return Response(body, media_type="application/json") if answers else Response(status_code=202)
    reply.bytes += sum(map(len, answers))
    return None


async def _answer_request(app: ASGIApp, scope: Scope, request: Any, size: int) -> bytes:
    """Return the answer to a request of a batch. `size` is the number of bytes of the previous answers."""
    problem = "must be an object" if isinstance(request, list) else jsonrpc.problem(request)
    message = f"Invalid request: {problem}" if problem else ""
    if not problem and size > ANSWER_BYTES:
        message = f"the previous responses have {size:,} of {ANSWER_BYTES:,} bytes: send this request separately"
    if message:
        return json.dumps(error(message, id_=jsonrpc.id_of(request))).encode()
    body = bytearray()

    async def collect(message: Message) -> None:
        if message["type"] == "http.response.body":
            body.extend(message.get("body", b""))

    await app(scope, bodies.replay(json.dumps(request).encode(), _never_disconnect), collect)
    return bytes(body)


async def _never_disconnect() -> Message:
    """An ASGI `receive` that never reports a disconnect.

    A disconnect is handled for the whole batch, not for single requests.
    """
    await anyio.sleep_forever()
    raise AssertionError
