"""Erasure, byte by byte: where a unique text is before it is forgotten, and that it is nowhere afterwards."""

import json
import logging
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

import pytest
from click.testing import CliRunner

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.adapters.signing.receipts import verify
from mnemosyne.cli.local import postgres
from mnemosyne.cli.main import cli
from mnemosyne.domain.memory import IngestState
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.service import deliveries
from mnemosyne.service.deliveries import Push
from tests.fakes import FakeServices, request
from tests.integration.test_forgetting import Letters, push
from tests.memories import list_memories, rate, status_of

CANARY = "xylophagous-quetzalcoatlus"
NAMED_PLACES = ("pg_wal",)
"""Directories of the server where docs/retention.md says that texts remain for a while."""


def files_with_the_canary(directory: Path) -> list[str]:
    """The files below a directory, outside of the named places, whose bytes have the canary."""
    found = []
    for file in sorted(directory.rglob("*")):
        if not file.is_file() or not file.stat().st_size or file.relative_to(directory).parts[0] in NAMED_PLACES:
            continue
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(CANARY.encode()) >= 0:
                found.append(str(file.relative_to(directory)))
    return found


def tables_with_the_canary(cluster: postgres.EmbeddedPostgres, database: str) -> set[str]:
    """The tables, of the catalogue too, with a row whose text has the canary."""
    owner = connection_factory(cluster.url(postgres.OWNER, database))()
    names = owner.run(
        "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables"
        " WHERE schemaname = 'public' OR tablename = 'pg_statistic'"
    )
    found = {
        row["name"]
        for row in names
        if any(
            owner.run_file(f"SELECT FROM {row['name']} AS t WHERE position('{text}' IN t::text) > 0 LIMIT 1")
            for text in (CANARY, CANARY.encode().hex())
        )
    }
    owner.close()
    return found


@pytest.fixture
def letters(store: PostgresMemories) -> Letters:
    return Letters(store)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG):
        yield caplog


def test_after_forgetting_a_text_is_nowhere_and_nothing_brings_it_back(
    letters: Letters,
    store: PostgresMemories,
    cluster: postgres.EmbeddedPostgres,
    database: str,
    tmp_path: Path,
    logged: pytest.LogCaptureFixture,
) -> None:
    everywhere = request(
        f"A {CANARY} 1 was seen " + "again and again " * 200,
        title=f"{CANARY} 2",
        tags=("zoo", f"{CANARY}-3"),
        metadata={"animal": f"{CANARY} 4", f"{CANARY} 5": 1},
        session=f"{CANARY} 6",
    )
    in_letter = request(f"A {CANARY} 7 in a dead letter", tags=("zoo",))
    kept = request("A cup of coffee", tags=("bar",))
    on_its_way = request(f"A {CANARY} 8 on its way", tags=("zoo",))
    sent = push(everywhere)
    _deliver(letters, push(request("A glass of water"), message_id="0"))
    _deliver(letters, sent)
    memory_id = status_of(store, everywhere.request_id).memory_id
    assert memory_id
    rate(store, memory_id, 1, f"{CANARY} 9")
    mixed = push(in_letter, kept, message_id="2")
    letters.give_up(mixed)
    letters.give_up(push(request(f"{CANARY} 10", tags=("zoo",)), message_id="3"))
    _analyze(cluster, database)
    _rewrite(cluster, database)
    server = Path(cluster.server.pgdata)
    assert tables_with_the_canary(cluster, database) >= {
        "public.memories", "public.memory_ratings", "public.dead_letters", "public.ingest_requests",
    }  # fmt: skip
    assert files_with_the_canary(server)

    environment = {
        "MNEMOSYNE_DATABASE_URL": cluster.url(postgres.RUNTIME_USER, database),
        "MNEMOSYNE_TOPIC": f"file://{tmp_path}/queue.db",
        "MNEMOSYNE_RECEIPT_SIGNING_KEY": f"file://{tmp_path}/keys",
    }
    receipt = tmp_path / "receipt.json"
    chosen = ["forget", "--namespace", "ns", "--tag", "zoo"]
    result = CliRunner().invoke(cli, [*chosen, "--yes", "--receipt", str(receipt)], env=environment)
    assert result.exit_code == 0, result.output
    _rewrite(cluster, database)
    assert tables_with_the_canary(cluster, database) == set()
    assert files_with_the_canary(server) == []
    assert CANARY not in receipt.read_text().replace(f"{CANARY}-3", "")
    assert verify(json.loads(receipt.read_text()))
    assert CANARY not in logged.text

    for again in (sent, mixed, push(on_its_way), sent):
        _deliver(letters, again)
    (letter,) = store.dead_letters(10)
    _deliver(letters, Push(Published(message_id="9", data=letter.data, attributes=letter.attributes), 1))
    assert {memory.title for memory in list_memories(store)} == {"A cup of coffee", "A glass of water"}
    assert status_of(store, on_its_way.request_id).state is IngestState.DELETED
    _rewrite(cluster, database)
    assert files_with_the_canary(server) == []


def _deliver(services: FakeServices, sent: Push) -> None:
    deliveries.store(sent, services)


def _analyze(cluster: postgres.EmbeddedPostgres, database: str) -> None:
    _as_owner(cluster, database, "ANALYZE")


def _rewrite(cluster: postgres.EmbeddedPostgres, database: str) -> None:
    """Write all pages to disk without unused space."""
    _as_owner(cluster, database, "VACUUM FULL")
    _as_owner(cluster, database, "CHECKPOINT")


def _as_owner(cluster: postgres.EmbeddedPostgres, database: str, statement: LiteralString) -> None:
    owner = connection_factory(cluster.url(postgres.OWNER, database), socket_timeout=None, statement_seconds=0)()
    owner.script(statement)
    owner.close()
