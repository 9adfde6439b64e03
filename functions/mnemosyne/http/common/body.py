"""Read a request's body, bounded in size and time, and bound what its JSON may hold before anything is built of it."""

import anyio
from starlette.types import Message, Receive

from mnemosyne.errors import InvalidRequest

BODY_BYTES = 4 * 1024 * 1024
BODY_SECONDS = 30
"""How long a body may take to arrive: a slow-loris holds its place no longer."""
DRAIN_SECONDS = 1.0
DRAINED_BYTES = 32 * 1024 * 1024
"""What Cloud Run takes of a request at most."""
INLINE_BYTES = 64 * 1024
"""Up to so many are parsed on the event loop: a thread would cost more than that takes."""


async def read(receive: Receive, limit: int = BODY_BYTES) -> bytes | None:
    """Return the whole body; None where it is larger than that."""
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
    """Let a client that is still sending finish: many look at an answer only then. At most a second, and 32 MiB."""
    left = DRAINED_BYTES
    with anyio.move_on_after(DRAIN_SECONDS):
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if message["type"] != "http.request" or not message.get("more_body", False):
                return


def replay(body: bytes, then: Receive) -> Receive:
    """Return a `receive` that gives that body, and whatever `then` has to say after it: that the caller has left."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await then()

    return receive


def content_length(value: str) -> int:
    """Return the declared length; 0 where it is none. Raises InvalidRequest where it is too much."""
    length = int(value[:20]) if value.isascii() and value.isdigit() else 0
    if length > BODY_BYTES:
        raise InvalidRequest(f"a request must be at most {BODY_BYTES:,} bytes, got {length:,}")
    return length
