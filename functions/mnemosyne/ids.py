"""New identifiers: UUIDv7 (RFC 9562), whose first 48 bits are the time in milliseconds."""

from datetime import UTC, datetime
from uuid import UUID

import uuid6


def new_id() -> UUID:
    """A new id; ids made later sort later."""
    return UUID(int=uuid6.uuid7().int)  # a plain UUID: serializers do not know the library's subclass


def made_at(identifier: UUID) -> datetime | None:
    """When a UUIDv7 was made, to the millisecond; None for any other UUID."""
    if identifier.version != 7:
        return None
    try:
        return datetime.fromtimestamp((identifier.int >> 80) / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
