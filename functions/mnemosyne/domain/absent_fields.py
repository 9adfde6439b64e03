"""Remove the fields of a record that count as absent. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

ZERO_TIME: Final = datetime.min.replace(tzinfo=UTC)
"""The time that programs in Go and .NET write for a field without a time."""
_NIL_UUIDS = (str(UUID(int=0)), UUID(int=0).hex)
"""The id that programs in Go and .NET write for a field without an id."""
_UPSERT_ONLY = frozenset({"content", "title", "tags", "metadata", "session", "expires_at", "ttl", "pinned"})
"""Fields of a memory that are ignored in a deletion. A database's change stream may send the values of the deleted row
in these fields."""


def without_absent(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record without null and empty fields, and without a nil UUID as its request id.

    Metadata that is an empty array is also removed, because PHP writes `[]` for an empty object. In a deletion, the
    fields that only a memory has are removed, too. In a memory, an empty content is not removed. It is rejected later,
    with an error that is clearer than "content is required".
    """
    fields = {name: value for name, value in record.items() if value is not None and value != ""}
    if record.get("content") == "":
        fields["content"] = ""
    if fields.get("request_id") in _NIL_UUIDS:
        del fields["request_id"]
    if fields.get("metadata") == []:
        del fields["metadata"]
    if isinstance(op := fields.get("op"), str) and op.lower() == "delete":
        return {name: value for name, value in fields.items() if name not in _UPSERT_ONLY}
    return fields
