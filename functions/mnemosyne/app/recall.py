"""Measure the share of memories that a search by meaning finds, on a sample.

Each sampled memory is searched for by words from its middle.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.errors import MnemosyneError
from mnemosyne.observability import EventLog
from mnemosyne.ports.embedder import Embedder
from mnemosyne.service import search

log = EventLog(__name__)

SAMPLE = 50
SAMPLE_WORDS = 8
_SAMPLE: Final = """
SELECT id, namespace, content FROM memories
WHERE superseded_by IS NULL AND is_unexpired(expires_at) AND created_at <= CAST(:stored_by AS timestamptz)
ORDER BY content_hash LIMIT CAST(:limit AS integer)
"""


@dataclass(frozen=True)
class Probe:
    """A memory, and words from its middle by which a search should find it."""

    id: UUID
    namespace: str
    query: str


def probes(connection: Connection, stored_by: datetime) -> Sequence[Probe]:
    """Return a sample of the current memories, each with a query: words from the middle of the content.

    The sample has only memories that were stored until `stored_by`. While no memory changes, each call returns the same
    sample.
    """
    probes = []
    for row in connection.run(_SAMPLE, stored_by=stored_by, limit=SAMPLE):
        words = row["content"].split()
        start = max(0, (len(words) - SAMPLE_WORDS) // 2)
        probes.append(Probe(row["id"], row["namespace"], " ".join(words[start : start + SAMPLE_WORDS])))
    return [probe for probe in probes if probe.query]


def recall(
    sample: Sequence[Probe], connection_factory: Callable[[], Connection], space: EmbeddingSpace, embedder: Embedder
) -> float | None:
    """Return the share of probes whose memory is among the ten hits of a semantic search.

    Returns None without probes, and if the embedder fails: a move away from a model that the service no longer offers
    must not depend on this model.
    """
    try:
        vectors = [embedder.embed_query(probe.query) for probe in sample]
    except MnemosyneError as exc:
        log.info("recall_not_measured", model=space.model, error=str(exc))
        return None
    if not sample:
        return None
    pool = Pool(connection_factory, 1)
    database = MemoryDatabase(pool, space)
    hits = 0
    for probe, vector in zip(sample, vectors, strict=True):
        query = SearchQuery(query=probe.query, mode=SearchMode.SEMANTIC, limit=10)
        ranked, _ = search.rank(
            query,
            vector,
            memories=MemoryStore(database, probe.namespace),
            model=embedder.model,
            lexical_weight=embedder.lexical_weight,
        )
        hits += str(probe.id) in {entry.candidate.id for entry in ranked[: query.limit]}
    pool.close()
    return hits / len(sample)
