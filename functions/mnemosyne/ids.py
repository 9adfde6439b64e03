"""Ids: UUIDv7 for new records, UUIDv5 for records with a source and key (both RFC 9562)."""

import hashlib
import secrets
import time
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, UUID, uuid5

_RAND_A = 0xFFF << 64
"""Mask of the 12 bits of a UUIDv7 after its time and version. RFC 9562 lets each implementation choose their use."""


def new_id() -> UUID:
    """Return a new UUIDv7. The ids sort by the time of this call, with a resolution of a quarter of a microsecond."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    return UUID(int=_uuid7(milliseconds) | (nanoseconds << 12) // 1_000_000 << 64)


def issue_request_id(namespace: str) -> UUID:
    """Return a new UUIDv7 that contains a 12-bit checksum of the namespace and of the other bits of the UUID.

    The function `issued_at` verifies the checksum.
    """
    bits = _uuid7(time.time_ns() // 1_000_000)
    return UUID(int=bits | _checksum(bits, namespace))


def _uuid7(milliseconds: int) -> int:
    """Return the bits of a UUIDv7 for a time in milliseconds since 1970. The 12 bits of `_RAND_A` are zero."""
    return milliseconds << 80 | 0x7 << 76 | 0b10 << 62 | secrets.randbits(62)


def issued_at(request_id: UUID, namespace: str) -> datetime | None:
    """Return the time, to the millisecond, at which `issue_request_id` made the id. None for other UUIDs.

    The checksum is not a security feature. By chance, one in 4,096 other UUIDs of version 7 passes it.
    """
    if request_id.version != 7 or _checksum(request_id.int & ~_RAND_A, namespace) != request_id.int & _RAND_A:
        return None
    try:
        return datetime.fromtimestamp((request_id.int >> 80) / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _checksum(id_without_checksum: int, namespace: str) -> int:
    digest = hashlib.sha256(id_without_checksum.to_bytes(16) + namespace.encode(errors="replace")).digest()
    return int.from_bytes(digest[:2]) << 64 & _RAND_A


def derived_id(source: str, key: str) -> UUID:
    """Return the id of the record with this source and key: `uuid5(uuid5(NAMESPACE_URL, source), key)`."""
    return uuid5(uuid5(NAMESPACE_URL, source), key)


def version_id(source: str, key: str, content_hash: str, timestamp: datetime) -> UUID:
    """Return the request id of a version of a record, derived from the record, the version's content and its time."""
    return uuid5(derived_id(source, key), f"{content_hash} {timestamp.astimezone(UTC).isoformat()}")


def note_version_id(source: str, key: str, digest: str) -> UUID:
    """Return the request id of one version of a note.

    `digest` is a digest of the note's content, properties and modification time.
    """
    return uuid5(derived_id(source, key), f"note {digest}")


def deletion_id(source: str, key: str, timestamp: datetime) -> UUID:
    """Return the request id of a deletion. It is derived from the deleted record and the time of the deletion."""
    return uuid5(derived_id(source, key), f"delete {timestamp.astimezone(UTC).isoformat()}")


def refused_id(source: str, key: str, error: str) -> UUID:
    """Return the request id of an invalid record. The same record with the same error has the same id."""
    return uuid5(derived_id(source, key), f"refused {error}")
