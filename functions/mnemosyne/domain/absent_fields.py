"""Remove the fields of a record that count as absent. Pure."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

ZERO_TIMES: Final = ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00", "0001-01-01T00:00:00+00:00")
_NIL_UUIDS = (str(UUID(int=0)), UUID(int=0).hex)
_ZERO_VALUES: Final = {"timestamp": ZERO_TIMES, "expires_at": ZERO_TIMES, "request_id": _NIL_UUIDS}
"""Values that programs in Go and .NET write for a field without a value."""
_UPSERT_ONLY = frozenset({"content", "title", "tags", "metadata", "session", "expires_at", "ttl", "pinned"})
"""Fields of a memory that a deletion ignores, because change streams may send them with the deleted row."""


def without_absent(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record without null, empty and zero fields.

    The fields that only a memory has are also removed from a deletion. An empty content is kept, because its error is
    clearer than "content is required".
    """
    fields = {name: value for name, value in record.items() if not _is_absent(name, value)}
    if record.get("content") == "":
        fields["content"] = ""
    if isinstance(op := fields.get("op"), str) and op.lower() == "delete":
        return {name: value for name, value in fields.items() if name not in _UPSERT_ONLY}
    return fields


def _is_absent(name: str, value: object) -> bool:
    return value is None or (isinstance(value, str) and (not value or value in _ZERO_VALUES.get(name, ())))
