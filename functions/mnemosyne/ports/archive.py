"""Port of the archive, which exports a namespace completely and restores it.

An ordinary export has only the memories. A complete export also has their ids and ratings, the ingest requests, and the
records: the names that publishers gave to memories.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from mnemosyne.domain.archive import NOTHING


class Archive(Protocol):
    """Reads and restores the rows of one namespace, as JSON objects."""

    def extras(self, ids: Sequence[UUID]) -> Mapping[UUID, Mapping[str, Any]]:
        """Return the values of each memory that only a complete export has."""

    def requests(self, limit: int, after: UUID = NOTHING) -> Sequence[Mapping[str, Any]]:
        """Return the ingest requests that have an outcome (a final state), by id, after the given id."""

    def records(self, limit: int, after: UUID = NOTHING) -> Sequence[Mapping[str, Any]]:
        """Return the records, by id, after the given id."""

    def restore_rows(self, requests: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]) -> None:
        """Store the requests and records that the database does not have yet."""
