"""Compare the rate of the whole ingestion, from publishing to storage, with the rate of plain SQL upserts.

A second comparison is between Mnemosyne's upsert and an upsert by a faster driver, asyncpg. Every figure is a ratio of
two measurements of the same round, because absolute times depend on the machine.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime

import asyncpg
import fasteners
import numpy as np
import pg8000.dbapi
import pgvector.asyncpg
from pgvector import HalfVector

from infra.benchmarks import corpus
from infra.benchmarks.database import new_database
from infra.benchmarks.figures import Figure
from mnemosyne.adapters.database import ingest_sql, memories_sql, rows
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.insertion import binary_rows
from mnemosyne.adapters.embedders.offline import SPACE as OFFLINE
from mnemosyne.adapters.embedders.offline import OfflineEmbedder
from mnemosyne.adapters.queues.local import LocalQueue
from mnemosyne.cli.local import functions, postgres, services, stack
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.cli.local.delivery import Delivery
from mnemosyne.cli.local.functions import FunctionProcess
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.ids import new_id
from mnemosyne.ports.embedder import Vector

SPACE = EmbeddingSpace("offline", "bench", 768)
BATCH = 100
NAMESPACE = "default"

# The SQL of the plain upserts with pg8000 and asyncpg. It is hand-written, and uses none of Mnemosyne's code.
_COLUMNS = (
    "id", "namespace", '"timestamp"', "content", "title", "content_hash", "embedding_model", "embedding",
)  # fmt: skip
_BARE_INSERT = f"INSERT INTO memories ({', '.join(_COLUMNS)}) VALUES "
_BARE_CONFLICT = " ON CONFLICT (namespace, content_hash) DO UPDATE SET last_seen_at = now()"
BARE_PG8000 = f"{_BARE_INSERT}(%s, %s, %s, %s, %s, %s, %s, CAST(%s AS halfvec)){_BARE_CONFLICT}"
# asyncpg copies rows into a temporary table. It needs the names of the table's columns without the quotes of SQL.
_INCOMING = [column.strip('"') for column in _COLUMNS]
CREATE_BARE_INCOMING = f"""
CREATE TEMPORARY TABLE incoming ON COMMIT DELETE ROWS AS SELECT {", ".join(_COLUMNS)} FROM memories WITH NO DATA
"""

Row = tuple[IngestRequest, Vector]


def make_rows(count: int, dimension: int) -> list[Row]:
    """Create memories of real text, each with a random embedding."""
    random = np.random.default_rng(7)
    memory_rows = []
    for n, paragraph in enumerate(corpus.texts(count)):
        text = f"memory {n} of {time.time_ns()}: {paragraph}"
        vector = random.standard_normal(dimension).astype(np.float32)
        request = IngestRequest.of(new_id(), content=text, timestamp=datetime(2026, 5, 20, tzinfo=UTC))
        memory_rows.append((request, np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)))
    return memory_rows


def batches(memory_rows: Sequence[Row], size: int = BATCH) -> list[Sequence[Row]]:
    """Split rows of memories into batches of at most `size` rows."""
    return [memory_rows[start : start + size] for start in range(0, len(memory_rows), size)]


def rate(count: int, work: Callable[[], object]) -> float:
    """Call `work`, which processes `count` rows, and return the rows per second."""
    start = time.perf_counter()
    work()
    return count / (time.perf_counter() - start)


def _values(request: IngestRequest) -> tuple[object, ...]:
    """Return the values of a memory for all columns in _COLUMNS except the last (`embedding`)."""
    return (new_id(), NAMESPACE, request.timestamp, request.content, request.title, request.content_hash, "bench")


def upsert_rates(server: postgres.EmbeddedPostgres, count: int, rounds: int) -> dict[str, list[float]]:
    """Return the rows per second of Mnemosyne's upsert and of asyncpg's COPY, one value for each round.

    Both use one connection, batches of 100 rows and tables without vector indexes.
    """
    owner = connection_factory(server.url(postgres.OWNER))()
    owner.script("DROP INDEX memories_embedding, memory_chunks_embedding")
    connection = connection_factory(server.url(postgres.RUNTIME_USER))()
    connection.script(ingest_sql.CREATE_INCOMING)
    rates: dict[str, list[float]] = defaultdict(list)

    def emptied() -> None:
        owner.script("TRUNCATE memories CASCADE")
        owner.script("CHECKPOINT")

    for _ in range(rounds):
        memory_rows = make_rows(count, SPACE.dimension)
        emptied()
        rates["asyncpg COPY"].append(rate(count, lambda: asyncio.run(_asyncpg_copy(server, memory_rows))))  # noqa: B023
        emptied()
        rates["upsert"].append(rate(count, lambda: _upsert(connection, memory_rows)))  # noqa: B023
    connection.close()
    owner.close()
    return rates


async def _asyncpg_copy(server: postgres.EmbeddedPostgres, memory_rows: Sequence[Row]) -> None:
    connection = await asyncpg.connect(
        host=str(server.socket_directory), user=postgres.OWNER, database=postgres.DATABASE
    )
    await pgvector.asyncpg.register_vector(connection)
    await connection.execute(CREATE_BARE_INCOMING)
    for batch in batches(memory_rows):
        async with connection.transaction():
            records = [(*_values(r), HalfVector(v)) for r, v in batch]
            await connection.copy_records_to_table("incoming", records=records, columns=_INCOMING)
            await connection.execute(
                f"INSERT INTO memories ({', '.join(_COLUMNS)}) SELECT {', '.join(_COLUMNS)} FROM incoming"
                f"{_BARE_CONFLICT}"
            )
    await connection.close()


def _upsert(connection: Connection, memory_rows: Sequence[Row]) -> None:
    for batch in batches(memory_rows):
        with connection.transaction():
            connection.run(memories_sql.ENTER_NAMESPACE, namespace=NAMESPACE)
            connection.copy(ingest_sql.COPY_INCOMING, binary_rows((new_id(), *row) for row in batch))
            connection.run(
                ingest_sql.STORE, namespace=NAMESPACE, model="bench", dimension=SPACE.dimension, requests="[]"
            )


def bare_upsert_rate(server: postgres.EmbeddedPostgres, memory_rows: Sequence[Row], size: int, workers: int) -> float:
    """Return the rows per second of plain pg8000 upserts with the vector index. Embeddings are computed beforehand."""

    def work(part: Sequence[Sequence[Row]]) -> None:
        connection = pg8000.dbapi.connect(
            user=postgres.OWNER, database=postgres.DATABASE, unix_sock=f"{server.socket_directory}/.s.PGSQL.5432"
        )
        cursor = connection.cursor()
        for batch in part:
            cursor.executemany(BARE_PG8000, [(*_values(r), rows.vector_text(v)) for r, v in batch])
            connection.commit()
        connection.close()

    parts = batches(memory_rows, size)
    with ThreadPoolExecutor(workers) as pool:
        return rate(len(memory_rows), lambda: list(pool.map(work, [parts[n::workers] for n in range(workers)])))


@contextmanager
def ingest_pipeline(directory: DataDir, server: postgres.EmbeddedPostgres, workers: int) -> Iterator[LocalQueue]:
    """Yield a queue whose messages are pushed to an `ingest` function, at most `workers` messages at the same time."""
    variables = stack.environment(directory, server) | services.login("ingest", server)
    function = FunctionProcess(
        "ingest", host=functions.LOOPBACK, port=functions.free_port(), environment=variables, directory=directory
    )
    function.start()
    queue = LocalQueue(directory.queue)
    delivery_lock = fasteners.InterProcessLock(directory.delivery_lock)
    secret = variables["MNEMOSYNE_PUSH_SECRET"]
    delivery = Delivery(
        queue, function.url, lambda: function.url, delivery_lock=delivery_lock, secret=secret, concurrency=workers
    )
    try:
        function.wait_ready()
        delivery.start()
        yield queue
    finally:
        delivery.stop()
        function.stop()


def end_to_end_ratios(directory: DataDir, server: postgres.EmbeddedPostgres, count: int) -> dict[str, float]:
    """Return the rate from publishing to storage, divided by the rate of plain SQL upserts of the same rows.

    The result has four ratios: with 1 or 100 memories per message, each with 1 worker and with 4 workers.
    """
    ratios = {}
    embedder = OfflineEmbedder(None)
    for size, total in ((1, count // 4), (BATCH, count)):
        for workers in (1, 4):
            requests = [r for r, _ in make_rows(total, OFFLINE.dimension)]
            vectors = embedder.embed_documents([request.content for request in requests])
            by_hand = bare_upsert_rate(server, list(zip(requests, vectors, strict=True)), size, workers)
            owner = connection_factory(server.url(postgres.OWNER))()
            owner.script("TRUNCATE memories CASCADE")
            with ingest_pipeline(directory, server, workers) as queue:
                queue.publish(
                    NAMESPACE, [request for request, _ in make_rows(1, OFFLINE.dimension)]
                )  # the first push is not measured, because the function loads its embedder then
                _wait_stored(owner, 1)
                whole = rate(total, lambda: _publish_and_wait(queue, requests, size, owner))  # noqa: B023
            owner.script("TRUNCATE memories CASCADE")
            owner.close()
            messages = "single messages" if size == 1 else f"batches of {size}"
            ratios[f"{messages}, {workers} worker{'s' * (workers > 1)}"] = whole / by_hand
    return ratios


def _publish_and_wait(queue: LocalQueue, requests: Sequence[IngestRequest], size: int, owner: Connection) -> None:
    for start in range(0, len(requests), size):
        queue.publish(NAMESPACE, requests[start : start + size])
    _wait_stored(owner, len(requests) + 1)


def _wait_stored(owner: Connection, count: int) -> None:
    deadline = time.monotonic() + 300
    while owner.run("SELECT count(*) FROM memories")[0][0] < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not {count} memories within 300 s")
        time.sleep(0.02)


def figures(count: int, rounds: int) -> list[Figure]:
    """Measure the upserts and the whole ingestion with `count` rows per round, and return the ratios."""
    with new_database(SPACE) as (server, _):
        rates = upsert_rates(server, count, rounds)
    upserts = [own / other for own, other in zip(rates["upsert"], rates["asyncpg COPY"], strict=True)]
    results = [Figure.of("upsert / asyncpg COPY", upserts, 0.9, more_is_better=True)]
    ratios: dict[str, list[float]] = defaultdict(list)
    with new_database(OFFLINE) as (server, directory):
        for _ in range(rounds):
            for name, ratio in end_to_end_ratios(directory, server, count).items():
                ratios[name].append(ratio)
    for name, each in ratios.items():
        goal = 0.5 if name.startswith("single") else None
        results.append(Figure.of(f"publish to stored / bare upserts, {name}", each, goal, more_is_better=True))
    return results
