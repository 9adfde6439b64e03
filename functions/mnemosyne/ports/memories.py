"""The port of the memory store."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import (
    Cursor,
    DeletedMemory,
    Deletion,
    ExportedMemory,
    IngestRequest,
    IngestStatus,
    KeysetCursor,
    Memory,
    MemoryChange,
    MemorySummary,
    Rating,
    Stats,
    Unstored,
)
from mnemosyne.domain.outcome import OutcomeCursor, OutcomePage
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.ranking import Candidates, Ranked
from mnemosyne.domain.search import Filters, Hit, SearchQuery
from mnemosyne.ports.console_queries import MemoryOverview
from mnemosyne.ports.dead_letters import DeadLetters
from mnemosyne.ports.embedder import Vector


class Claim(Protocol):
    """The exclusive right to store some requests' memories, held until the context ends."""

    @property
    def already_final(self) -> Mapping[UUID, IngestStatus]:
        """The requests that need no storing: in a final state before, or duplicates now recorded."""

    @property
    def new(self) -> Sequence[IngestRequest]:
        """The requests whose memories are to be embedded and stored."""

    @property
    def busy(self) -> Sequence[IngestRequest]:
        """The requests whose id, key or content another delivery has locked."""

    @property
    def conflicting(self) -> Sequence[UUID]:
        """Requests under whose id another content was stored before."""

    @property
    def quota(self) -> Quota:
        """What the namespace holds and may hold, where something is new."""

    def store(
        self, fitting: Sequence[IngestRequest], embeddings: Sequence[Sequence[Vector]], model: str
    ) -> Mapping[UUID, IngestStatus]:
        """Store the memories of some of the new requests, each with one vector per chunk, and record the outcomes.

        Raises EmbeddingModelChanged where the memories have moved to another space than that model's.
        """


class CandidateSource(Protocol):
    """What the ranking of a search reads."""

    def find_candidates(
        self,
        namespace: str,
        query: SearchQuery,
        vector: Vector | None,
        *,
        model: str,
        count: int,
        excluded: Mapping[str, Collection[str]],
    ) -> Candidates:
        """Find up to `count` memories by vector and as many by words; by words alone without a vector.

        `excluded` has the keys of near-duplicates to leave out (`folded`), except for some ids (`shown`). Raises
        EmbeddingModelChanged if the memories are no longer in the space of that model.
        """

    def pairwise_cosines(self, namespace: str, ids: Sequence[str]) -> Sequence[Sequence[float | None]]:
        """Cosine of each pair of memories; None for a memory that was deleted."""


class MemoryStore(CandidateSource, MemoryOverview, DeadLetters, Protocol):
    """Memories and the state of ingest requests. Every method is confined to one namespace."""

    def claim(self, namespace: str, requests: Sequence[IngestRequest]) -> AbstractContextManager[Claim]:
        """Claim the requests until the context ends. No transaction is open before or after the claim's `store`."""

    def delete_records(self, namespace: str, deletions: Sequence[Deletion]) -> Mapping[UUID, IngestStatus]:
        """Delete the versions of records that each deletion covers, and return the recorded outcomes."""

    def record_attempt(self, namespace: str, waiting: Sequence[Unstored]) -> None:
        """Note that an attempt failed for a reason that may pass."""

    def record_failures(self, namespace: str, failed: Sequence[Unstored]) -> None:
        """Note that the requests can never be stored; a request already in a final state keeps it."""

    def statuses(self, namespace: str, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        """Return what is known of each request; those not yet seen are absent."""

    def outcomes(self, namespace: str, limit: int, *, after: OutcomeCursor, source: str | None = None) -> OutcomePage:
        """Return requests in a reported state, of one source or all, in the order of the transactions that set it.

        Every committed outcome is on exactly one page, unless it changes again before that page is read.
        """

    def outcomes_of_keys(self, namespace: str, source: str, keys: Sequence[str]) -> Mapping[str, IngestStatus]:
        """Return the request of each key of a source that changed last; keys without a request are absent."""

    def unannounced(self, namespace: str, request_ids: Sequence[UUID]) -> Sequence[IngestStatus]:
        """Those of the requests that are in a final state of which their publisher has not been told."""

    def mark_announced(self, namespace: str, announced: Sequence[IngestStatus]) -> None:
        """Note that the publisher has been told of these states, where they are still the requests'."""

    @property
    def embedding_space(self) -> EmbeddingSpace:
        """The space that the memories are in, as far as known: a claim or search that finds another one says so."""

    def read_hits(self, namespace: str, query: SearchQuery, ranked: Sequence[Ranked]) -> Sequence[Hit]:
        """Read the memories in this order, cut to the characters that the query allows; deleted ones are left out."""

    def fetch(self, namespace: str, memory_id: UUID) -> Memory | None:
        """Return one memory, whole."""

    def list(
        self, namespace: str, filters: Filters, limit: int, *, after: Cursor | None = None
    ) -> Sequence[MemorySummary]:
        """Return the newest memories within the filters, after a cursor."""

    def similar(self, namespace: str, memory_id: UUID) -> Sequence[MemorySummary]:
        """Return up to three memories, not superseded, that nearly say the same as one."""

    def delete(self, namespace: str, memory_id: UUID) -> DeletedMemory | None:
        """Delete one memory and return it, or None if there is none. What it had superseded stays superseded."""

    def update(self, namespace: str, memory_id: UUID, change: MemoryChange) -> Memory | None:
        """Return the memory after the change, or None where there is none.

        Raises Conflict, NotFound over supersession.
        """

    def rate(self, namespace: str, memory_id: UUID, rating: int, reason: str | None) -> Rating | None:
        """Record a rating of -1, 0 or 1, or None where there is no such memory."""

    def export(self, namespace: str, limit: int, *, after: KeysetCursor | None = None) -> Sequence[ExportedMemory]:
        """List memories by time and then content hash, whatever their ids, after a cursor.

        A page ends with the memory whose content reaches EXPORT_BYTES; one without a memory is the last.
        """

    def stats(self, namespace: str) -> Stats:
        """Return the namespace in figures."""

    def quota(self, namespace: str) -> Quota:
        """Return what the namespace holds, and what it may hold."""

    def known_quota(self, namespace: str) -> Quota | None:
        """Return what is known of it without waiting for the database; None where nothing is."""
