"""`mnemosyne reembed` with the real google-genai client, while memories are searched and stored."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.memory_database import read_embedding_space
from mnemosyne.adapters.database.reembedding import Reembedding
from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli.local import postgres
from mnemosyne.cli.main import cli
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.errors import Conflict, EmbeddingModelChanged, Misconfigured, Unavailable
from mnemosyne.service import ingest, search
from mnemosyne.settings import Settings
from tests.fakes import FakeEmbedder, request
from tests.fakes_wire.gemini import GeminiServer, error
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

OLD = EmbeddingSpace("gemini", "gemini-embedding-001", 128)
NEW = EmbeddingSpace("gemini", "gemini-embedding-2", 192)
VERTEX_AI = {
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_CLOUD_PROJECT": "test-project",
    "GOOGLE_CLOUD_LOCATION": "europe-west1",
}
COUNT = 60
LONG = "2222. " * 2_000
"""A content of several chunks, with a vector that no other memory has."""
CHUNKS = {OLD.model: 7, NEW.model: 4}
"""Number of chunks of LONG by model. A chunk has at most 2,000 tokens (each a character of LONG) or 4,000
characters."""
SEARCHES_PER_SECOND = 20


class MoveStep:
    """A database with vectors of an embedding space, a running system, and the command `mnemosyne reembed`."""

    def __init__(self, gemini: GeminiServer, space: EmbeddingSpace, urls: tuple[str, str], **settings: str) -> None:
        self.gemini = gemini
        self._owner_url, self._runtime_url = urls
        self.connect = connection_factory(self._owner_url)
        self.owner = self.connect()
        self._environment = {
            "MNEMOSYNE_TOPIC": "projects/p/topics/t",
            "MNEMOSYNE_EMBEDDER": "gemini",
            "MNEMOSYNE_EMBEDDING_MODEL": space.model,
            "MNEMOSYNE_EMBEDDING_DIMENSION": str(space.dimension),
            **settings,
        }
        self._opened: list[ConfiguredServices] = []
        self.system = self.serve()

    def serve(self, **changed: str) -> ConfiguredServices:
        environment = {**self._environment, "MNEMOSYNE_DATABASE_URL": self._runtime_url, **changed}
        self._opened.append(ConfiguredServices(Settings.from_environment(environment)))
        return self._opened[-1]

    def close(self) -> None:
        """Close the connections of each system and of the owner."""
        for system in self._opened:
            system.close()
        self.owner.close()

    def store(self, *contents: str) -> None:
        message = IngestMessage("default", tuple(request(content) for content in contents))
        try:
            ingest.store(message, memories=self.system.memories_of("default"), embedder=self.system.embedder)
        except EmbeddingModelChanged:  # in production, Pub/Sub would deliver the message again
            ingest.store(message, memories=self.system.memories_of("default"), embedder=self.system.embedder)

    def chunks_of(self, content: str) -> list[int]:
        """Return the numbers of a memory's chunks that have rows.

        Chunk 0 has none, because the memory's row has its vector.
        """
        rows = self.owner.run(
            "SELECT chunk_index FROM memory_chunks JOIN memories ON memories.id = memory_id"
            " WHERE content = :content ORDER BY chunk_index",
            content=content,
        )
        return [index for (index,) in rows]

    def best(self, query: str) -> tuple[str, str | None]:
        """Return the best hit's content, and the reason if the search was degraded."""
        search_query = SearchQuery(query=query, mode=SearchMode.SEMANTIC, limit=1)
        try:
            hits = search.search(
                search_query, memories=self.system.memories_of("default"), embedder=self.system.embedder
            )
        except EmbeddingModelChanged:  # repeat the search, as a tool call does
            hits = search.search(
                search_query, memories=self.system.memories_of("default"), embedder=self.system.embedder
            )
        return hits.hits[0].content, hits.degraded

    def reembed(self, *arguments: str) -> Result:
        environment = {**self._environment, "MNEMOSYNE_DATABASE_URL": self._owner_url}
        return CliRunner().invoke(cli, ["reembed", *arguments], env=environment)


def word(n: int) -> str:
    """Return a word whose vector, in the fake model, differs much from the vectors of all other words."""
    return "m" * (COUNT - n) + "n" * n


@pytest.fixture(scope="module")
def filled() -> set[str]:
    """The names of the databases that have memories."""
    return set()


@pytest.fixture
def moving(
    request: pytest.FixtureRequest,
    cluster: postgres.EmbeddedPostgres,
    migrated: Callable[[EmbeddingSpace], str],
    new_database: Callable[..., str],
    filled: set[str],
    gemini: GeminiServer,
) -> Iterator[MoveStep]:
    """Memories in an embedding space:

    OLD on the developer API or, if the test has a parameter, its space and service.
    """
    space_and_settings: tuple[EmbeddingSpace, dict[str, str]] = getattr(request, "param", (OLD, {}))
    space, service = space_and_settings
    template = migrated(space)
    if template not in filled:
        step = MoveStep(gemini, space, _urls(cluster, template))
        step.store(*(f"memory {word(n)} of many {word(n)}" for n in range(COUNT)), LONG)
        step.close()
        filled.add(template)
    made = MoveStep(gemini, space, _urls(cluster, new_database(template=template)), **service)
    yield made
    made.close()


def _urls(cluster: postgres.EmbeddedPostgres, name: str) -> tuple[str, str]:
    return cluster.url(postgres.OWNER, name), cluster.url(postgres.RUNTIME_USER, name)


@pytest.mark.parametrize(
    ("moving", "target"),
    [
        pytest.param((OLD, {}), replace(OLD, dimension=192), id="another dimension", marks=pytest.mark.nightly),
        pytest.param((OLD, {}), replace(NEW, dimension=OLD.dimension), id="another model of the same dimension"),
        pytest.param((NEW, {}), OLD, id="back", marks=pytest.mark.nightly),
        pytest.param((OLD, VERTEX_AI), NEW, id="on Vertex AI"),
        pytest.param(
            (NEW, VERTEX_AI), replace(OLD, dimension=NEW.dimension), id="back on Vertex AI", marks=pytest.mark.nightly
        ),
    ],
    indirect=["moving"],
)
def test_memories_move_while_they_are_searched_and_stored(moving: MoveStep, target: EmbeddingSpace) -> None:
    stop = threading.Event()
    searched: list[int] = []
    problems: list[Any] = []

    def searching() -> None:
        n = 0
        while not stop.wait(1 / SEARCHES_PER_SECOND):
            n += 1
            try:
                content, degraded = moving.best(f"{word(n % COUNT)} {word(n % COUNT)}")
                if word(n % COUNT) not in content or degraded:
                    problems.append((n, content, degraded))
            except Exception as exc:  # noqa: BLE001 - any error is the test's subject
                problems.append(exc)
            searched.append(n)

    def storing() -> None:
        n = 0
        while not stop.wait(0.05):
            n += 1
            try:
                moving.store(f"new memory {n} meanwhile")
            except Exception as exc:  # noqa: BLE001
                problems.append(exc)

    threads = [threading.Thread(target=work) for work in (searching, storing)]
    for thread in threads:
        thread.start()
    result = moving.reembed(
        "--model", target.model, "--dimension", str(target.dimension), "--batch-size", "5", "--json"
    )
    after = len(searched)
    deadline = time.monotonic() + 20
    while len(searched) < after + 10 and time.monotonic() < deadline:
        stop.wait(0.05)
    stop.set()
    for thread in threads:
        thread.join()
    assert result.exit_code == 0, result.output
    assert problems == []
    assert json.loads(result.stdout)["to"] == str(target)
    assert read_embedding_space(moving.owner) == target
    assert moving.owner.run("SELECT DISTINCT embedding_model FROM memories") == [[target.model]]
    assert moving.chunks_of(LONG) == list(range(1, CHUNKS[target.model]))


@pytest.mark.parametrize("does", ["search", "store", "switch"])
def test_searches_stores_and_the_switch_lock_the_embedding_space_before_the_memories(
    moving: MoveStep, monkeypatch: pytest.MonkeyPatch, does: str
) -> None:
    """If they locked the two in different orders, they could deadlock."""
    monkeypatch.setattr("mnemosyne.adapters.database.reembedding.STRAGGLERS", 0)  # the switch changes nothing
    is_waiting = (
        "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = CAST('embedding_space' AS regclass))"
    )
    with closing(moving.connect()) as watching, closing(moving.connect()) as switching, ThreadPoolExecutor(1) as thread:
        move = Reembedding(switching, FakeEmbedder(), replace(OLD, dimension=192))
        move.begin()
        moving.owner.script(
            "BEGIN; LOCK TABLE embedding_space IN ACCESS EXCLUSIVE MODE; SET LOCAL lock_timeout = '20s'"
        )
        actions: dict[str, Callable[[], object]] = {
            "search": partial(moving.best, word(3)),
            "store": partial(moving.store, "new"),
            "switch": move.switch,
        }
        action = thread.submit(actions[does])
        wait_until(lambda: watching.run(is_waiting) == [[True]], f"the {does} waits for the table")
        moving.owner.script("LOCK TABLE memories, memory_chunks IN ACCESS EXCLUSIVE MODE; COMMIT")
        action.result()


@pytest.mark.exhaustive
def test_an_interrupted_move_continues_where_it_stopped(moving: MoveStep) -> None:
    embedded = 0

    def fails_at_the_second_batch(server: GeminiServer) -> tuple[int, Any] | None:
        nonlocal embedded
        embedded += "title: none" in str(server.requests[-1])
        return error(400, "API key not valid") if embedded > 1 else None

    moving.gemini.fault = fails_at_the_second_batch
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mnemosyne.cli.reembed.ATTEMPTS", 1)
        stopped = moving.reembed("--model", "gemini-embedding-2", "--dimension", "192", "--batch-size", "20")
    assert stopped.exit_code == 1
    assert isinstance(stopped.exception, Unavailable)
    assert "run the same command again" in str(stopped.exception)
    assert moving.best(word(3))[0].startswith("memory")
    moving.gemini.fault = None
    ((remaining,),) = moving.owner.run("SELECT count(*) FROM memories WHERE embedding_next IS NULL")
    assert remaining == COUNT + 1 - 20
    assert moving.reembed("--model", "gemini-embedding-2", "--dimension", "192").exit_code == 0
    assert moving.owner.run("SELECT DISTINCT embedding_model FROM memories") == [["gemini-embedding-2"]]


@pytest.mark.parametrize("moving", [(OLD, VERTEX_AI)], indirect=True)
def test_a_memory_that_the_model_rejects_as_too_long_is_moved_in_more_chunks(moving: MoveStep) -> None:
    """In this test, the service counts more tokens than Mnemosyne has estimated.

    Memories that the model accepts must not be divided into more chunks.
    """
    moving.gemini.tokens = lambda texts: [5 * len(text) for text in texts]
    moving.store("8888. " * 250)
    assert moving.chunks_of("8888. " * 250) != []
    assert moving.reembed("--model", NEW.model, "--dimension", str(NEW.dimension)).exit_code == 0
    indexes = moving.chunks_of(LONG)
    assert indexes == list(range(1, len(indexes) + 1))
    assert len(indexes) > CHUNKS[NEW.model]
    assert moving.owner.run("SELECT count(*) FROM memory_chunks GROUP BY memory_id") == [[len(indexes)]]
    assert moving.best("8888 " * 50)[0].startswith("8888")


def test_additional_chunks_after_a_refusal_count_towards_the_daily_quota(moving: MoveStep) -> None:
    counted = "SELECT CAST(sum(texts) AS bigint) FROM namespace_usage"
    ((before,),) = moving.owner.run(counted)
    moving.gemini.fault = lambda s: error(400, "input is too long") if longest(s) > 1_000 else None
    moving.store("8888. " * 600)
    ((after,),) = moving.owner.run(counted)
    assert after - before == 1 + len(moving.chunks_of("8888. " * 600)) > 3


def longest(server: GeminiServer) -> int:
    return max(len(str(request["content"])) for request in server.requests[-1]["requests"])


def test_a_second_move_is_refused_until_the_first_is_finished_or_abandoned(moving: MoveStep) -> None:
    moving.owner.script("UPDATE embedding_space SET next_model = 'gemini-embedding-2', next_dimension = 192")
    refused = moving.reembed("--model", "gemini-embedding-2", "--dimension", "256")
    assert isinstance(refused.exception, Conflict)
    assert "a move to gemini-embedding-2 at dimension 192 is in progress" in str(refused.exception)
    assert json.loads(moving.reembed("--abandon", "--json").stdout) == {"abandoned": True}
    assert isinstance(moving.reembed("--abandon").exception, Conflict)
    moved = moving.reembed("--model", "gemini-embedding-2", "--dimension", "256")
    assert "set embedding_model (MNEMOSYNE_EMBEDDING_MODEL) to gemini-embedding-2" in moved.stdout


def test_a_move_to_the_present_space_is_refused(moving: MoveStep) -> None:
    refused = moving.reembed("--model", OLD.model, "--dimension", str(OLD.dimension))
    assert isinstance(refused.exception, Conflict)


def test_a_function_with_the_old_settings_starts_after_the_move_and_one_with_others_does_not(
    moving: MoveStep,
) -> None:
    assert moving.reembed("--model", "gemini-embedding-2", "--dimension", "192").exit_code == 0
    assert moving.serve().embedder.model == "gemini-embedding-2"
    with pytest.raises(Misconfigured, match="the settings say gemini-embedding-001 at dimension 256"):
        assert moving.serve(MNEMOSYNE_EMBEDDING_DIMENSION="256").embedder


def test_building_an_index_waits_for_open_transactions_beyond_the_connections_limits(moving: MoveStep) -> None:
    owner, limited = moving.owner, moving.connect()
    limited.script("SET statement_timeout = '500ms'; SET lock_timeout = '500ms'")
    move = Reembedding(limited, FakeEmbedder(), replace(OLD, dimension=192))
    move.begin()
    owner.script("BEGIN; LOCK TABLE memories IN ROW EXCLUSIVE MODE")  # like a transaction that the owner left open
    # Watch with a separate connection, because `owner` has an open transaction. A transaction reads pg_stat_activity
    # only once, and does not see later activity.
    watching = moving.connect()
    waiting = (
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%CREATE INDEX CONCURRENTLY%'"
        " AND state = 'active' AND pid <> pg_backend_pid() AND clock_timestamp() - query_start > '1 second')"
    )
    with ThreadPoolExecutor(1) as thread:
        indexing = thread.submit(move.index)
        wait_until(
            lambda: indexing.done() or watching.run(waiting) == [[True]], "the build waits longer than the limits"
        )
        assert not indexing.done(), indexing.exception()
        owner.script("ROLLBACK")
        indexing.result()
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = CAST('memories_embedding_next' AS regclass)"
    assert owner.run(valid) == [[True]]
    assert limited.run("SHOW statement_timeout") == [["30s"]]
    for connection in (limited, watching):
        connection.close()
