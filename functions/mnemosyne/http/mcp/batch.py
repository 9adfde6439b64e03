"""JSON-RPC batches of older protocol revisions. The requests of a batch run in sequence."""

import json
from collections.abc import Callable
from typing import Any

import anyio
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope

from mnemosyne.http.common import body as bodies
from mnemosyne.http.common.errors import error, error_response
from mnemosyne.mcp import jsonrpc

BATCH_REQUESTS = 50
ANSWER_BYTES = 4 * 1024 * 1024
"""Maximum number of bytes of all responses of a batch together. The responses are kept in memory until the last one is
complete."""
REVISIONS = ("2024-11-05", "2025-03-26")
"""Protocol revisions with batches."""


class Batches:
    """Passes each request of a batch to the app."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def answer(
        self, scope: Scope, revision: str, batch: list[Any], receive: Receive, count_bytes: Callable[[int], None]
    ) -> Response | None:
        """Run the requests of a batch, and return the response to the batch.

        If the client disconnects, cancel the remaining requests, call `count_bytes` with the total number of bytes of
        the responses that could not be sent, and return None.
        """
        if revision not in REVISIONS:
            return error_response(400, f"revision {revision[:20]} has no batches: send one request per POST")
        if not 1 <= len(batch) <= BATCH_REQUESTS:
            return error_response(400, f"a batch must have between 1 and {BATCH_REQUESTS} requests, got {len(batch)}")
        response: Response | None = None
        answers: list[bytes] = []
        async with anyio.create_task_group() as group:

            async def cancel_on_disconnect() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(cancel_on_disconnect)
            response = await self._batch_response(scope, batch, answers)
            group.cancel_scope.cancel()
        if response is None:
            count_bytes(sum(map(len, answers)))
        return response

    async def _batch_response(self, scope: Scope, batch: list[Any], answers: list[bytes]) -> Response:
        for request in batch:
            problem = "must be an object" if isinstance(request, list) else jsonrpc.problem(request)
            if problem:
                answers.append(json.dumps(error(f"Invalid request: {problem}", id_=jsonrpc.id_of(request))).encode())
                continue
            if (size := sum(map(len, answers))) > ANSWER_BYTES:
                full = f"the previous responses have {size:,} of {ANSWER_BYTES:,} bytes: send this request separately"
                answers.append(json.dumps(error(full, id_=jsonrpc.id_of(request))).encode())
                continue
            collector = _BodyCollector()
            await self._app(scope, bodies.replay(json.dumps(request).encode(), _never_disconnect), collector)
            if collector.body:
                answers.append(collector.body)
        if not answers:
            return Response(status_code=202)
        return Response(b"[" + b",".join(answers) + b"]", media_type="application/json")


async def _never_disconnect() -> Message:
    """An ASGI `receive` that never reports a disconnect.

    A disconnect is handled for the whole batch, not for single requests.
    """
    await anyio.sleep_forever()
    raise AssertionError


class _BodyCollector:
    """An ASGI `send` that collects the body of a response."""

    def __init__(self) -> None:
        self.body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self.body += message.get("body", b"")
