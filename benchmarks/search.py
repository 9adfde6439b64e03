"""What a search costs: the backend's CPU time by kind and size, growth, recall, and statistics, on real text.

Namespaces of growing size share one database. Each round asks one question in each way and size, one after the other,
so that the machine's moods fall on all alike.
"""

import itertools
import json
import resource
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.corpus import questions, texts
from benchmarks.figures import Figure
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery
from mnemosyne.ids import new_id
from mnemosyne.ports import Vector
from mnemosyne.service import ingest
from mnemosyne_cli.local import postgres
from mnemosyne_cli.local.data_dir import DataDir

BATCH = 100
NARROW = 50
"""Every so many memories one has the tag that few have."""
SESSION = 25
"""How many memories a session has, in the namespace that has sessions."""
BARE = """
SELECT id FROM memories WHERE namespace = :namespace AND tag_keys && ARRAY[:key]
ORDER BY embedding <=> CAST(:vector AS halfvec) LIMIT 10
"""
EXACT = """
SELECT id FROM memories WHERE namespace = :namespace ORDER BY (embedding <=> CAST(:vector AS halfvec)) + 0 LIMIT 10
"""
START = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass
class Bench:
    """A store, its embedder, a connection for bare statements, and the processes of both backends."""

    memories: PostgresMemories
    embedder: OfflineEmbedder
    owner: Connection
    processes: tuple[int, ...]

    def cpu(self) -> float:
        """Milliseconds that the backends have computed: https://docs.kernel.org/scheduler/sched-stats.html."""
        return sum(int(Path(f"/proc/{one}/schedstat").read_text().split()[0]) for one in self.processes) / 1e6

    def cost(self, work: Callable[[], object]) -> float:
        """Milliseconds of the backend's CPU that the work takes."""
        before = self.cpu()
        work()
        return self.cpu() - before

    def vector(self, namespace: str, question: str) -> Vector:
        """The question's embedding."""
        return self.embedder.for_namespace(namespace).embed_query(question)

    def search(self, namespace: str, question: str, vector: Vector | None, **asked: object) -> list[str]:
        """The ids found."""
        query = SearchQuery(query=question, **asked)  # type: ignore[arg-type]
        found = self.memories.search(namespace, query, vector, model=self.embedder.model, lexical_weight=0.5)
        return [str(hit.id) for hit in found.hits]


def fill(bench: Bench, sizes: Mapping[str, int], corpus: Sequence[str]) -> None:
    """Store the first so many texts in each namespace; the vector index is made anew afterwards."""
    bench.owner.script("DROP INDEX memories_embedding")
    for namespace, size in sizes.items():
        _fill(bench, namespace, corpus[:size], sessions=False)
    bench.owner.script(
        "CREATE INDEX memories_embedding ON memories USING hnsw (embedding halfvec_cosine_ops)"
        " WITH (m = 16, ef_construction = 200)"
    )
    bench.owner.script("VACUUM ANALYZE")


def _fill(bench: Bench, namespace: str, contents: Sequence[str], *, sessions: bool) -> None:
    made = [
        IngestRequest.of(
            new_id(),
            content=content,
            timestamp=START + timedelta(minutes=n),
            tags=("narrow",) if n % (len(contents) // NARROW) == 0 else (),
            session=f"session {n // SESSION}" if sessions else None,
        )
        for n, content in enumerate(contents)
    ]
    for start in range(0, len(made), BATCH):
        message = IngestMessage(namespace, tuple(made[start : start + BATCH]))
        ingest.store(message, memories=bench.memories, embedder=bench.embedder)


def ask(bench: Bench, namespace: str, question: str) -> dict[str, float]:
    """The cost of one question in every way."""
    vector = bench.vector(namespace, question)
    narrow, text = Filters(tags=("narrow",)), json.dumps(vector.tolist())
    ways: dict[str, Callable[[], object]] = {
        "semantic": lambda: bench.search(namespace, question, vector, mode=SearchMode.SEMANTIC),
        "hybrid": lambda: bench.search(namespace, question, vector, mode=SearchMode.HYBRID),
        "words": lambda: bench.search(namespace, question, None, mode=SearchMode.HYBRID),
        "narrow": lambda: bench.search(namespace, question, vector, mode=SearchMode.SEMANTIC, filters=narrow),
        "bare narrow": lambda: bench.owner.run(BARE, namespace=namespace, key="narrow", vector=text),
        "absent substring": lambda: bench.search(namespace, question[::-1], None, mode=SearchMode.EXACT),
        "statistics": lambda: bench.memories.stats(namespace),
    }
    return {name: bench.cost(way) for name, way in ways.items()}


def with_sessions(bench: Bench, contents: Sequence[str], asked: Sequence[str]) -> list[float]:
    """What a hybrid search costs more than one by meaning where it looks at what stands around what it finds.

    In a namespace of its own, stored last: it shares the vector index with all others.
    """
    _fill(bench, "sessions", contents, sessions=True)
    bench.owner.script("VACUUM ANALYZE")
    ratios = []
    for question in [*asked[:3], *asked]:  # the first three warm the caches
        costs = ask(bench, "sessions", question)
        ratios.append(costs["hybrid"] / costs["semantic"])
    return ratios[3:]


def recall(bench: Bench, namespace: str, asked: Sequence[str]) -> list[float]:
    """The share of the true ten nearest that a search by meaning finds, of each question."""
    shares = []
    for question in asked:
        vector = bench.vector(namespace, question)
        rows = bench.owner.run(EXACT, namespace=namespace, vector=json.dumps(vector.tolist()))
        true = {str(row[0]) for row in rows}
        shares.append(len(true & set(bench.search(namespace, question, vector, mode=SearchMode.SEMANTIC))) / len(true))
    return shares


def figures(sizes: Sequence[int], rounds: int) -> list[Figure]:
    """Measure at those sizes, each ten times the one before."""
    corpus = texts(sizes[-1] + rounds + sizes[1])
    asked = questions(corpus[sizes[-1] :], rounds)
    costs: dict[tuple[int, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="mnemosyne-bench-") as scratch:
        server = postgres.start(DataDir.at(scratch))
        try:
            postgres.prepare(server, SPACE)
            owner = connection_factory(server.url(postgres.OWNER), socket_timeout=None, statement_seconds=0)()
            pool = Pool(connection_factory(server.url(postgres.RUNTIME_USER)), 1)
            with pool.connection() as connection:
                processes = tuple(int(one.run("SELECT pg_backend_pid()")[0][0]) for one in (connection, owner))
            embedder = OfflineEmbedder(Path(scratch) / "words.bin")
            bench = Bench(PostgresMemories(pool, SPACE), embedder, owner, processes)
            fill(bench, {f"n{size}": size for size in sizes}, corpus)
            for number, question in enumerate([*asked[:3], *asked]):  # the first three warm the caches
                for size in sizes:
                    for way, cost in ask(bench, f"n{size}", question).items():
                        if number >= 3:
                            costs[size, way].append(cost)
            shares = {size: recall(bench, f"n{size}", asked) for size in sizes}
            around = with_sessions(bench, corpus[-sizes[1] :], asked)
        finally:
            server.stop()
    _print(sizes, costs)
    beside = Figure.of(f"hybrid with sessions / semantic, {sizes[1]:,}", around)
    return [*_ratios(sizes, costs), beside, *(_recall(size, shares[size]) for size in sizes)]


def _ratios(sizes: Sequence[int], costs: dict[tuple[int, str], list[float]]) -> list[Figure]:
    made = []
    for size in sizes:
        for above, below, goal in (("hybrid", "semantic", 2.0), ("narrow", "bare narrow", 2.0)):
            pairs = zip(costs[size, above], costs[size, below], strict=True)
            made.append(Figure.of(f"{above} / {below}, {size:,}", [a / b for a, b in pairs], goal))
        for above in ("words", "absent substring", "statistics"):
            pairs = zip(costs[size, above], costs[size, "semantic"], strict=True)
            made.append(Figure.of(f"{above} / semantic, {size:,}", [a / b for a, b in pairs]))
    for smaller, larger in itertools.pairwise(sizes):
        for way, goal in (("semantic", 1.3), ("hybrid", 1.6)):
            pairs = zip(costs[larger, way], costs[smaller, way], strict=True)
            made.append(Figure.of(f"{way}, {larger:,} / {smaller:,}", [a / b for a, b in pairs], goal))
    return made


def _recall(size: int, shares: Sequence[float]) -> Figure:
    mean = statistics.fmean(shares)
    spread = 2 * statistics.pstdev(shares) / len(shares) ** 0.5
    return Figure(f"recall@10 by meaning, {size:,}", mean, mean - spread, mean + spread, 0.99, more_is_better=True)


def _print(sizes: Sequence[int], costs: dict[tuple[int, str], list[float]]) -> None:
    print("Milliseconds of the backend's CPU, medians:")
    for way in dict.fromkeys(way for _, way in costs):
        row = "".join(f"{statistics.median(costs[size, way]):12.2f}" for size in sizes)
        print(f"  {way:20}{row}")
    print(f"  peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
