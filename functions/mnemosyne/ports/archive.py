"""Port of the archive: what a complete export has besides memories, and the restoration of an export."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from mnemosyne.domain.archive import NOTHING


class Archive(Protocol):
    """Rows of one namespace, as JSON objects."""

    def extras(self, ids: Sequence[UUID]) -> Mapping[UUID, Mapping[str, Any]]:
        """Return what an export has of each memory besides its fields."""

    def requests(self, limit: int, after: UUID = NOTHING) -> Sequence[Mapping[str, Any]]:
        """Return the requests with an outcome, by id, after one."""

    def records(self, limit: int, after: UUID = NOTHING) -> Sequence[Mapping[str, Any]]:
        """Return the records that publishers have named, by id, after one."""

    def restore_rows(self, requests: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]) -> None:
        """Store requests and records that are not there yet."""
