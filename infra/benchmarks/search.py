"""Measure searches on real text: the database's CPU time by kind of search and size of namespace, and the recall.

Namespaces of different sizes share one database. Each round asks one question by each kind of search in each namespace,
one after the other, so that changes in the machine's speed affect all equally.
"""

import itertools
import json
import resource
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from infra.benchmarks.corpus import questions, texts
from infra.benchmarks.database import new_database, opened, owner_of
from infra.benchmarks.figures import Figure
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder
from mnemosyne.cli.local import postgres
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery
from mnemosyne.ids import new_id
from mnemosyne.ports.embedder import Vector
from mnemosyne.service import ingest, search

BATCH = 100
NARROW = 50
"""Number of a namespace's memories with the tag `narrow`. A tenth of the memories have the tag `tenth`."""
PART = 10_000
"""Number of requests to ingest that are created at a time, so that few of them are in the computer's memory."""
WRITERS = 2
LARGE = 1_000_000
"""From this number of memories on, the goal of recall is lower: at the same cost, a search finds a smaller share."""
SMALL = 20_000
"""Up to this number of memories, as in CI, the name of a figure does not contain the number."""
SESSION = 25
"""Number of memories per session, in the namespace with sessions."""
BARE = """
SELECT id FROM memories WHERE namespaced_tags(namespace, tag_keys) && namespaced_tags(:namespace, ARRAY[:key])
ORDER BY embedding <=> CAST(:vector AS halfvec) LIMIT 10
"""
EXACT = """
SELECT id FROM memories
WHERE namespace = :namespace AND tag_keys @> CAST(:tags AS text[]) AND "timestamp" >= CAST(:after AS timestamptz)
ORDER BY (embedding <=> CAST(:vector AS halfvec)) + 0 LIMIT 10
"""
GOALS = (
    ("hybrid", "semantic"),
    ("narrow", "bare narrow"),
    ("a tenth", "semantic"),
    ("a period", "semantic"),
    ("hybrid, a tenth", "hybrid"),
)
"""Pairs of kinds of search. The first may cost at most twice as much as the second."""
START = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass
class Bench:
    """A store, its embedder, a connection as the schema's owner, and the processes whose CPU time is measured."""

    database: MemoryDatabase
    embedder: OfflineEmbedder
    owner: Connection
    processes: tuple[int, ...]
    writers: int = 1
    """Number of concurrent writers, at most the number of connections."""

    def cpu(self) -> float:
        """Return the CPU time of `processes` in milliseconds: https://docs.kernel.org/scheduler/sched-stats.html."""
        return sum(int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) for process in self.processes) / 1e6

    def cost(self, work: Callable[[], object]) -> float:
        """Call `work`, and return the CPU milliseconds that the measured PostgreSQL processes use for it."""
        before = self.cpu()
        work()
        return self.cpu() - before

    def memories_of(self, namespace: str) -> MemoryStore:
        """Return the store of a namespace's memories."""
        return MemoryStore(self.database, namespace)

    def vector(self, namespace: str, question: str) -> Vector:
        """Return the question's embedding."""
        return self.embedder.for_namespace(namespace).embed_query(question)

    def search(self, namespace: str, question: str, vector: Vector | None, **options: object) -> list[str]:
        """Search and return the ids of the hits."""
        query = SearchQuery(query=question, **options)  # type: ignore[arg-type]
        memories = self.memories_of(namespace)
        ranked, _ = search.rank(query, vector, memories=memories, model=self.embedder.model, lexical_weight=0.5)
        return [str(hit.id) for hit in memories.read_hits(query, ranked[: query.limit])]


def measured_bench(memories: MemoryDatabase, embedder: OfflineEmbedder, owner: Connection) -> Bench:
    """Return a Bench that measures the CPU time of two connections: `owner`, and the only connection of `memories`."""
    with memories.pool.connection() as connection:
        processes = tuple(int(backend.run("SELECT pg_backend_pid()")[0][0]) for backend in (connection, owner))
    return Bench(memories, embedder, owner, processes)


def fill(bench: Bench, contents: Mapping[str, Sequence[str]]) -> None:
    """Store the texts of each namespace without a vector index, and build the index afterwards."""
    bench.owner.script("DROP INDEX memories_embedding; SET maintenance_work_mem = '2GB'")
    for namespace, texts_ in contents.items():
        store(bench, namespace, texts_)
    bench.owner.script(
        "CREATE INDEX memories_embedding ON memories USING hnsw (embedding halfvec_cosine_ops)"
        " WITH (m = 16, ef_construction = 200)"
    )
    bench.owner.script("VACUUM ANALYZE")


def store(bench: Bench, namespace: str, contents: Sequence[str], *, sessions: bool = False) -> float:
    """Store the texts, and return how many were stored per second."""
    began = time.perf_counter()
    for start in range(0, len(contents), PART):
        numbers = range(start, min(start + PART, len(contents)))
        requests = [_request(n, contents[n], len(contents), sessions=sessions) for n in numbers]
        messages = [IngestMessage(namespace, tuple(requests[at : at + BATCH])) for at in range(0, len(requests), BATCH)]
        memories = bench.memories_of(namespace)
        with ThreadPoolExecutor(bench.writers) as writers:
            list(writers.map(partial(ingest.store, memories=memories, embedder=bench.embedder), messages))
    return len(contents) / (time.perf_counter() - began)


def _request(n: int, content: str, count: int, *, sessions: bool) -> IngestRequest:
    tags = [name for name, every in (("narrow", count // NARROW), ("tenth", 10)) if n % every == 0]
    session = f"session {n // SESSION}" if sessions else None
    return IngestRequest.of(
        new_id(), content=content, timestamp=START + timedelta(minutes=n), tags=tags, session=session
    )


def newest_tenth(size: int) -> datetime:
    """Return the timestamp of the oldest memory in the newest tenth of a namespace of `size` memories."""
    return START + timedelta(minutes=size - size // 10)


def search_costs(bench: Bench, namespace: str, size: int, question: str) -> dict[str, float]:
    """Make each kind of search for a question, among `size` memories. Return the database's CPU milliseconds."""
    vector = bench.vector(namespace, question)
    narrow, text = Filters(tags=("narrow",)), json.dumps(vector.tolist())
    tag, period = Filters(tags=("tenth",)), Filters(after=newest_tenth(size))
    ways: dict[str, Callable[[], object]] = {
        "semantic": lambda: bench.search(namespace, question, vector, mode=SearchMode.SEMANTIC),
        "hybrid": lambda: bench.search(namespace, question, vector, mode=SearchMode.HYBRID),
        "words": lambda: bench.search(namespace, question, None, mode=SearchMode.HYBRID),
        "narrow": lambda: bench.search(namespace, question, vector, mode=SearchMode.SEMANTIC, filters=narrow),
        "a tenth": lambda: bench.search(namespace, question, vector, mode=SearchMode.SEMANTIC, filters=tag),
        "a period": lambda: bench.search(namespace, question, vector, mode=SearchMode.SEMANTIC, filters=period),
        "hybrid, a tenth": lambda: bench.search(namespace, question, vector, mode=SearchMode.HYBRID, filters=tag),
        "bare narrow": lambda: bench.owner.run(BARE, namespace=namespace, key="narrow", vector=text),
        "absent substring": lambda: bench.search(namespace, question[::-1], None, mode=SearchMode.EXACT),
        "statistics": lambda: bench.memories_of(namespace).stats(),
    }
    return {name: bench.cost(way) for name, way in ways.items()}


@contextmanager
def writing_bench(
    server: postgres.EmbeddedPostgres, embedder: OfflineEmbedder, database: str = postgres.DATABASE
) -> Iterator[Bench]:
    """Yield a Bench with new connections for WRITERS concurrent writers. It measures no CPU time."""
    with owner_of(server, database) as owner, opened(server, SPACE, WRITERS, database=database) as memories:
        yield Bench(memories, embedder, owner, (), WRITERS)


def rates(bench: Bench, contents: Sequence[str]) -> list[float]:
    """Store the contents ten times, in a table that has its vector index. Return ten rates in memories per second."""
    return [store(bench, "kept", [f"{n} {content}" for content in contents]) for n in range(10)]


def with_sessions(bench: Bench, contents: Sequence[str], query_texts: Sequence[str]) -> list[float]:
    """Store memories in sessions. Return the cost of hybrid searches divided by the cost of semantic searches.

    The memories are stored last, in a separate namespace. All namespaces share one vector index.
    """
    store(bench, "sessions", contents, sessions=True)
    bench.owner.script("VACUUM ANALYZE")
    ratios = []
    for question in [*query_texts[:3], *query_texts]:  # the first three questions only fill caches
        costs = search_costs(bench, "sessions", len(contents), question)
        ratios.append(costs["hybrid"] / costs["semantic"])
    return ratios[3:]


def recall(bench: Bench, namespace: str, query_texts: Sequence[str], filters: Filters | None = None) -> list[float]:
    """Return the share of the true ten nearest memories that a search by meaning finds, for each question.

    `filters` must set nothing except the tags and `after`, because the exact search ignores all other filters.
    """
    shares, filters = [], filters or Filters()
    since = filters.after or START
    for question in query_texts:
        vector = bench.vector(namespace, question)
        text = json.dumps(vector.tolist())
        rows = bench.owner.run(EXACT, namespace=namespace, tags=list(filters.tags), after=since, vector=text)
        true = {str(row["id"]) for row in rows}
        hit_ids = bench.search(namespace, question, vector, mode=SearchMode.SEMANTIC, filters=filters)
        shares.append(len(true & set(hit_ids)) / len(true))
    return shares


def figures(sizes: Sequence[int], rounds: int) -> list[Figure]:
    """Measure searches in namespaces of these sizes, each ten times as large as the previous one.

    If all namespaces together have more than SMALL memories, the names of the figures contain the total.
    """
    among = f", among {sum(sizes):,}" if sum(sizes) > SMALL else ""
    return [replace(figure, name=f"{figure.name}{among}") for figure in _measure(sizes, rounds)]


def _measure(sizes: Sequence[int], rounds: int) -> list[Figure]:
    corpus = texts(sizes[-1] + rounds + sizes[1])
    query_texts = questions(corpus[sizes[-1] :], rounds)
    costs: dict[tuple[int, str], list[float]] = defaultdict(list)
    with new_database(SPACE) as (server, directory):
        embedder = OfflineEmbedder(directory.path / "words.bin")
        with writing_bench(server, embedder) as writers:
            fill(writers, {f"n{size}": corpus[:size] for size in sizes})
        with opened(server, SPACE) as memories, owner_of(server) as owner:
            bench = measured_bench(memories, embedder, owner)
            for number, question in enumerate([*query_texts[:3], *query_texts]):  # the first 3 questions fill caches
                for size in sizes:
                    for way, cost in search_costs(bench, f"n{size}", size, question).items():
                        if number >= 3:
                            costs[size, way].append(cost)
            shares = {
                (size, name): recall(bench, f"n{size}", query_texts, filters)
                for size in sizes
                for name, filters in (
                    ("", Filters()),
                    (" and a tenth's tag", Filters(tags=("tenth",))),
                    (" and a tenth's period", Filters(after=newest_tenth(size))),
                )
            }
            session_ratios = with_sessions(bench, corpus[-sizes[1] :], query_texts)
        with writing_bench(server, embedder) as writers:
            after = rates(writers, corpus[-sizes[0] :])
            writers.owner.script("TRUNCATE memories CASCADE")
            fill(writers, {f"n{size}": corpus[:size] for size in sizes[:-1]})
            before = rates(writers, corpus[-sizes[0] :])
    _print(sizes, costs)
    results = [*_ratios(sizes, costs), Figure.of(f"hybrid with sessions / semantic, {sizes[1]:,}", session_ratios, 2.0)]
    results += [_recall(size, name, recalls) for (size, name), recalls in shares.items()]
    results.append(
        Figure.of(
            f"stored a second, index kept, after {sizes[-1]:,} / after {sizes[-2]:,}",
            [late / early for late, early in zip(after, before, strict=True)],
            more_is_better=True,
        )
    )
    return results


def _ratios(sizes: Sequence[int], costs: dict[tuple[int, str], list[float]]) -> list[Figure]:
    results = []
    for size in sizes:
        for above, below in GOALS:
            pairs = zip(costs[size, above], costs[size, below], strict=True)
            results.append(Figure.of(f"{above} / {below}, {size:,}", [a / b for a, b in pairs], 2.0))
        for above in ("words", "absent substring", "statistics"):
            pairs = zip(costs[size, above], costs[size, "semantic"], strict=True)
            results.append(Figure.of(f"{above} / semantic, {size:,}", [a / b for a, b in pairs]))
    for smaller, larger in itertools.pairwise(sizes):
        for way, goal in (("semantic", 1.3), ("hybrid", 1.6)):
            pairs = zip(costs[larger, way], costs[smaller, way], strict=True)
            results.append(Figure.of(f"{way}, {larger:,} / {smaller:,}", [a / b for a, b in pairs], goal))
    return results


def share(name: str, shares: Sequence[float], goal: float) -> Figure:
    """Return a figure with the mean recall, and with a spread of twice the standard error on both sides."""
    mean = statistics.fmean(shares)
    spread = 2 * statistics.pstdev(shares) / len(shares) ** 0.5
    return Figure(name, mean, mean - spread, mean + spread, goal, more_is_better=True)


def _recall(size: int, name: str, shares: Sequence[float]) -> Figure:
    return share(f"recall@10 by meaning{name}, {size:,}", shares, 0.99 if size < LARGE else 0.97)


def _print(sizes: Sequence[int], costs: dict[tuple[int, str], list[float]]) -> None:
    print("Milliseconds of the backend's CPU, medians:")
    for way in dict.fromkeys(way for _, way in costs):
        row = "".join(f"{statistics.median(costs[size, way]):12.2f}" for size in sizes)
        print(f"  {way:20}{row}")
    print(f"  peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
