"""Erasure on disk: the files and tables that contain a unique text (the canary) before and after it is forgotten."""

import json
import logging
import mmap
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing
from math import inf
from pathlib import Path
from typing import LiteralString

import pytest
from click.testing import CliRunner

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.signing.receipts import verify
from mnemosyne.cli import importer
from mnemosyne.cli.formats import read
from mnemosyne.cli.import_source import Record, Source
from mnemosyne.cli.journal import Journal, Totals
from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.cli.main import cli
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import IngestState
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.object_import import StoredObject
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.domain.search import Filters
from mnemosyne.service import deliveries, forgetting
from mnemosyne.service.deliveries import Push
from tests.dev import COMMAND, DevServer, serving
from tests.fakes import NOW, request, store_of
from tests.fakes_wire.cloud_storage import emulated_storage
from tests.integration.test_forgetting import Letters, push
from tests.integration.test_ways_in import NAMESPACE, DeliveringDestination, System, opened_system
from tests.mcp_client import TIMESTAMP
from tests.memories import list_memories, rate, status_of

pytestmark = pytest.mark.own_database

CANARY = "xylophagous-quetzalcoatlus"
PLACE_WITH_REMAINS = "pg_wal"
"""Directory of the database server in which texts remain for a while, as docs/retention.md says."""


def files_with_the_canary(directory: Path) -> list[str]:
    """Return the files below a directory that contain the canary, except those in PLACE_WITH_REMAINS."""
    files_with_text = []
    for file in sorted(directory.rglob("*")):
        if not file.is_file() or not file.stat().st_size or PLACE_WITH_REMAINS in file.relative_to(directory).parts:
            continue
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(CANARY.encode()) >= 0:
                files_with_text.append(str(file.relative_to(directory)))
    return files_with_text


def tables_with_the_canary(cluster: postgres.EmbeddedPostgres, database: str) -> set[str]:
    """Return the tables, including catalogue tables, with a row that contains the canary."""
    with closing(connection_factory(cluster.url(postgres.OWNER, database))()) as owner:
        names = owner.run(
            "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables"
            " WHERE schemaname = 'public' OR tablename = 'pg_statistic'"
        )
        return {
            row["name"]
            for row in names
            if any(
                owner.run_file(f"SELECT FROM {row['name']} AS t WHERE position('{text}' IN t::text) > 0 LIMIT 1")
                for text in (CANARY, CANARY.encode().hex())
            )
        }


@pytest.fixture
def letters(store: MemoryStore) -> Letters:
    return Letters(store)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG):
        yield caplog


def _fill(letters: Letters) -> list[Push]:
    """Store the canary in each place that can hold text, and return the messages that contained it."""
    everywhere = request(
        f"A {CANARY} 1 was seen " + "again and again " * 200,
        title=f"{CANARY} 2",
        tags=("zoo", f"{CANARY}-3"),
        metadata={"animal": f"{CANARY} 4", f"{CANARY} 5": 1},
        session=f"{CANARY} 6",
    )
    in_letter = request(f"A {CANARY} 7 in a dead letter", tags=("zoo",))
    delivery, mixed = push(everywhere), push(in_letter, request("A cup of coffee", tags=("bar",)), message_id="2")
    deliveries.store(push(request("A glass of water"), message_id="0"), letters)
    deliveries.store(delivery, letters)
    memory_id = status_of(letters.memories, everywhere.request_id).memory_id
    assert memory_id
    rate(letters.memories, memory_id, 1, f"{CANARY} 9")
    letters.memories.update(memory_id, MemoryChange(title=f"{CANARY} 11"))
    letters.give_up(mixed)
    letters.give_up(push(request(f"{CANARY} 10", tags=("zoo",)), message_id="3"))
    return [delivery, mixed]


def _forget(database_url: str, directory: Path) -> str:
    """Run `mnemosyne forget` for the memories with the tag `zoo`, and return the receipt."""
    environment = {
        "MNEMOSYNE_DATABASE_URL": database_url,
        "MNEMOSYNE_TOPIC": f"file://{directory}/queue.db",
        "MNEMOSYNE_RECEIPT_SIGNING_KEY": f"file://{directory}/keys",
    }
    receipt = directory / "receipt.json"
    arguments = ["forget", "--namespace", "ns", "--tag", "zoo", "--yes", "--receipt", str(receipt)]
    result = CliRunner().invoke(cli, arguments, env=environment)
    assert result.exit_code == 0, result.output
    return receipt.read_text()


def test_a_forgotten_text_is_in_no_file_or_table_and_redelivery_does_not_restore_it(
    letters: Letters,
    cluster: postgres.EmbeddedPostgres,
    database: str,
    tmp_path: Path,
    logged: pytest.LogCaptureFixture,
) -> None:
    on_its_way = request(f"A {CANARY} 8 on its way", tags=("zoo",))
    messages, server = _fill(letters), Path(cluster.server.pgdata)
    _rewrite(cluster, database, "VACUUM FULL ANALYZE")
    assert tables_with_the_canary(cluster, database) >= {
        "public.memories", "public.memory_ratings", "public.earlier_states", "public.dead_letters",
        "public.ingest_requests",
    }  # fmt: skip
    assert files_with_the_canary(server)

    receipt = _forget(cluster.url(postgres.RUNTIME_USER, database), tmp_path)
    _rewrite(cluster, database)
    assert tables_with_the_canary(cluster, database) == set()
    assert files_with_the_canary(server) == []
    assert CANARY not in receipt.replace(f"{CANARY}-3", "")
    assert verify(json.loads(receipt))
    assert CANARY not in logged.text

    for again in (*messages, push(on_its_way), *messages):
        deliveries.store(again, letters)
    (letter,) = letters.memories.dead_letters(10)
    redelivery = Push(Published(message_id="9", data=letter.data, attributes=letter.attributes), 1)
    deliveries.store(redelivery, letters)
    titles = {memory.title for memory in list_memories(letters.memories)}
    assert titles == {"A cup of coffee", "A glass of water"}
    assert status_of(letters.memories, on_its_way.request_id).state is IngestState.DELETED
    _rewrite(cluster, database)
    assert files_with_the_canary(server) == []


def test_a_text_from_a_bucket_is_forgotten_and_importing_the_same_object_does_not_restore_it(
    cluster: postgres.EmbeddedPostgres, database: str, tmp_path: Path, store: MemoryStore
) -> None:
    lines = [{"content": f"A {CANARY} {n}", "tags": ["zoo"], "timestamp": NOW.isoformat()} for n in range(3)]
    with emulated_storage() as storage, opened_system(cluster, database, tmp_path) as system:
        blob = storage.put("bucket", "a.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines).encode())
        stored_object = StoredObject(bucket="bucket", name="a.jsonl", generation=blob.generation)
        system.import_object(stored_object)
        assert "public.memories" in tables_with_the_canary(cluster, database)

        _forget_the_zoo(system)
        system.import_object(stored_object)
    assert list_memories(store_of(store, NAMESPACE)) == []
    assert tables_with_the_canary(cluster, database) == set()
    assert files_with_the_canary(tmp_path) == []


class InterruptedDestination(DeliveringDestination):
    """Raises KeyboardInterrupt when the import waits for the nth time."""

    def __init__(self, system: System, interrupt_at: int | None = None) -> None:
        super().__init__(system)
        self.pauses_left, self.sent = interrupt_at or -1, 0

    def send(self, records: Sequence[Record], source: Source) -> None:
        super().send(records, source)
        self.sent += len(records)

    def pause(self) -> None:
        super().pause()
        self.pauses_left -= 1
        if not self.pauses_left:
            raise KeyboardInterrupt


def test_an_import_resumed_from_its_journal_does_not_restore_a_forgotten_text(
    cluster: postgres.EmbeddedPostgres, database: str, tmp_path: Path, store: MemoryStore
) -> None:
    lines = [{"content": f"A {CANARY} {n}", "tags": ["zoo"], "timestamp": NOW.isoformat()} for n in range(250)]
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with opened_system(cluster, database, tmp_path) as system:
        interrupted, resumed = InterruptedDestination(system, interrupt_at=1), InterruptedDestination(system)
        with pytest.raises(KeyboardInterrupt):
            _import_file(file, interrupted)
        assert interrupted.sent == len(lines)
        assert "public.memories" in tables_with_the_canary(cluster, database)

        _forget_the_zoo(system)
        assert _import_file(file, resumed).states == {"not stored": len(lines)}
        assert resumed.sent == 0
    assert list_memories(store_of(store, NAMESPACE)) == []
    assert tables_with_the_canary(cluster, database) == set()
    assert files_with_the_canary(tmp_path) == ["lines.jsonl"]


def _import_file(file: Path, destination: InterruptedDestination) -> Totals:
    journal = Journal(file, destination.name)
    try:
        importer.run(read(file, "jsonl"), Source.at(file), destination, journal, lambda count: None)
        return journal.totals()
    finally:
        journal.close()


def _forget_the_zoo(system: System) -> None:
    selection = Selection(filters=Filters(tags=("zoo",), include_superseded=True))
    token = system.memories.preview_forgetting(selection, 10).token
    forgetting_id = forgetting.begin(selection, token, "", memories=system.memories)
    while not forgetting.proceed(forgetting_id, memories=system.memories, deadline=inf).finished_at:
        pass


def _rewrite(
    server: postgres.EmbeddedPostgres, database: str = postgres.DATABASE, vacuum: LiteralString = "VACUUM FULL"
) -> None:
    """Rewrite all tables, and write all pages to disk, so that no page has unused space with old texts."""
    connect = connection_factory(server.url(postgres.OWNER, database), socket_timeout=None, statement_seconds=0)
    with closing(connect()) as owner:
        owner.script(vacuum)
        owner.script("CHECKPOINT")


# -- a local system

NOTE = f"---\ntags: [zoo]\n---\n# {CANARY} note\n\nA note about a {CANARY}.\n"


def _run(server: DevServer, *command: str) -> None:
    arguments = [str(COMMAND), *command, "--data-dir", str(server.directory / "data")]
    completed = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr


def _store_in_every_way(server: DevServer, directory: Path) -> None:
    """Store the canary by tools, by commands and from files, each time with the tag `zoo`."""
    memory_id = server.remember(f"A {CANARY} by a tool", tags=["zoo"], session=f"{CANARY} session")
    server.call("update_memory", {"id": memory_id, "title": f"{CANARY} title"})
    server.call("update_memory", {"id": memory_id, "title": "another title"})
    server.call("rate_memory", {"id": memory_id, "rating": 1, "reason": f"{CANARY} reason"})
    lines = f'{{"content": "A {CANARY} of a file", "tags": ["zoo"], "timestamp": "{TIMESTAMP}"}}\n'
    imported = server.call("import_memories", {"name": "lines.jsonl", "text": lines})
    server.outcomes(imported["request_ids"])
    (directory / "note.md").write_text(NOTE)
    (directory / "lines.jsonl").write_text(lines.replace("of a file", "of another file"))
    _run(server, "import", str(directory), "--namespace", "default")


@pytest.mark.slow
def test_no_file_of_a_local_system_has_a_forgotten_text(tmp_path: Path) -> None:
    with serving() as server:
        data = server.directory / "data"
        _store_in_every_way(server, tmp_path)
        assert server.call("memory_facets", {"prefix": "zoo"})["tags"][0]["memories"] == 4
        assert files_with_the_canary(data)
        _run(server, "forget", "--namespace", "default", "--tag", "zoo", "--yes")
        assert server.call("memory_facets", {"prefix": "zoo"})["tags"] == []
        server.stop()
        database = postgres.start(DataDir.at(str(data)))
        try:
            _rewrite(database)
        finally:
            database.stop()
        assert files_with_the_canary(data) == []
