"""Port of the queries that the console's pages make."""

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.audit import EventCursor, ListedEvent
from mnemosyne.domain.console_queries import BucketLength, Facets, History, ListedRequest, SessionNeighbours, Timeline
from mnemosyne.domain.forgetting import Hold
from mnemosyne.domain.memory import Cursor, IngestState, MemorySummary
from mnemosyne.domain.search import Filters
from mnemosyne.domain.time.window import TimeWindow


class MemoryOverview(Protocol):
    """Queries about memories, ingest requests and audit events of one namespace."""

    def timeline(self, filters: Filters, per: BucketLength | None, timezone: str) -> Timeline:
        """Count the memories that match the filters per day, week, month or year of their timestamps.

        Without `per`, the unit depends on the time between the first and the last. Returns the newest 1,000 buckets.
        """

    def facets(self, filters: Filters, limit: int, *, prefix: str = "") -> Facets:
        """Count the tags that begin with a prefix, and the sessions, of the memories that match the filters.

        Returns the `limit` most frequent tags and latest sessions.
        """

    def session_neighbours(self, memory_id: UUID) -> SessionNeighbours | None:
        """Return the memories before and after a memory in its session.

        None if there is no such memory, or it has no session.
        """

    def hold(self, memory_id: UUID) -> Hold | None:
        """Return the oldest legal hold on a memory, which prevents its deletion.

        None if there is no such memory or no hold.
        """

    def history(self, memory_id: UUID) -> History | None:
        """Return the versions and ratings of one memory, or None if it does not exist."""

    def ingest_requests(
        self, state: IngestState | None, limit: int, *, after: Cursor | None = None
    ) -> Sequence[ListedRequest]:
        """Return ingest requests in one state or in all, the latest change first, after a cursor."""

    def request_counts(self) -> Mapping[IngestState, int]:
        """Count the ingest requests by state. Only the latest COUNTED_REQUESTS changed requests are counted."""

    def mark_words(self, query: str, texts: Sequence[Sequence[str]]) -> Sequence[Sequence[Sequence[str]]]:
        """Put marks around the words of each text that a search by words would match with the query.

        `texts` has a list of texts for each memory. The result has the same order, with one or two marked forms of
        each text. `domain.matches` defines the marks.
        """

    def complete_word(self, start: str, filters: Filters, limit: int) -> Sequence[str]:
        """Return words that begin with a text, the most frequent first, in lower case and without accents.

        Reads title, tags and the first 1,000 characters of at most 500 memories that match the filters.
        """

    def with_content(self, content_hash: str) -> MemorySummary | None:
        """Return the memory with this content; None if it does not exist."""

    def audit_events(
        self,
        within: TimeWindow,
        person: str | None,
        action: str | None,
        limit: int,
        *,
        after: EventCursor | None = None,
    ) -> Sequence[ListedEvent]:
        """Return the namespace's events of the audit trail within a time, the latest first, after a cursor.

        `person` is a principal, an address, a subject or the name of an API key.
        """
