"""What the services need from the outside, as Protocols; adapters satisfy them without importing this file."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from uuid import UUID

from mnemosyne.dead_letter_ports import DeadLetters
from mnemosyne.domain.chunking import ChunkLimit
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
    Reading,
    Stats,
    Unstored,
)
from mnemosyne.domain.outcome import Outcome, OutcomeCursor, OutcomePage
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.ranking import Candidates, Ranked
from mnemosyne.domain.search import Filters, Hit, SearchQuery
from mnemosyne.overview_ports import MemoryOverview

if TYPE_CHECKING:  # 60 ms of a cold start, and only the embedders compute
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
else:
    Vector = Any
"""One L2-normalised embedding."""


class Embedder(Protocol):
    """Turns text into L2-normalised vectors of one embedding space."""

    @property
    def model(self) -> str:
        """The model's name. Vectors of different models cannot be compared."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""

    @property
    def chunk_limit(self) -> ChunkLimit:
        """Most that `embed_documents` takes as one text. Longer texts are embedded in chunks."""

    @property
    def lexical_weight(self) -> float:
        """Weight of the lexical score in a hybrid search, in [0, 1], from measurements of retrieval quality."""

    def for_namespace(self, namespace: str) -> "Embedder":
        """Return the embedder for a namespace. It must not reveal what it learned from the texts of others."""

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector per text, in order, for texts that searches should find.

        Raises TextTooLong if the model would not read a text whole, InvalidRequest if it refuses a text for another
        reason, and Unavailable.
        """

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query of any length. Raises Unavailable or InvalidRequest."""


class Reranker(Protocol):
    """Reads texts together with a query, and says how well each answers it."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a relevance in [0, 1] for each, in order; raises Unavailable, after a third of a second at most."""

    def check(self) -> str:
        """Return what is seen of it; raises Unavailable where it could not be asked."""


class IngestQueue(Protocol):
    """Where accepted requests wait to be stored."""

    def publish(self, namespace: str, readings: Sequence[Reading]) -> None:
        """Return once the requests are durable, all in one message; raises Unavailable where none is."""

    def check(self) -> str:
        """Return what is seen of the queue; raises Unavailable where nothing could be published to it."""

    def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        """Return once a message, as it was published before, is durable again; raises Unavailable."""


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


class OutcomeTopic(Protocol):
    """Where publishers are told what became of what they published."""

    def publish(self, outcomes: Sequence[Outcome]) -> None:
        """Return once all are durable; raises Unavailable where one is not: all may be published again."""


class TokenVerifier(Protocol):
    """Tells what a signed token says, once it is sure that it may be believed."""

    def verify(self, token: str) -> Mapping[str, Any]:
        """Return the token's claims; raises Unauthorized, or Unavailable where the issuer cannot be asked."""


class Clock(Protocol):
    """The time now, aware, in UTC."""

    def __call__(self) -> datetime:
        """Now."""


class Services(Protocol):
    """All the ports that an edge hands to its use cases; each is built when first asked for."""

    @property
    def queue(self) -> IngestQueue:
        """Where accepted requests go."""

    def known_quota(self, namespace: str) -> Quota | None:
        """Return what is known of a namespace's quota, without building or asking anything."""

    @property
    def memories(self) -> MemoryStore:
        """Where memories are."""

    @property
    def embedder(self) -> Embedder:
        """What turns text into vectors of the memories' space."""

    @property
    def reranker(self) -> Reranker | None:
        """What orders anew what is found; None where nothing does."""

    @property
    def clock(self) -> Clock:
        """What time it is."""


class SubscriberServices(Services, Protocol):
    """What the functions that take pushes need beside."""

    @property
    def outcome_topic(self) -> OutcomeTopic | None:
        """Where outcomes are told; None where they are not."""
