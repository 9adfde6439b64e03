"""Measure the time and memory of storing the largest valid messages of each shape in a large store.

`python -m infra.benchmarks.largest_messages --help` lists the options.

The store is filled by COPY, and its vector indexes are built afterwards. Embeddings are synthetic and clustered, like
embeddings of texts on common subjects. Each message is delivered until it is stored.
"""

import argparse
import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import LiteralString

import numpy as np

from mnemosyne.adapters.database import ingest_sql
from mnemosyne.adapters.database.connections import Connection, Row, connection_factory
from mnemosyne.adapters.database.insertion import binary_rows
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.embedders.gemini import CHUNK_CHARACTERS, RESERVED_TOKENS
from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.chunking import ChunkLimit
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import BATCH_LIMIT, CONTENT_LIMIT, IngestRequest
from mnemosyne.domain.message import encode
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import Unavailable
from mnemosyne.ids import new_id
from mnemosyne.ports.embedder import Vector
from mnemosyne.service import deliveries
from mnemosyne.service.deliveries import Push
from tests.texts import TEXTS

SPACE = EmbeddingSpace("gemini", "gemini-embedding-001", 768)
NAMESPACE = "default"
NOW = datetime(2026, 5, 20, tzinfo=UTC)
CHUNK_LIMIT = ChunkLimit(characters=CHUNK_CHARACTERS, tokens=2_048 - RESERVED_TOKENS)
CLUSTERS = 1_000
PART = 5_000
DELIVERIES = 20
# The build uses fewer candidates (ef_construction) than the schema, so it takes a third of the time. Later insertions
# use the number of the schema.
INDEXES = (
    "CREATE INDEX memories_embedding ON memories USING hnsw (embedding halfvec_cosine_ops)"
    " WITH (m = 16, ef_construction = 40)",
    "ALTER INDEX memories_embedding SET (ef_construction = 200)",
    "CREATE INDEX memory_chunks_embedding ON memory_chunks USING hnsw (embedding halfvec_cosine_ops)"
    " WITH (m = 16, ef_construction = 40)",
    "ALTER INDEX memory_chunks_embedding SET (ef_construction = 200)",
    "CREATE INDEX memories_trigrams ON memories USING gin (content_trigrams(namespace, content))"
    " WITH (fastupdate = off)",
)
STORE = """
INSERT INTO memories (namespace, embedding_model, id, content, "timestamp", title, tags, metadata, session, tag_keys,
    content_hash, embedding, wording)
SELECT :namespace, :model, i.* FROM incoming i
"""
STORE_CHUNKS = """
INSERT INTO memory_chunks (memory_id, chunk_index, namespace, embedding)
SELECT i.id, 1, :namespace, m.embedding FROM incoming i JOIN memories m USING (id)
"""


@dataclass
class ClusteredEmbedder:
    """Vectors around the centres of clusters, chosen by the text's hash. Texts are split into chunks as for Gemini."""

    chunk_limit: ChunkLimit = CHUNK_LIMIT
    model: str = SPACE.model
    dimension: int = SPACE.dimension
    lexical_weight: float = 0.5
    embedded: int = 0
    _centres: Vector = field(init=False)

    def __post_init__(self) -> None:
        self._centres = np.random.default_rng(7).standard_normal((CLUSTERS, self.dimension)).astype(np.float32)

    def for_namespace(self, namespace: str) -> "ClusteredEmbedder":
        """Return itself."""
        return self

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector per text."""
        self.embedded += len(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a text."""
        random = np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
        vector = self._centres[random.integers(CLUSTERS)] + 0.7 * random.standard_normal(self.dimension)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def fill(owner: Connection, count: int, embedder: ClusteredEmbedder) -> None:
    """Fill the store by COPY with memories of a namespace, each with a second chunk, and build the indexes."""
    owner.script("DROP INDEX memories_embedding, memory_chunks_embedding, memories_trigrams")
    owner.script(ingest_sql.CREATE_INCOMING)
    owner.script("SET maintenance_work_mem = '2GB'")
    words = [word for shapes in ("English", "code") for word in TEXTS[shapes][2](Random(7), 60_000).split()]
    random = Random(11)
    for start in range(0, count, PART):
        with owner.transaction():
            texts = [f"{n} {' '.join(random.choices(words, k=60))}" for n in range(start, min(start + PART, count))]
            rows = [
                (new_id(), IngestRequest.of(new_id(), content=text, timestamp=NOW + timedelta(seconds=n)), vector)
                for n, (text, vector) in enumerate(zip(texts, embedder.embed_documents(texts), strict=True), start)
            ]
            owner.copy(ingest_sql.COPY_INCOMING, binary_rows(rows))
            owner.run(STORE, namespace=NAMESPACE, model=embedder.model)
            owner.run(STORE_CHUNKS, namespace=NAMESPACE)
        print(f"filled {start + len(rows)}", flush=True)
    for statement in INDEXES:
        owner.script(statement)
        print(statement[:40], flush=True)
    owner.script("VACUUM ANALYZE")
    owner.script("CHECKPOINT")


def messages() -> Iterator[tuple[str, list[str]]]:
    """Yield the name and contents of the largest valid message of each shape."""
    random = Random(time.time_ns())  # the contents differ in each run
    for kind, shapes in TEXTS.items():
        for number, shape in enumerate(shapes):
            text = f"{random.random()} {shape(random, CONTENT_LIMIT)}".replace("\0", " ")[:CONTENT_LIMIT]
            yield f"one memory of {len(text):,} characters: {kind} {number}", [text]
    english, digits = TEXTS["English"][1], TEXTS["digits"][0]
    yield "100 memories of 90 kB: English", [english(random, 89_500) for _ in range(BATCH_LIMIT)]
    yield "100 memories of 90 kB: digits", [digits(random, 89_500) for _ in range(BATCH_LIMIT)]
    yield "88 memories of 99,000 characters: English", [english(random, 99_000) for _ in range(88)]
    yield "100 memories of one word", [f"word{random.random()}" for _ in range(BATCH_LIMIT)]


@dataclass
class Recorder:
    """Records durations in seconds of the connections' transactions and statements."""

    transactions: list[float] = field(default_factory=list)
    statements: list[float] = field(default_factory=list)

    def watch(self) -> None:
        """Record the transactions and statements of all connections from now on."""
        transaction, run = Connection.transaction, Connection.run

        @contextmanager
        def timed_transaction(connection: Connection) -> Iterator[None]:
            start = time.perf_counter()
            with transaction(connection):
                yield
            self.transactions.append(time.perf_counter() - start)

        def timed_run(connection: Connection, sql: LiteralString, **parameters: object) -> list[Row]:
            start = time.perf_counter()
            rows = run(connection, sql, **parameters)
            self.statements.append(time.perf_counter() - start)
            return rows

        setattr(Connection, "transaction", timed_transaction)  # noqa: B010 - mypy takes no assignment to a method
        setattr(Connection, "run", timed_run)  # noqa: B010


@dataclass
class Subscriber:
    """The services that the function for a pushed message uses."""

    database: MemoryDatabase
    embedder: ClusteredEmbedder
    outcome_topic: None = None

    def memories_of(self, namespace: str) -> PostgresMemories:
        """Return the store of a namespace."""
        return PostgresMemories(self.database, namespace)


def deliver(contents: Sequence[str], subscriber: Subscriber) -> tuple[int, Counter[str]]:
    """Push a message until it is stored, and return the number of deliveries and the outcomes by state."""
    requests = [IngestRequest.of(new_id(), content=content, timestamp=NOW) for content in contents]
    data, attributes = encode(NAMESPACE, requests, "")
    message = Published(message_id=str(new_id()), data=data, attributes=attributes)
    for delivery in range(1, DELIVERIES + 1):
        try:
            deliveries.store(Push(message, delivery), subscriber)  # type: ignore[arg-type]
        except Unavailable as exc:
            print(f"  delivery {delivery}: {exc}", flush=True)
            continue
        statuses = subscriber.memories_of(NAMESPACE).statuses([request.request_id for request in requests])
        return delivery, Counter(status.state.value for status in statuses.values())
    raise RuntimeError(f"not stored in {DELIVERIES} deliveries")


def measure(subscriber: Subscriber, only: str) -> None:
    """Store each message whose name contains `only`, and print its time and memory."""
    recorder = Recorder()
    recorder.watch()
    for name, contents in messages():
        if only not in name:
            continue
        recorder.transactions.clear()
        recorder.statements.clear()
        before, start = subscriber.embedder.embedded, time.perf_counter()
        deliveries, outcomes = deliver(contents, subscriber)
        print(
            f"{name}: {subscriber.embedder.embedded - before:,} chunks, {deliveries} deliveries, {dict(outcomes)}, "
            f"{time.perf_counter() - start:.1f} s; {len(recorder.transactions)} transactions, the longest "
            f"{max(recorder.transactions):.2f} s, the longest statement {max(recorder.statements):.2f} s",
            flush=True,
        )


def main() -> None:
    """Fill the store unless it is full, then measure the messages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", required=True, help="where the store is, or is made")
    parser.add_argument("--memories", type=int, default=100_000, help="memories of the store [100000]")
    parser.add_argument("--characters", type=int, help="characters of a chunk, in place of Gemini's limit")
    parser.add_argument("--only", default="", help="only the messages whose name contains this")
    arguments = parser.parse_args()
    server = postgres.start(DataDir.at(arguments.data_dir))
    try:
        postgres.prepare(server, SPACE)
        embedder = ClusteredEmbedder()
        if arguments.characters:
            embedder.chunk_limit = ChunkLimit(characters=arguments.characters)
        owner = connection_factory(server.url(postgres.OWNER), socket_timeout=None, statement_seconds=0)()
        if owner.one("SELECT count(*) AS n FROM memories")["n"] < arguments.memories:
            fill(owner, arguments.memories, embedder)
        owner.close()
        pool = Pool(connection_factory(server.url("ingest")), 8)
        measure(Subscriber(MemoryDatabase(pool, SPACE), embedder), arguments.only)
        pool.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
