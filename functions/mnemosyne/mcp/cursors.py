"""Encode the cursors of pages for clients, and decode them. A cursor is text in URL-safe base64. Pure.

A cursor identifies the last item of a page by the item's time and, depending on the list, by an id, a number or a text.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar
from uuid import UUID

from mnemosyne.domain.audit import EventCursor
from mnemosyne.domain.memory import Cursor, KeysetCursor
from mnemosyne.errors import InvalidRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_TIME_BYTES = 8
"""Length in bytes of the time in a cursor. The time is a number of microseconds since 1970."""
_ID_BYTES = 16
_NUMBER_BYTES = 8
"""Length in bytes of a numeric id in a cursor. The id is a bigint in the database."""


class Listed(Protocol):
    """A row of a list. The row has a cursor, with which the list can be continued after this row."""

    @property
    def cursor(self) -> Cursor | KeysetCursor | EventCursor:
        """Position in the list, directly after this row."""


ListedT = TypeVar("ListedT", bound=Listed)
CursorT = TypeVar("CursorT", Cursor, KeysetCursor, EventCursor)


def page(rows: Sequence[ListedT], limit: int) -> tuple[Sequence[ListedT], str | None]:
    """Return the first `limit` rows, and the cursor of the next page. The cursor is None if there are no more rows."""
    return rows[:limit], encode(rows[limit - 1].cursor) if len(rows) > limit else None


def encode(cursor: Cursor | KeysetCursor | EventCursor | None) -> str | None:
    """Encode a cursor as the text that clients get as `next_cursor`."""
    if cursor is None:
        return None
    if isinstance(cursor, EventCursor):
        return _encode(cursor.at, cursor.id.to_bytes(_NUMBER_BYTES, "big", signed=True))
    return _encode(cursor.timestamp, cursor.id.bytes if isinstance(cursor, Cursor) else cursor.key.encode())


def _encode(at: datetime, rest: bytes) -> str:
    ticks = (at - _EPOCH) // _TICK
    return base64.urlsafe_b64encode(ticks.to_bytes(_TIME_BYTES, "big", signed=True) + rest).decode()


def read_id(cursor: str | None) -> Cursor | None:
    """Decode a cursor that consists of a time and an id. Raises InvalidRequest."""
    # Ignore bytes after the id, because a later release may append fields.
    return _read_cursor(cursor, lambda at, rest: Cursor(timestamp=at, id=UUID(bytes=rest[:_ID_BYTES])))


def read_key(cursor: str | None) -> KeysetCursor | None:
    """Decode a cursor that consists of a time and a text. Raises InvalidRequest."""

    def read(at: datetime, rest: bytes) -> KeysetCursor:
        if b"\x00" in rest:
            raise ValueError("NUL")
        return KeysetCursor(timestamp=at, key=rest.decode())

    return _read_cursor(cursor, read)


def read_number(cursor: str | None) -> EventCursor | None:
    """Decode a cursor that consists of a time and a number. Raises InvalidRequest."""

    def read(at: datetime, rest: bytes) -> EventCursor:
        if len(rest) < _NUMBER_BYTES:
            raise ValueError("length")
        return EventCursor(at=at, id=int.from_bytes(rest[:_NUMBER_BYTES], "big", signed=True))

    return _read_cursor(cursor, read)


def _read_cursor(cursor: str | None, read: Callable[[datetime, bytes], CursorT]) -> CursorT | None:
    """Decode a cursor.

    The function `read` builds the cursor from the time and from the bytes after the time. Raises InvalidRequest.
    """
    if cursor is None:
        return None
    try:
        return read(*_decode(cursor))
    except (binascii.Error, ValueError, OverflowError) as exc:
        raise InvalidRequest(f"cursor must be the next_cursor of an earlier page, got {cursor[:60]!r}") from exc


def _decode(cursor: str) -> tuple[datetime, bytes]:
    raw = base64.b64decode(cursor, altchars=b"-_", validate=True)
    if len(raw) < _TIME_BYTES:
        raise ValueError("length")
    ticks = int.from_bytes(raw[:_TIME_BYTES], "big", signed=True)
    return _EPOCH + ticks * _TICK, raw[_TIME_BYTES:]
