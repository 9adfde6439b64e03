"""Answer a batch, as the revisions that know batches ask: each request in turn, the answers together within a bound."""

import json
from collections.abc import Callable
from typing import Any

import anyio
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope

from mnemosyne.http.common import body as bodies
from mnemosyne.http.common.errors import error, refusal
from mnemosyne.mcp import jsonrpc

BATCH_REQUESTS = 50
ANSWER_BYTES = 4 * 1024 * 1024
"""What the answers of a batch may have together; all are held until the last."""
REVISIONS = ("2024-11-05", "2025-03-26")


class Batches:
    """Hands each request of a batch to the app."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def answer(
        self, scope: Scope, revision: str, batch: list[Any], receive: Receive, wasted: Callable[[int], None]
    ) -> Response | None:
        """Return the response; None where whoever asked has left, and what was not begun is not begun any more.

        `wasted` is told then how many bytes were made in vain.
        """
        if revision not in REVISIONS:
            return refusal(400, f"revision {revision[:20]} has no batches: send one request per POST")
        if not 1 <= len(batch) <= BATCH_REQUESTS:
            return refusal(400, f"a batch must have between 1 and {BATCH_REQUESTS} requests, got {len(batch)}")
        response: Response | None = None
        answers: list[bytes] = []
        async with anyio.create_task_group() as group:

            async def leave() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(leave)
            response = await self._answers(scope, batch, answers)
            group.cancel_scope.cancel()
        if response is None:
            wasted(sum(map(len, answers)))
        return response

    async def _answers(self, scope: Scope, batch: list[Any], answers: list[bytes]) -> Response:
        for one in batch:
            problem = "must be an object" if isinstance(one, list) else jsonrpc.problem(one)
            if problem:
                answers.append(json.dumps(error(f"Invalid request: {problem}", id_=jsonrpc.id_of(one))).encode())
                continue
            if (size := sum(map(len, answers))) > ANSWER_BYTES:
                full = f"the answers before this one take {size:,} bytes of {ANSWER_BYTES:,}: send it by itself"
                answers.append(json.dumps(error(full, id_=jsonrpc.id_of(one))).encode())
                continue
            collected = _Collected()
            await self._app(scope, bodies.replay(json.dumps(one).encode(), _staying), collected)
            if collected.body:
                answers.append(collected.body)
        if not answers:
            return Response(status_code=202)
        return Response(b"[" + b",".join(answers) + b"]", media_type="application/json")


async def _staying() -> Message:
    """Never tell that the caller has left: that ends the whole batch."""
    await anyio.sleep_forever()
    raise AssertionError


class _Collected:
    """An ASGI `send` that keeps the body."""

    def __init__(self) -> None:
        self.body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self.body += message.get("body", b"")
