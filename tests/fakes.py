"""Fakes for tests without a network: an embedder, a reranker, queues."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from mnemosyne.domain.chunking import ChunkLimit
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import IngestRequest, Reading
from mnemosyne.domain.message import IngestMessage, decode, encode
from mnemosyne.domain.outcome import Outcome
from mnemosyne.domain.provenance import Publisher
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.domain.quota import Quota
from mnemosyne.errors import MnemosyneError, Unavailable
from mnemosyne.ids import new_id
from mnemosyne.observability import current_trace
from mnemosyne.ports.embedder import Vector

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore
    from mnemosyne.adapters.database.pool import Pool

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
FAKE_SPACE = EmbeddingSpace("fake", "fake", 64)


class FakeEmbedder:
    """Embedder that gives each word its own dimension. Texts that share words thus have similar vectors."""

    model = FAKE_SPACE.model
    dimension = FAKE_SPACE.dimension
    chunk_limit = ChunkLimit(characters=200)
    lexical_weight = 0.5

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self.away = False
        self.fault: MnemosyneError | None = None
        """Error that every call raises; None if calls succeed."""

    def for_namespace(self, namespace: str) -> "FakeEmbedder":
        return self

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self._fail()
        self.embedded += texts
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        self._fail()
        return self._embed(text)

    def _fail(self) -> None:
        if self.away:
            raise Unavailable("the embedder is away")
        if self.fault:
            raise self.fault

    def _embed(self, text: str) -> Vector:
        vector = np.zeros(self.dimension, dtype=np.float32)
        for word in text.casefold().split():
            vector[sum(word.strip(".,?!").encode()) % self.dimension] += 1.0
        return np.asarray(vector / (np.linalg.norm(vector) or 1.0), dtype=np.float32)


class FakeReranker:
    """Reranker that scores a text 1 if it contains a given part, otherwise 0.1."""

    def __init__(self, preferred: str) -> None:
        self.preferred = preferred
        self.read: list[str] = []
        self.away = False

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        if self.away:
            raise Unavailable("the reranker is away")
        self.read += texts
        return [1.0 if self.preferred in text else 0.1 for text in texts]

    def check(self) -> str:
        return "prefers"


class FakeQueue:
    """Queue that keeps published messages in a list."""

    def __init__(self) -> None:
        self.messages: list[tuple[bytes, Mapping[str, str]]] = []
        self.away = False

    @property
    def decoded(self) -> list[IngestMessage]:
        """Return the messages as `ingest` reads them."""
        return [
            decode(Published(message_id="", data=data, attributes=attributes)) for data, attributes in self.messages
        ]

    @property
    def published(self) -> list[tuple[str, tuple[IngestRequest, ...]]]:
        """Return the namespace and requests of each message."""
        return [(message.namespace, message.requests) for message in self.decoded]

    def publish(self, namespace: str, readings: Sequence[Reading], publisher: Publisher | None = None) -> None:
        span = current_trace()
        self.republish(*encode(namespace, readings, span.traceparent if span else "", publisher))

    def check(self) -> str:
        if self.away:
            raise Unavailable("the queue is away")
        return "in memory"

    def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        if self.away:
            raise Unavailable("the queue is away: nothing was stored")
        self.messages.append((data, attributes))


class FakeOutcomes:
    """A Topic that keeps the published outcomes in a list."""

    def __init__(self) -> None:
        self.told: list[Outcome] = []
        self.away = False

    def publish(self, outcomes: Sequence[Outcome]) -> None:
        if self.away:
            raise Unavailable("the topic did not accept a message")
        self.told += outcomes


def memories_in(pool: "Pool", namespace: str = "ns", space: EmbeddingSpace = FAKE_SPACE) -> "MemoryStore":
    """Return the memory store of a namespace in the database to which the pool has connections."""
    from mnemosyne.adapters.database.memories import MemoryStore
    from mnemosyne.adapters.database.memory_database import MemoryDatabase

    return MemoryStore(MemoryDatabase(pool, space), namespace)


def store_of(memories: "MemoryStore", namespace: str) -> "MemoryStore":
    """Return the store of another namespace in the same database."""
    return type(memories)(memories.database, namespace)


class NoStore:
    """Placeholder for the store in tests without a store. The test fails if the code under test uses the store."""

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"this test has no store, but uses `{name}` of one: take the fixture `services`")


class FakeServices:
    """The services that a tool uses: the test's store, if it has one, and fakes in memory for the other services."""

    def __init__(self, memories: "MemoryStore | None" = None) -> None:
        self.queue = FakeQueue()
        self.memories: MemoryStore = cast("MemoryStore", NoStore()) if memories is None else memories
        self.embedder = FakeEmbedder()
        self.reranker: FakeReranker | None = None
        self.outcome_topic: FakeOutcomes | None = None
        self.now = NOW

    def memories_of(self, namespace: str) -> "MemoryStore":
        return self.memories if isinstance(self.memories, NoStore) else store_of(self.memories, namespace)

    @property
    def embedding_space(self) -> EmbeddingSpace:
        return store_of(self.memories, "").database.embedding_space

    def known_quota(self, namespace: str) -> Quota | None:
        return (
            None if isinstance(self.memories, NoStore) else store_of(self.memories, "").database.known_quota(namespace)
        )

    @property
    def pool(self) -> Any:
        return store_of(self.memories, "").database.pool

    def clock(self) -> datetime:
        return self.now


def request(content: str, **fields: object) -> IngestRequest:
    """Return a valid request to ingest a memory with this content."""
    values: dict[str, object] = {"timestamp": NOW, "tags": (), "title": None, "metadata": None, **fields}
    return IngestRequest.of(new_id(), content=content, **values)  # type: ignore[arg-type]
