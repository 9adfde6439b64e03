"""Store a test collection in a real store, and search it."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from infra.benchmarks.collection import Collection
from infra.benchmarks.database import opened
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.embedders import registry
from mnemosyne.app import container
from mnemosyne.cli.local import postgres, stack
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.candidates import Candidates, RankedCandidate
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.domain.time.question import named_times
from mnemosyne.ports.candidates import CandidateSource
from mnemosyne.ports.embedder import Embedder, Reranker, Vector
from mnemosyne.service import ingest, search
from mnemosyne.settings import Settings

Search = Callable[[str], Sequence[str]]


class Remembered:
    """Cache of each question's candidates. With it, a search with another lexical weight needs no database query."""

    def __init__(self, memories: CandidateSource) -> None:
        self._memories = memories
        self._found: dict[tuple[str | None, str], Candidates] = {}

    def find_candidates(self, query: SearchQuery, vector: Vector | None, **options: Any) -> Candidates:
        """Return the candidates of the question. Look them up in the database only the first time.

        The question's text and the options are the key in the cache. All other fields of the queries are equal.
        """
        key = query.query, str(options)
        if key not in self._found:
            self._found[key] = self._memories.find_candidates(query, vector, **options)
        return self._found[key]

    def pairwise_cosines(self, ids: Sequence[str]) -> Sequence[Sequence[float | None]]:
        """Return the cosine of each pair of memories."""
        return self._memories.pairwise_cosines(ids)


class Stored:
    """A test collection that is stored in its own namespace, with functions that search it."""

    def __init__(
        self,
        collection: Collection,
        database: MemoryDatabase,
        embedder: Embedder,
        *,
        sessions: bool = True,
        tags: bool = False,
    ) -> None:
        self.collection, self.model, self._embedder = collection, embedder.model, embedder
        self._namespace = f"{collection.name}-{sessions}-{tags}"
        self._memories = MemoryStore(database, self._namespace)
        self._remembered = Remembered(self._memories)
        self._now = max(datetime.fromisoformat(document["timestamp"]) for document in collection.documents.values())
        self._names: dict[str, str] = {}
        self._by_text: dict[str, list[str]] = {}
        for name, document in collection.documents.items():
            self._by_text.setdefault(document["text"], []).append(name)
        self._ids: dict[str, UUID] = {}
        requests = list(collection.requests(sessions=sessions, tags=tags))
        for start in range(0, len(requests), 100):
            self._store(requests[start : start + 100])

    def _store(self, batch: Sequence[tuple[str, IngestRequest]]) -> None:
        message = IngestMessage(self._namespace, tuple(request for _, request in batch))
        outcomes = ingest.store(message, memories=self._memories, embedder=self._embedder).outcomes
        for name, request in batch:
            if (memory_id := outcomes[request.request_id].memory_id) is not None:
                self._names[str(memory_id)] = name
                self._ids[name] = memory_id

    def search(self, mode: SearchMode, *, words_only: bool = False, weight: float | None = None) -> Search:
        """Return a function that searches in this mode.

        The returned function takes a question, and returns the ids of documents, best first.
        """

        def names(question: str) -> Sequence[str]:
            ranked, _ = self.rank(question, mode, words_only=words_only, weight=weight)
            return self.documents(id_ for entry in ranked[:10] for id_ in (entry.candidate.id, *entry.folded))

        return names

    def rank(
        self, question: str, mode: SearchMode, *, words_only: bool = False, weight: float | None = None
    ) -> tuple[list[RankedCandidate], Candidates]:
        """Search, and return the ranked candidates, best first, and the unranked candidates from the database.

        If the search looks up candidates in the database several times, the unranked candidates are the last ones.
        """
        embedder = self._embedder.for_namespace(self._namespace)
        return search.rank(
            self.query(question, mode),
            None if words_only else embedder.embed_query(question),
            memories=self._memories if weight is None else self._remembered,
            model=embedder.model,
            lexical_weight=embedder.lexical_weight if weight is None else weight,
        )

    def query(self, question: str, mode: SearchMode) -> SearchQuery:
        """Return a query for ten hits. A hybrid query prefers memories from the times that the question names."""
        preferred = named_times(question, now=self._now) if mode is SearchMode.HYBRID else ()
        return SearchQuery(query=question, mode=mode, limit=10, preferred=preferred)

    def candidates(self, question: str) -> tuple[SearchQuery, Candidates, float]:
        """Return the question's hybrid query, the candidates that it finds, and the weight of the lexical score."""
        embedder, query = self._embedder.for_namespace(self._namespace), self.query(question, SearchMode.HYBRID)
        candidates = self._memories.find_candidates(
            query, embedder.embed_query(question), model=embedder.model, count=100, excluded={}
        )
        return query, candidates, embedder.lexical_weight

    def may_replace(self, name: str) -> list[str]:
        """Compute the hint `may_replace` for a document's memory. Return the ids of the documents in the hint."""
        neighbours = self._memories.neighbours(self._ids[name])
        return self.names(str(neighbour.id) for neighbour in neighbours.may_replace)

    def names(self, ids: Iterable[str]) -> list[str]:
        """Return, for each id of a memory, the id of its document in the collection."""
        return [self._names[memory_id] for memory_id in ids]

    def documents(self, ids: Iterable[str]) -> list[str]:
        """Return the ids of all documents that have the same text as one of these memories.

        A search returns only one hit for several documents with the same text, because they are stored as one memory
        or as near-duplicates.
        """
        texts = (self.collection.documents[name]["text"] for name in self.names(ids))
        return list(dict.fromkeys(name for text in texts for name in self._by_text[text]))

    def reranked(self, reranker: Reranker) -> Search:
        """Return a function that makes a hybrid search with a reranker.

        The returned function takes a question, and returns the ids of documents, best first. It prints a note if the
        reranker or the embedder has failed.
        """

        def names(question: str) -> Sequence[str]:
            query = self.query(question, SearchMode.HYBRID)
            result = search.search(
                query,
                memories=self._memories,
                embedder=self._embedder,
                reranker=reranker,
            )
            if result.degraded:
                print(f"  {question!r}: {result.degraded}")
            return self.documents(str(id_) for hit in result.hits for id_ in (hit.id, *hit.near_duplicates))

        return names


@contextmanager
def opened_store(embedder_name: str) -> Iterator[tuple[Embedder, MemoryDatabase, postgres.EmbeddedPostgres]]:
    """Yield an embedder (see `embedder_of`), an empty store, and the PostgreSQL server of the store."""
    with tempfile.TemporaryDirectory(prefix="mnemosyne-bench-") as scratch:
        embedder, space = embedder_of(embedder_name, scratch)
        with stack.database(DataDir.at(scratch), space) as server, opened(server, space) as memories:
            yield embedder, memories, server


def embedder_of(name: str, scratch: str) -> tuple[Embedder, EmbeddingSpace]:
    """Return the embedder with this name (offline, multilingual or gemini), and its embedding space."""
    variables = {
        "MNEMOSYNE_EMBEDDER": name,
        "MNEMOSYNE_OFFLINE_STATISTICS": scratch,
        "MNEMOSYNE_DATABASE_URL": "postgresql://nobody@localhost/none",  # this setting is required, but not used
        "MNEMOSYNE_TOPIC": f"file://{scratch}/queue",
    }
    settings = Settings.from_environment({**os.environ, **variables})
    space = container.embedding_space(settings)
    return registry.build(settings, space), space
