"""Read request bodies of bounded size."""

import anyio
from starlette.types import Message, Receive

BODY_BYTES = 4 * 1024 * 1024
BODY_SECONDS = 30
"""Maximum number of seconds in which a body must arrive. Because of this limit, a slow client does not use up one of
the instance's concurrent requests for long."""
DRAIN_SECONDS = 1.0
"""Maximum number of seconds in which the rest of a body is read and discarded. The number of discarded bytes is not
limited, because Cloud Run passes on at most 32 MiB. Uvicorn discards the bytes that arrive later."""
INLINE_BYTES = 64 * 1024
"""Bodies up to this size are parsed on the event loop, because a thread switch would take longer."""


async def read(receive: Receive, limit: int = BODY_BYTES) -> bytes | None:
    """Return the body; None if it has more than `limit` bytes."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limit:
            if more:
                await drain(receive)
            return None
        if not more:
            return bytes(body)


async def drain(receive: Receive) -> None:
    """Read and discard the rest of the body.

    Many clients do not read the response until they have sent the whole body. The function stops after DRAIN_SECONDS.
    """
    with anyio.move_on_after(DRAIN_SECONDS):
        while True:
            message = await receive()
            if message["type"] != "http.request" or not message.get("more_body", False):
                return


def replay(body: bytes, receive_next: Receive) -> Receive:
    """Return an ASGI `receive` that yields the body, and then the messages of `receive_next`, such as a disconnect."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await receive_next()

    return receive
