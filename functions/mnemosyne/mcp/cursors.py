"""Encode the cursors of pages for clients, and decode them. Pure.

A cursor is text in URL-safe base64 without padding, because models omit a final "=" when they copy the cursor.

A cursor identifies the last item of a page by the item's time and, depending on the list, by an id, a number or a text.
The cursor ends with a hash of the list's filters and order. The hash shows whether a call for the next page has the
same filters and order. With other filters, the next page would not continue the list, but would have unrelated items.
"""

import base64
import binascii
import hashlib
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
_HASH_BYTES = 8
_END_OF_KEY = b"\x00"
"""Byte between a text and the hash. No text in the database contains this byte."""
_NOT_FILTERS = {"cursor", "limit", "preview", "token"}
"""Arguments that may differ between the pages of a list."""


class Listed(Protocol):
    """A row of a list. The row has a cursor, with which the list can be continued after this row."""

    @property
    def cursor(self) -> Cursor | KeysetCursor | EventCursor:
        """Position in the list, directly after this row."""


class PageArguments(Protocol):
    """Arguments of a list: its filters and order, and the cursor of the previous page. Pydantic models implement it."""

    @property
    def cursor(self) -> str | None:
        """The text that the client gives as `cursor`."""

    def model_dump_json(self, *, exclude: set[str], exclude_defaults: bool) -> str:
        """Return the arguments as JSON."""


ListedT = TypeVar("ListedT", bound=Listed)
CursorT = TypeVar("CursorT", Cursor, KeysetCursor, EventCursor)


def page(rows: Sequence[ListedT], limit: int, arguments: PageArguments) -> tuple[Sequence[ListedT], str | None]:
    """Return the first `limit` rows, and the cursor of the next page. The cursor is None if there are no more rows."""
    return rows[:limit], encode(rows[limit - 1].cursor, arguments) if len(rows) > limit else None


def encode(cursor: Cursor | KeysetCursor | EventCursor | None, arguments: PageArguments) -> str | None:
    """Encode a cursor as the text that clients get as `next_cursor`. `arguments` has the filters of the list."""
    if cursor is None:
        return None
    if isinstance(cursor, EventCursor):
        at, position = cursor.at, cursor.id.to_bytes(_NUMBER_BYTES, "big", signed=True)
    elif isinstance(cursor, Cursor):
        at, position = cursor.timestamp, cursor.id.bytes
    else:
        at, position = cursor.timestamp, cursor.key.encode() + _END_OF_KEY
    ticks = ((at - _EPOCH) // _TICK).to_bytes(_TIME_BYTES, "big", signed=True)
    return base64.urlsafe_b64encode(ticks + position + _hash_filters(arguments)).decode().rstrip("=")


def _hash_filters(arguments: PageArguments) -> bytes:
    """Return a hash of the arguments that must be the same for all pages of a list.

    Default values are left out, so that cursors stay valid if a later release adds an argument. A time in words is
    hashed as text, because the words mean another time at each call.
    """
    filters = arguments.model_dump_json(exclude=_NOT_FILTERS, exclude_defaults=True)
    return hashlib.sha256(filters.encode()).digest()[:_HASH_BYTES]


def read_id(arguments: PageArguments) -> Cursor | None:
    """Decode a cursor that consists of a time and an id. Raises InvalidRequest."""
    return _read_cursor(
        arguments, lambda at, rest: (Cursor(timestamp=at, id=UUID(bytes=rest[:_ID_BYTES])), rest[_ID_BYTES:])
    )


def read_key(arguments: PageArguments) -> KeysetCursor | None:
    """Decode a cursor that consists of a time and a text. Raises InvalidRequest."""

    def read(at: datetime, rest: bytes) -> tuple[KeysetCursor, bytes]:
        key, _, filters_hash = rest.partition(_END_OF_KEY)
        return KeysetCursor(timestamp=at, key=key.decode()), filters_hash

    return _read_cursor(arguments, read)


def read_number(arguments: PageArguments) -> EventCursor | None:
    """Decode a cursor that consists of a time and a number. Raises InvalidRequest."""

    def read(at: datetime, rest: bytes) -> tuple[EventCursor, bytes]:
        if len(rest) < _NUMBER_BYTES:
            raise ValueError("length")
        number = int.from_bytes(rest[:_NUMBER_BYTES], "big", signed=True)
        return EventCursor(at=at, id=number), rest[_NUMBER_BYTES:]

    return _read_cursor(arguments, read)


def _read_cursor(arguments: PageArguments, read: Callable[[datetime, bytes], tuple[CursorT, bytes]]) -> CursorT | None:
    """Decode the cursor in the arguments, and check that it belongs to a list with the same filters.

    The bytes of a cursor are a time, the other fields of the cursor, and a hash of the filters. The argument `read` is
    a function that gets the time and the bytes after it, and returns the cursor and the bytes after its fields. Raises
    InvalidRequest if the cursor is malformed, or belongs to a list with other filters.
    """
    if not arguments.cursor:
        return None
    try:
        cursor, rest = read(*_decode(arguments.cursor))
        if len(rest) < _HASH_BYTES:
            raise ValueError("length")
    except (binascii.Error, ValueError, OverflowError) as exc:
        raise InvalidRequest(
            f"cursor must be the next_cursor of an earlier page, got {arguments.cursor[:60]!r}"
        ) from exc
    # Ignore bytes after the hash, because a later release may append fields.
    if rest[:_HASH_BYTES] != _hash_filters(arguments):
        raise InvalidRequest(
            "cursor belongs to a list with other filters or another order: repeat all arguments of the call that "
            "returned it, or omit cursor to list from the start"
        )
    return cursor


def unquote(text: str) -> str:
    """Remove quotes and white space around a cursor or token, which models add when they copy it."""
    return text.strip(" \t\r\n\"'`<>")


def _decode(cursor: str) -> tuple[datetime, bytes]:
    cursor = unquote(cursor).rstrip("=")
    raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    if len(raw) < _TIME_BYTES:
        raise ValueError("length")
    ticks = int.from_bytes(raw[:_TIME_BYTES], "big", signed=True)
    return _EPOCH + ticks * _TICK, raw[_TIME_BYTES:]
