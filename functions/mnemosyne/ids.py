"""Identifiers: UUIDv7 for what is made here, UUIDv5 for what a publisher has named (both RFC 9562)."""

import hashlib
import secrets
import time
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, UUID, uuid5

import uuid6

_RAND_A = 0xFFF << 64
"""The 12 bits of a UUIDv7 after its time and version, whose use RFC 9562 leaves to whoever makes it."""


def new_id() -> UUID:
    """Return a new id; ids made later sort later."""
    return UUID(int=uuid6.uuid7().int)  # a plain UUID: serializers do not know the library's subclass


def issue_request_id(namespace: str) -> UUID:
    """Return a new request id that `issued_at` knows again: its bits between time and chance are a check over
    the rest.
    """
    made = time.time_ns() // 1_000_000 << 80 | 0x7 << 76 | 0b10 << 62 | secrets.randbits(62)
    return UUID(int=made | _check(made, namespace))


def issued_at(request_id: UUID, namespace: str) -> datetime | None:
    """When `issue_request_id` made this id for the namespace, to the millisecond; None for any other UUID.

    The check is no secret. It keeps ids that were never issued from being taken for such: one in 4,096 passes.
    """
    if request_id.version != 7 or _check(request_id.int & ~_RAND_A, namespace) != request_id.int & _RAND_A:
        return None
    try:
        return datetime.fromtimestamp((request_id.int >> 80) / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _check(rest: int, namespace: str) -> int:
    digest = hashlib.sha256(rest.to_bytes(16) + namespace.encode(errors="replace")).digest()
    return int.from_bytes(digest[:2]) << 64 & _RAND_A


def derived_id(source: str, key: str) -> UUID:
    """Return the request id of what `source` calls `key`: `uuid5(uuid5(NAMESPACE_URL, source), key)`, the same
    every time.
    """
    return uuid5(uuid5(NAMESPACE_URL, source), key)


def version_id(source: str, key: str, content_hash: str, timestamp: datetime) -> UUID:
    """Return the request id of one version of what `source` calls `key`: the same for the same content and time."""
    return uuid5(derived_id(source, key), f"{content_hash} {timestamp.astimezone(UTC).isoformat()}")


def note_version_id(source: str, key: str, digest: str) -> UUID:
    """Return the request id of one state of a note: the same for the same content, properties and file time."""
    return uuid5(derived_id(source, key), f"note {digest}")


def deletion_id(source: str, key: str, timestamp: datetime) -> UUID:
    """Return the request id of a deletion of what `source` calls `key` at that time."""
    return uuid5(derived_id(source, key), f"delete {timestamp.astimezone(UTC).isoformat()}")


def refused_id(source: str, key: str, error: str) -> UUID:
    """Return the request id of a record of `source` under `key` that cannot be stored for that reason."""
    return uuid5(derived_id(source, key), f"refused {error}")
