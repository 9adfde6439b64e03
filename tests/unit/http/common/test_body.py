"""Request bodies: a body that is too large is refused, and read to its end nevertheless."""

import asyncio

import pytest
from starlette.types import Message

from mnemosyne.http.common import body as bodies

CHUNK = b" " * 1024 * 1024


@pytest.mark.parametrize("mebibytes", [5, 33, 60, 500])
def test_a_body_that_is_too_large_is_read_to_its_end(mebibytes: int) -> None:
    """A client that reads the response only after it has sent the body would get a connection reset instead."""
    messages: list[Message] = [
        {"type": "http.request", "body": CHUNK, "more_body": left > 0} for left in range(mebibytes)
    ]

    async def receive() -> Message:
        return messages.pop()

    assert asyncio.run(bodies.read(receive)) is None
    assert messages == []
