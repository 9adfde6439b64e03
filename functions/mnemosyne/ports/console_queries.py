"""What the pages for people, and operators, need of a memory store, as a Protocol."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.console_queries import Facets, History, Per, Timeline
from mnemosyne.domain.memory import Cursor, IngestState, IngestStatus
from mnemosyne.domain.search import Filters


class MemoryOverview(Protocol):
    """What is remembered, counted, and what became of what was published. Every method is confined to one namespace."""

    def timeline(self, namespace: str, filters: Filters, per: Per | None, timezone: str) -> Timeline:
        """Count the memories within the filters by when they happened; by what suits their span where it is not said.

        Of more than a thousand buckets the newest thousand.
        """

    def facets(self, namespace: str, filters: Filters, limit: int) -> Facets:
        """Count the tags of the newest 5,000 memories within the filters."""

    def history(self, namespace: str, memory_id: UUID) -> History | None:
        """Return what stands around one memory; None where there is none."""

    def ingest_requests(
        self, namespace: str, state: IngestState | None, limit: int, *, after: Cursor | None = None
    ) -> Sequence[IngestStatus]:
        """List requests in a state, or all, as they changed last: the latest first, from a cursor on."""
