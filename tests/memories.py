"""Store memories in tests, and read the memories of a store."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mnemosyne.domain.chunking import embed_whole
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.memory import FailedRequest, IngestRequest, IngestStatus, MemorySummary
from mnemosyne.domain.memory_changes import GivenRating, Rating
from mnemosyne.domain.search import Filters, Hit, SearchMode, SearchQuery
from mnemosyne.ids import new_id
from mnemosyne.ports.embedder import Vector
from tests.fakes import NOW, FakeEmbedder, request
from tests.searching import find

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

EMBEDDER = FakeEmbedder()


def embed(text: str) -> list[Vector]:
    """Return the vectors of a text's chunks."""
    return embed_whole([text], EMBEDDER.chunk_limit, EMBEDDER.embed_documents)[0]


def store(memories: "MemoryStore", *requests: IngestRequest) -> dict[UUID, IngestStatus]:
    """Store the requests' memories, and return the outcomes."""
    with memories.claim(requests) as claim:
        outcomes = dict(claim.already_final)
        if claim.new:
            outcomes |= claim.store(
                claim.new, [embed(ingest_request.content) for ingest_request in claim.new], EMBEDDER.model
            )
    return outcomes


def store_content(memories: "MemoryStore", content: str, **fields: Any) -> UUID:
    """Store one memory, and return its id."""
    ingest_request = request(content, **fields)
    memory_id = store(memories, ingest_request)[ingest_request.request_id].memory_id
    assert memory_id
    return memory_id


def store_contents(memories: "MemoryStore", *contents: str, **fields: Any) -> list[UUID]:
    """Store a memory for each content, all in one message, and return the ids of the memories."""
    requests = [request(content, **fields) for content in contents]
    outcomes = store(memories, *requests)
    return [memory_id for ingest_request in requests if (memory_id := outcomes[ingest_request.request_id].memory_id)]


def rate(
    memories: "MemoryStore",
    memory_id: UUID,
    rating: int | None,
    reason: str | None = None,
    *,
    by: str | None = None,
) -> Rating | None:
    """Rate a memory as the rater `by`. Without `by`, each call rates as a different person."""
    rater = by or str(new_id())
    given_rating = GivenRating(rated_by=rater, rater_name=rater, rating=rating, reason=reason)
    return memories.rate(memory_id, given_rating)


def list_memories(memories: "MemoryStore") -> Sequence[MemorySummary]:
    """Return all memories of a namespace."""
    return memories.list(Filters(include_superseded=True), 10_000)


def status_of(memories: "MemoryStore", request_id: UUID) -> IngestStatus:
    """Return the status of a request that the store has recorded."""
    return memories.statuses([request_id])[request_id]


def search(memories: "MemoryStore", query: str | None, **fields: Any) -> Sequence[Hit]:
    """Search, by meaning unless `mode` says otherwise."""
    search_query = SearchQuery(query=query, **{"mode": SearchMode.SEMANTIC, **fields})
    vector = EMBEDDER.embed_query(query) if query and search_query.mode is not SearchMode.EXACT else None
    return find(memories, search_query, vector, lexical_weight=EMBEDDER.lexical_weight).hits


def unstored(ingest_request: IngestRequest, error: str) -> FailedRequest:
    """Return the FailedRequest for a request to ingest that fails with this error."""
    return FailedRequest(request_id=ingest_request.request_id, error=error, external_id=ingest_request.external_id)


def make_dead_letter(message_id: str) -> DeadLetter:
    """Return a dead letter whose message is not UTF-8."""
    return DeadLetter(
        message_id=message_id, data=b"\x00\xff{", attributes={"k": "é"}, cause="given up", dead_lettered_at=NOW
    )
