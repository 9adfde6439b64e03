"""A deployment replaces one function after another: each release works beside the one before it, in both directions.

The rule is in docs/contract.md. Here the code of the release before this one, out of the history, serves on today's
schema, reads what is published today, and is read in its turn.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import orjson
import pytest

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.embedding_space import read_embedding_space
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder
from mnemosyne.domain.message import encode
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.formats.writing import to_jsonl
from mnemosyne.ids import issue_request_id
from mnemosyne.service import search
from mnemosyne_cli.local import postgres
from tests.compatibility.release import THIS, Release, System, previous, run_in
from tests.fakes import NOW, request
from tests.waiting import wait_until

NAMESPACE = "default"


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The release before this one."""
    return previous(tmp_path_factory.mktemp("previous"))


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """Today's schema, and functions of both releases on it."""
    with ExitStack() as exits:
        yield System(tmp_path_factory.mktemp("both"), exits)


@pytest.fixture(params=["before to this", "this to before"])
def pair(request: pytest.FixtureRequest, before: Release) -> tuple[Release, Release]:
    """Who publishes, and who reads it."""
    return (before, THIS) if request.param == "before to this" else (THIS, before)


def test_what_one_release_accepts_the_other_stores(system: System, pair: tuple[Release, Release]) -> None:
    publisher, reader = pair
    client = system.client(publisher)
    with system.ingesting(reader):
        content = f"{publisher.name} accepts what {reader.name} stores"
        memory_id = client.remember(content, tags=["both"], title="Both", metadata={"n": 1})
        status = client.outcome(client.ingest(content))
        assert (status["state"], status["memory_id"]) == ("duplicate", memory_id)
    for release in pair:
        record = system.client(release).call("get_memory", {"id": memory_id})
        assert (record["title"], record["tags"], record["metadata"]) == ("Both", ["both"], {"n": 1})


def test_a_message_that_has_grown_is_stored_by_a_reader_that_does_not_know_the_fields(
    system: System, pair: tuple[Release, Release]
) -> None:
    publisher, reader = pair
    ids = [issue_request_id(NAMESPACE) for _ in range(2)]
    grown = {"content": f"grown, for {reader.name}", "timestamp": "2026-05-20T12:00:00Z", "expires_at": None, "x": [1]}
    plain = {"content": f"plain, for {reader.name}", "timestamp": "2026-05-20T12:00:00Z"}
    memories = [grown | {"request_id": str(ids[0])}, plain | {"request_id": str(ids[1])}]
    message = {"schema_version": 1, "memories": memories, "priority": "high"}
    with system.ingesting(reader):
        system.queue.republish(orjson.dumps(message), {"namespace": NAMESPACE, "schema_version": "1", "shard": "7"})
        statuses = system.client(publisher).outcomes([str(one) for one in ids])
    assert [status["state"] for status in statuses] == ["stored", "stored"]


def test_a_message_of_a_newer_version_waits_and_is_never_called_failed(
    system: System, pair: tuple[Release, Release]
) -> None:
    _, reader = pair
    one = request(f"of another version, for {reader.name}")
    data, attributes = encode(NAMESPACE, [one], "")
    newer = orjson.dumps({**orjson.loads(data), "schema_version": 2})
    client = system.client(THIS)

    def seen() -> dict[str, object]:
        status: dict[str, object] = client.call("ingest_status", {"request_id": str(one.request_id)})["requests"][0]
        return status

    with system.ingesting(reader):
        system.queue.republish(newer, {**attributes, "schema_version": "2"})
        wait_until(lambda: "schema_version 2 is newer" in str(seen()["error"]), "the reason stands in the status")
        assert seen()["state"] == "queued"

        # Given up after its last delivery: with the reason, and whole.
        def is_given_up() -> bool:
            system.queue.reset_backoff()
            return bool(seen()["state"] == "dead_lettered")

        wait_until(is_given_up, "it is dead-lettered", seconds=120)
    ((kept, cause),) = system.as_owner(
        "SELECT convert_from(data, 'UTF8'), cause FROM dead_letters WHERE convert_from(data, 'UTF8') LIKE "
        f"'%{one.request_id}%'"
    )
    assert json.loads(kept)["schema_version"] == 2
    assert "schema_version 2 is newer" in cause


def test_each_tool_of_the_release_before_works_on_todays_schema(system: System, before: Release) -> None:
    client = system.client(before)
    with system.ingesting(before):
        memory_id = client.remember("Ada drinks green tea on Sundays.", tags=["ada"])
        other = client.remember("Ada drinks black tea on Mondays.", tags=["ada"])
    for mode in ("semantic", "hybrid", "exact"):
        found = client.call(
            "memory_search", {"query": "green tea", "mode": mode, "tags": ["ada"], "after": "2020-01-01"}
        )
        assert found["memories"][0]["id"] == memory_id
    assert {one["id"] for one in client.call("list_memories", {"tags": ["ada"]})["memories"]} == {memory_id, other}
    assert client.call("retrieve_memories", {"query": "green tea"})["total"] >= 1
    assert client.call("update_memory", {"id": other, "superseded_by": memory_id})["superseded_by"] == memory_id
    assert client.call("rate_memory", {"id": memory_id, "rating": 1})["quality_after"] > 0.5
    assert client.call("memory_stats", {})["memories"] >= 2
    assert client.call("delete_memory", {"id": other})["deleted"] is True


def test_a_listing_goes_on_with_the_other_releases_cursor(system: System, pair: tuple[Release, Release]) -> None:
    first, second = (system.client(release) for release in pair)
    with system.ingesting(THIS):
        first.outcomes([first.ingest(f"page {n} of {time.monotonic()}", tags=["paged"]) for n in range(4)])
    page = first.call("list_memories", {"tags": ["paged"], "limit": 2})
    rest = second.call("list_memories", {"tags": ["paged"], "limit": 100, "cursor": page["next_cursor"]})
    whole = second.call("list_memories", {"tags": ["paged"], "limit": 100})
    assert [one["id"] for one in page["memories"] + rest["memories"]] == [one["id"] for one in whole["memories"]]


OLD_DATABASE = """
import sys
from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.message import IngestMessage
from mnemosyne.ids import new_id
from mnemosyne.service import ingest
from datetime import UTC, datetime
owner, runtime = sys.argv[1:]
migrations.migrate(connection_factory(owner)(), migrations.bundled(), space=SPACE)
made = IngestRequest.of(new_id(), content="Ada drinks green tea.", timestamp=datetime(2026, 5, 20, tzinfo=UTC))
memories = PostgresMemories(Pool(connection_factory(runtime), 1), SPACE)
ingest.store(IngestMessage("default", (made,)), memories=memories, embedder=OfflineEmbedder())
"""


def test_a_database_of_the_release_before_is_brought_up_to_date(
    before: Release, cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str]
) -> None:
    name = new_database(empty=True)
    owner, runtime = cluster.url(postgres.OWNER, name), cluster.url(postgres.RUNTIME_USER, name)
    run_in(before, OLD_DATABASE, owner, runtime)
    with closing(connection_factory(owner)()) as connection:
        migrations.migrate(connection, migrations.bundled(), space=SPACE)
        assert read_embedding_space(connection) == SPACE
        assert connection.run("SELECT namespace, memories, sampled, mean_length FROM namespace_words") == [
            [NAMESPACE, 1, 1, 4.0]
        ]
    with closing(Pool(connection_factory(runtime), 1)) as pool:
        memories, embedder = PostgresMemories(pool, SPACE), OfflineEmbedder()
        asked = SearchQuery(query="what does Ada drink?", mode=SearchMode.HYBRID)
        (hit,) = search.search(NAMESPACE, asked, memories=memories, embedder=embedder).ranking.hits
    assert hit.content == "Ada drinks green tea."


READ_EXPORT = """
import io, json, sys
from mnemosyne.formats import jsonl
items = list(jsonl.read(io.BytesIO(sys.argv[1].encode()), "export"))
print(json.dumps([(dict(one.arguments or {}), one.problem, one.left_out) for one in items]))
"""


def test_an_export_that_has_grown_is_read_by_the_release_before(before: Release) -> None:
    from mnemosyne.domain.memory import ExportedMemory
    from mnemosyne.ids import new_id

    asked = request("exported", tags=("a",))
    exported = ExportedMemory(
        id=new_id(), **asked.said, content_hash=asked.content_hash, superseded_by_hash=None, created_at=NOW
    )
    line = json.dumps(json.loads(to_jsonl(exported)) | {"expires_at": "2027-01-01T00:00:00Z"})
    ((arguments, problem, left_out),) = json.loads(run_in(before, READ_EXPORT, line))
    assert (arguments["content"], arguments["tags"], problem, left_out) == ("exported", ["a"], "", ["expires_at"])


def test_the_version_before_is_the_one_that_was_released_last() -> None:
    changelog = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
    from tests.compatibility.release import PREVIOUS

    released = [line.split("]")[0].removeprefix("## [") for line in changelog.splitlines() if line.startswith("## [")]
    numbers = [one for one in released if one != "Unreleased"]
    assert PREVIOUS.removeprefix("v") in numbers[:2]
