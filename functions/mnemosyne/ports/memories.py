"""Port of the memory store: memories and ingest requests of one namespace."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.candidates import Candidates, RankedCandidate
from mnemosyne.domain.change_feed import ChangeCursor, ChangePage
from mnemosyne.domain.console_queries import ListedMemory
from mnemosyne.domain.embedding_space import Languages
from mnemosyne.domain.memory import (
    Cursor,
    Deletion,
    ExportedMemory,
    FailedRequest,
    IngestRequest,
    IngestStatus,
    KeysetCursor,
    Memory,
    Stats,
)
from mnemosyne.domain.memory_changes import ChangedTag, ChangedTags, DeletedMemory, GivenRating, MemoryChange, Rating
from mnemosyne.domain.neighbours import Neighbours
from mnemosyne.domain.outcome import DeletedRecords, OutcomeCursor, OutcomePage
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.search import EVERY_MEMORY, Filters, Hit, SearchQuery
from mnemosyne.ports.console_queries import MemoryOverview
from mnemosyne.ports.dead_letters import DeadLetters
from mnemosyne.ports.embedder import Vector
from mnemosyne.ports.forgetting import ForgettingStore


class Claim(Protocol):
    """Some ingest requests, locked until the context ends, so that only one delivery stores each memory."""

    @property
    def already_final(self) -> Mapping[UUID, IngestStatus]:
        """Status of the requests with nothing to store.

        They are already final, or this claim has recorded them as duplicates.
        """

    @property
    def new(self) -> Sequence[IngestRequest]:
        """Requests whose memories must be embedded and stored."""

    @property
    def forgotten(self) -> Sequence[IngestRequest]:
        """Requests whose memories were forgotten (deleted for good). They must not be stored, and are not in `new`."""

    @property
    def busy(self) -> Sequence[IngestRequest]:
        """Requests that another delivery has locked: their id, their key or their content."""

    @property
    def conflicting(self) -> Sequence[UUID]:
        """Request ids under which another content was stored before."""

    @property
    def quota(self) -> Quota:
        """Usage and limits of the namespace; None if there are no `new` requests."""

    def store(
        self, fitting: Sequence[IngestRequest], embeddings: Sequence[Sequence[Vector]], model: str
    ) -> Mapping[UUID, IngestStatus]:
        """Store the memories of some new requests, each with one vector per chunk, and record the outcomes.

        Raises EmbeddingModelChanged if the database now uses another embedding space than that model's.
        """


class CandidateSource(Protocol):
    """Queries that the ranking of a search makes."""

    def find_candidates(
        self,
        query: SearchQuery,
        vector: Vector | None,
        *,
        model: str,
        count: int,
        excluded: Mapping[str, Collection[str]],
    ) -> Candidates:
        """Find up to `count` memories by vector, and up to `count` by words. Without a vector, only by words.

        `excluded` leaves out near-duplicates of hits that are known already: all memories with the statements in
        `folded`, except the hits themselves, whose ids are in `shown`. Raises EmbeddingModelChanged if the database now
        uses another embedding space than `model`.
        """

    def pairwise_cosines(self, ids: Sequence[str]) -> Sequence[Sequence[float | None]]:
        """Return the cosine of each pair of memories; None if one of the pair was deleted."""


class MemoryStore(CandidateSource, MemoryOverview, DeadLetters, ForgettingStore, Protocol):
    """Memories and the state of ingest requests of one namespace."""

    @property
    def namespace(self) -> str:
        """Namespace to which the store is bound."""

    def claim(self, requests: Sequence[IngestRequest]) -> AbstractContextManager[Claim]:
        """Lock the requests until the context ends.

        A transaction is open only while `store` of the claim runs.
        """

    def delete_records(self, deletions: Sequence[Deletion]) -> DeletedRecords:
        """Delete the versions of records that each deletion covers. Record the outcomes and return them.

        A record is a text that a publisher has named by a source and key. Each content or timestamp is a version.
        """

    def record_attempt(self, waiting: Sequence[FailedRequest]) -> None:
        """Record that an attempt to store these requests failed for a temporary reason."""

    def record_deleted(self, deleted: Sequence[FailedRequest]) -> None:
        """Record requests as deleted, because their memories expired or were forgotten before they were stored."""

    def record_failures(self, failed: Sequence[FailedRequest]) -> None:
        """Record that requests can never be stored. A request that is in a final state does not change."""

    def statuses(self, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        """Return the status of each request. Requests without a recorded status are absent."""

    def changes(self, limit: int, *, after: ChangeCursor) -> ChangePage:
        """Return events of the change feed after a cursor. A memory's events are in the order of its changes."""

    def outcomes(self, limit: int, *, after: OutcomeCursor, source: str | None = None) -> OutcomePage:
        """Return a page of outcomes, of one source or all, in the order of the transactions that recorded them.

        Every committed outcome is on exactly one page, unless it changes before that page is read.
        """

    def outcomes_of_keys(self, source: str, keys: Sequence[str]) -> Mapping[str, IngestStatus]:
        """Return the status of the request that changed last for each key. Keys without a request are absent."""

    def unannounced(self, request_ids: Sequence[UUID]) -> Sequence[IngestStatus]:
        """Return the requests whose outcome (final state) has not been published to the publisher."""

    def mark_announced(self, announced: Sequence[IngestStatus]) -> None:
        """Record that these outcomes were published, unless a request's state has changed since."""

    def read_hits(self, query: SearchQuery, ranked: Sequence[RankedCandidate]) -> Sequence[Hit]:
        """Read the ranked memories, in order, truncated to the query's number of characters.

        Memories that were deleted after the ranking are left out.
        """

    def fetch(self, memory_id: UUID, as_of: datetime | None = None) -> Memory | None:
        """Return one memory with its whole content, as it is now or as it was at the time `as_of`.

        Returns None if the memory does not exist, or was not visible at `as_of`. Raises InvalidRequest if the state of
        the memory at `as_of` is not known.
        """

    def list(
        self,
        filters: Filters,
        limit: int,
        *,
        after: Cursor | None = None,
        oldest_first: bool = False,
        beginning: int | None = None,
    ) -> Sequence[ListedMemory]:
        """Return the newest memories that match the filters, or the oldest, after a cursor.

        Each has the first `beginning` characters of its content.
        """

    def neighbours(self, memory_id: UUID) -> Neighbours:
        """Return the nearest memories of a memory, without superseded ones.

        There are none if the memory does not exist.
        """

    def delete_many(self, memory_ids: Sequence[UUID]) -> Sequence[UUID]:
        """Delete memories in one transaction, as `delete` does, and return the ids of those that existed."""

    def change_tags(self, memory_ids: Sequence[UUID], *, added: Sequence[str], removed: Sequence[str]) -> ChangedTags:
        """Add and remove tags of memories, all or none. Raises OverQuota and InvalidRequest."""

    def change_tag(self, tag: str, new_tag: str | None, limit: int) -> ChangedTag:
        """Replace a tag with another tag, or remove it, in at most `limit` memories. Raises OverQuota."""

    def delete(self, memory_id: UUID) -> DeletedMemory | None:
        """Delete one memory and return it, or None if it does not exist.

        Memories that it superseded stay superseded.
        """

    def update(self, memory_id: UUID, change: MemoryChange) -> Memory | None:
        """Change a memory and return it, or None if it does not exist.

        Raises NotFound if the superseding memory does not exist, and Conflict if superseding would form a cycle.
        """

    def rate(self, memory_id: UUID, rating: GivenRating) -> Rating | None:
        """Replace the rater's rating of a memory, and return the memory's quality before and after.

        Returns None if the memory does not exist.
        """

    def export(
        self,
        limit: int,
        *,
        after: KeysetCursor | None = None,
        filters: Filters = EVERY_MEMORY,
        memory_ids: Sequence[UUID] | None = None,
    ) -> Sequence[ExportedMemory]:
        """Return the memories that match the filters and have the ids, after a cursor.

        They are ordered by time and then content hash. A page ends after `limit` memories or EXPORT_BYTES of content,
        and has at least one memory unless none is left.
        """

    def stats(self) -> Stats:
        """Return counts of the namespace's memories, tags and requests."""

    def languages(self, query: str | None = None) -> Languages:
        """Return the languages of the namespace's newest memories, and of a query."""

    def quota(self) -> Quota:
        """Return the usage and limits of the namespace."""
