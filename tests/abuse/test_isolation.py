"""A tenant's memories do not change another tenant's responses.

Each pair of stores has one store with both tenants and one store with only one tenant. Its responses must be equal.

`ISOLATION_PAIRS` is the number of pairs. `.ci/run noise` makes 200. Each fourth pair has the same kind of attack.
"""

import itertools
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, LiteralString

import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from mnemosyne.service import ingest
from tests.fakes import FakeEmbedder, FakeServices, memories_in, request, store_of
from tests.mcp_app import CALLERS
from tests.searching import find

WORDS = ["tea", "cup", "train", "Lisbon", "flat", "Ada", "dog", "walk", "violin", "garden", "paint", "letter", "winter"]
RARE = [f"zyx{n}" for n in range(30)]
SEARCHES = [
    *(f"find_candidates('ada', '{mode}', 'tea', '{{}}', vector, 'fake', '{{}}', 10, 100)" for mode in SearchMode),
    "read_hits('ada', ARRAY[id], 'tea', 99, false, NULL)",
    "complete_word('ada', '{}', 'te', 8)",
    "neighbours('ada', id)",
]
SEQUENTIAL_SCANS = "SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'memories'"
TIMED = ("embed_ms", "database_ms", "total_ms")
# Fields whose values differ between runs, so that they are not compared: ids, and values derived from ids or the clock.
_DRAWN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|begins with [0-9a-f]{16}")


class Scenario:
    """Ada's memories and questions, and Bob's memories that could disturb her searches, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.seed = seed
        self.ada = [self._memory() for _ in range(self._random.randint(1, 12))]
        self.questions = [*self._random.choices(WORDS, k=3), *self._random.choices(RARE, k=2), self.ada[0][:20]]
        self.bob = self._disturbing_contents()

    def _memory(self) -> str:
        words = self._random.choices(WORDS, k=self._random.randint(3, 10)) + self._random.choices(RARE, k=1)
        return " ".join(words) + " and so on" * self._random.choice([0, 0, 0, 30])

    def _disturbing_contents(self) -> list[str]:
        """Return contents of Bob that would change Ada's results if their namespaces were not isolated."""
        kind = self.seed % 4
        if kind == 0:  # Ada's rare words, to make them common
            return [f"{word} {number}" for number in range(3) for word in RARE]
        if kind == 1:  # Ada's contents
            return list(self.ada)
        if kind == 2:  # contents very similar to Ada's questions
            return [f"{question} {question}{' ' * n}" for question in self.questions for n in range(4)]
        return [f"{self._random.choice(WORDS)} {number}" for number in range(120)]  # many memories


def _services(cluster: postgres.EmbeddedPostgres, name: str) -> FakeServices:
    return FakeServices(memories_in(Pool(connection_factory(cluster.url("mcp", name)), 1)))


def _store(store: MemoryStore, namespace: str, contents: list[str]) -> dict[Any, IngestRequest]:
    requests = [
        request(content, tags=[content.split()[0]] if content.split() else [], metadata={"n": number})
        for number, content in enumerate(contents)
    ]
    for start in range(0, len(requests), 100):
        message = IngestMessage(namespace, tuple(requests[start : start + 100]))
        ingest.store(message, memories=store_of(store, namespace), embedder=FakeEmbedder())
    return {request.request_id: request for request in requests}


def _plain(result: Any) -> str:
    """Remove random and measured values from a response."""
    structured = json.loads(json.dumps(result.structured_content or {}))
    for timed in TIMED:
        structured.get("debug", {}).pop(timed, None)
    lists = [
        objects for objects in (structured.get("memories"), structured.get("requests")) if isinstance(objects, list)
    ]
    for json_object in itertools.chain([structured], *lists):
        if isinstance(json_object, dict):
            for name in ("created_at", "last_seen_at", "updated_at", "next_cursor"):
                if json_object.get(name):
                    json_object[name] = "set"
    texts = [] if structured else [block.text for block in result.content]
    return _DRAWN.sub("ID", json.dumps([structured, texts, result.is_error], sort_keys=True))


def _answers(services: FakeServices, scenario: Scenario, requests: dict[Any, IngestRequest]) -> Iterator[str]:
    def ask(name: str, **arguments: Any) -> Any:
        result = call(by_name()[name], arguments, CALLERS["ada"], services)
        answers.append(f"{name} {_plain(result)}")
        return result.structured_content

    answers: list[str] = []
    for question in scenario.questions:
        for mode in SearchMode:
            ask("memory_search", query=question, mode=mode.value, include_debug=True, limit=5)
        ask("memory_search", query=question, tags=[question.split()[0]], include_debug=True)
        ask("retrieve_memories", query=question)
    ask("memory_search", query="x" * 501, mode="exact")
    page = ask("list_memories", limit=2)
    if page["next_cursor"]:
        ask("list_memories", limit=2, cursor=page["next_cursor"])
    ask("memory_stats")
    for request_id in requests:
        ask("ingest_status", request_id=str(request_id))
    ask("get_memory", id="0192f3a4-0000-7000-8000-000000000000")
    yield from answers


@pytest.fixture
def seeds() -> range:
    """The seeds of the pairs of stores to compare. By default two: tests/servers has the other kinds."""
    return range(int(os.environ.get("ISOLATION_PAIRS", "2")))


class Pair:
    """Two databases: one for Ada alone, and one that she shares with Bob.

    In each database, the function `ingest` stores memories, and the function `mcp` answers calls.
    """

    def __init__(self, cluster: postgres.EmbeddedPostgres, names: tuple[str, str]) -> None:
        self._cluster = cluster
        self.names = names
        self.alone, self.shared = (
            memories_in(Pool(connection_factory(cluster.url("ingest", name)), 1)) for name in names
        )
        self.services_alone, self.services_shared = (_services(cluster, name) for name in names)

    def as_owner(self, statement: LiteralString) -> None:
        for name in self.names:
            owner = connection_factory(self._cluster.url(postgres.OWNER, name))()
            owner.script(statement)
            owner.close()

    def empty(self) -> None:
        self.as_owner(
            "TRUNCATE memories, memory_chunks, memory_words, memory_ratings, earlier_states, ingest_requests, "
            "namespace_usage, namespace_words"
        )

    def close(self) -> None:
        used: list[Any] = [self.alone, self.shared, self.services_alone.memories, self.services_shared.memories]
        for store in used:
            store.database.pool.close()


@pytest.fixture
def pair(cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str]) -> Iterator[Pair]:
    two_databases = Pair(cluster, (new_database(), new_database()))
    yield two_databases
    two_databases.close()


def test_answers_do_not_depend_on_what_another_tenant_stores(pair: Pair, seeds: range) -> None:
    compared = 0
    for seed in seeds:
        pair.empty()
        scenario = Scenario(seed)
        half = len(scenario.bob) // 2
        _store(pair.shared, "bob", scenario.bob[:half])
        expected = list(_answers(pair.services_alone, scenario, _store(pair.alone, "ada", scenario.ada)))
        requests = _store(pair.shared, "ada", scenario.ada)
        _store(pair.shared, "bob", scenario.bob[half:])
        answers = list(_answers(pair.services_shared, scenario, requests))
        assert answers == expected, f"pair {seed}"
        compared += len(answers)
    assert compared >= 20 * len(seeds)


def test_a_search_does_not_read_the_memories_of_all_tenants(
    store: MemoryStore, owner: Connection, cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    """The duration of a sequential scan would reveal how many memories other tenants have stored."""
    for namespace in ("ada", "bob"):
        _store(store, namespace, WORDS)
    owner.script("ANALYZE memories")  # for so few memories, the planner prefers a sequential scan
    (memory,) = store_of(store, "ada").list(Filters(), 1)
    vector, scans = json.dumps([1] * FakeEmbedder.dimension), {}
    with closing(connection_factory(cluster.url("mcp", database))()) as connection, connection.transaction():
        connection.run("SELECT set_config('mnemosyne.namespace', 'ada', true)")
        for search in SEARCHES:
            given = "(SELECT CAST(:id AS uuid) AS id, CAST(:vector AS text) AS vector) AS given"
            connection.run(f"SELECT {search} FROM {given}", id=memory.id, vector=vector)
            ((scans[search],),) = connection.run(SEQUENTIAL_SCANS)
    assert scans == dict.fromkeys(SEARCHES, 0)


@pytest.mark.nightly  # by day, test_shared_indexes.py counts what searches read
def test_the_duration_of_a_search_does_not_depend_on_what_another_tenant_stores(pair: Pair) -> None:
    """Compare Ada's searches in both databases by Mann-Whitney's U, divided by the number of pairs of searches.

    This is the probability that a search of Ada's takes longer if Bob has stored memories in the same database. 0.5
    means no difference. Runs on two equal databases gave 0.35 to 0.65.
    """
    contents = [Scenario(seed).ada[0] + f" {seed}" for seed in range(150)]
    for store in (pair.alone, pair.shared):
        _store(store, "ada", contents)
    _store(pair.shared, "bob", [f"{content} {n}" for n in range(8) for content in contents])
    pair.as_owner("VACUUM ANALYZE memories")

    def seconds(services: FakeServices, word: str, embedder: FakeEmbedder) -> float:
        query = SearchQuery(query=word, mode=SearchMode.HYBRID, characters=20_000)
        vector = embedder.embed_query(word)
        begun = time.perf_counter()
        find(services.memories_of("ada"), query, vector, model="fake", lexical_weight=0.5)
        return time.perf_counter() - begun

    embedder, times = FakeEmbedder(), ([], [])  # type: ignore[var-annotated]
    for turn, word in zip(range(200), itertools.cycle([*WORDS, *RARE]), strict=False):
        order = (0, 1) if turn % 2 else (1, 0)
        for store_index in order:
            times[store_index].append(seconds((pair.services_alone, pair.services_shared)[store_index], word, embedder))
    longer = sum((b > a) + 0.5 * (b == a) for a in times[0][40:] for b in times[1][40:])
    probability = longer / (len(times[0][40:]) * len(times[1][40:]))
    print(f"probability that a search takes longer if another tenant has stored memories: {probability:.2f}")
    assert 0.35 <= probability <= 0.65
