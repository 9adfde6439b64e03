"""Requests that an import sends to a server over MCP."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mnemosyne.cli import formats, importer
from mnemosyne.cli.destinations import McpDestination
from mnemosyne.cli.import_source import Record, Source
from mnemosyne.cli.journal import Journal
from mnemosyne.cli.local import postgres
from mnemosyne.cli.main import cli
from mnemosyne.cli.tool_client import ToolClient
from mnemosyne.domain.memory import ExternalId, IngestState
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.memory_input import Defaults
from mnemosyne.domain.message import decode
from mnemosyne.domain.principal import LOCAL
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import Unavailable
from mnemosyne.formats.item import Item, read_item
from mnemosyne.ids import new_id
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from mnemosyne.service import ingest
from tests.fakes import FakeServices
from tests.memories import list_memories, store_content
from tests.shared_database import SharedDatabase


class LocalMcp(McpDestination):
    """Destination whose server runs in the test's process, and delivers queued messages while an import waits."""

    def __init__(self, services: FakeServices) -> None:
        super().__init__("http://localhost:8000/mcp")
        self.services = services
        self.memories = services.memories_of(LOCAL.namespace)

    def pause(self) -> None:
        for message in self.services.queue.decoded:
            ingest.store(message, memories=self.memories, embedder=self.services.embedder)


@pytest.fixture
def over_mcp(services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> LocalMcp:
    def answer(self: ToolClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = call(by_name()[tool], arguments, LOCAL, services)
        assert not result.is_error, result.content
        return result.structured_content or {}

    monkeypatch.setattr(ToolClient, "call", answer)
    return LocalMcp(services)


@pytest.mark.parametrize("tags", [(), ("none",), ("None", "x")])
def test_an_import_replaces_the_tags(over_mcp: LocalMcp, tags: tuple[str, ...]) -> None:
    memory_id = store_content(over_mcp.memories, "a", tags=("alpha",))
    over_mcp.change(memory_id, MemoryChange(tags=tags))
    (memory,) = list_memories(over_mcp.memories)
    assert memory.tags == tags


def _records(over_mcp: McpDestination, rows: list[dict[str, Any]], source: Source) -> list[Record]:
    items = [Item(f"rows.csv:{line}", row, line=line) for line, row in enumerate(rows, 1)]
    return [
        Record(item, read_item(item, Defaults(new_id=over_mcp.new_id, place=source.external_id(item))))
        for item in items
    ]


ROWS: list[dict[str, Any]] = [
    {"content": "tea", "timestamp": "2026-05-20", "tags": "a, b", "source": "crm", "key": 7},
    {"content": "coffee\u2028beans", "timestamp": "2026-05-20 14:30:00 UTC", "metadata": {"k": [1.5, None, "ß"]}},
    {"content": "", "timestamp": "2026-05-20"},
    {"content": "theirs", "timestamp": "2026-05-20", "namespace": "another"},
]


def test_each_wait_is_printed_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter([None, "away", "away", None, "away"])  # the first call only checks the token

    def answer(self: ToolClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if problem := next(answers):
            raise Unavailable(f"the server is {problem}")
        return {"requests": []}

    monkeypatch.setattr(ToolClient, "call", answer)
    destination = McpDestination("http://localhost:8000/mcp")
    assert [destination.outcomes([new_id()]) for _ in range(4)] == [{}] * 4
    notice = "Waiting until the outcomes can be read: the server is away. Ctrl-C stops the import.\n"
    assert capsys.readouterr().err == notice * 2


def test_requests_over_mcp_have_the_ids_in_the_journal(over_mcp: LocalMcp) -> None:
    source = Source("rows.csv")
    records = _records(over_mcp, ROWS, source)
    ids = [record.reading.request_id for record in records]
    assert over_mcp.outcomes(ids) == {}
    over_mcp.send(records, source)
    over_mcp.send(records, source)
    over_mcp.pause()
    states = [over_mcp.outcomes(ids)[id_].state for id_ in ids]
    assert states == [IngestState.STORED, IngestState.STORED, IngestState.FAILED, IngestState.FAILED]
    assert over_mcp.outcomes(ids)[ids[3]].error == 'namespace must be "default", got "another"'
    assert len(list_memories(over_mcp.memories)) == 2


@pytest.mark.parametrize("is_deleted", [False, True], ids=["stored", "deleted"])
def test_a_status_belongs_to_its_record(over_mcp: LocalMcp, is_deleted: bool) -> None:
    request_id, sent = new_id(), {"source": "crm", "key": "a"}

    def item(**fields: str) -> Item:
        return Item("f:1", {"content": "tea", "timestamp": "2026-05-20", "request_id": str(request_id), **fields})

    def read(**fields: str) -> Any:
        return read_item(item(**fields), Defaults(new_id=over_mcp.new_id))

    over_mcp.send([Record(item(**sent), read(**sent))], Source("f"))
    over_mcp.pause()
    status = over_mcp.outcomes([request_id])[request_id]
    assert status.memory_id
    if is_deleted:
        over_mcp.memories.delete(status.memory_id)
        status = over_mcp.outcomes([request_id])[request_id]
    assert over_mcp.belongs_to(status, read(**sent))
    assert not over_mcp.belongs_to(status, read(source="crm", key="b"))
    assert over_mcp.belongs_to(status, read(**sent, content="coffee")) == is_deleted  # the deleted content is unknown


def test_records_with_many_values_are_sent_in_several_calls(over_mcp: LocalMcp) -> None:
    vector, source = [0.5] * 1536, Source("v.jsonl")
    rows: list[dict[str, Any]] = [
        {"content": f"fact {n}", "timestamp": "2026-05-20", "metadata": {"vector": vector}} for n in range(14)
    ]
    records = _records(over_mcp, [*rows, {"content": ""}], source)
    over_mcp.send(records, source)
    assert len(over_mcp.services.queue.messages) > 1
    over_mcp.pause()
    outcomes = over_mcp.outcomes([record.reading.request_id for record in records])
    assert [status.state for status in outcomes.values()].count(IngestState.STORED) == len(rows)
    assert outcomes[records[-1].reading.request_id].state is IngestState.FAILED


@pytest.mark.parametrize("name", ["changes.jsonl", "changes.json"])
def test_a_deletion_without_a_time_has_that_of_its_own_file(over_mcp: LocalMcp, tmp_path: Path, name: str) -> None:
    deletion = {"op": "delete", "source": "crm", "key": "9"}
    file, written = tmp_path / "folder" / name, datetime(2026, 5, 20, tzinfo=UTC)
    file.parent.mkdir()
    file.write_text(json.dumps(deletion if name.endswith("l") else [deletion]))
    os.utime(file, (written.timestamp(), written.timestamp()))
    os.utime(file.parent, (0, 0))
    journal = Journal(file.parent, over_mcp.name)
    importer.run(formats.read(file.parent), Source.at(file.parent), over_mcp, journal, lambda count: None)
    assert journal.totals().states == {"deleted": 1}
    journal.finish()
    (message,) = over_mcp.services.queue.decoded
    (request,) = message.deletions
    assert request.timestamp == written


TAKEN = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"


@pytest.mark.parametrize(
    ("names", "source", "key"),
    [
        ({"request_id": TAKEN}, "rows", "2"),
        ({"request_id": "nope"}, "rows", "2"),
        ({"key": 7}, "rows", "2"),
        ({"source": "two\nlines", "key": 7}, "two\nlines", "7"),
        ({"source": "crm", "key": "a\u202eb"}, "crm", "a\u202eb"),
        ({"source": "\x00", "key": 7}, "rows", "2"),
        ({"source": " ", "key": 7}, "rows", "2"),
        ({"source": ["crm"], "key": True}, "rows", "2"),
    ],
)
def test_a_record_with_an_invalid_source_or_key_fails_once_and_is_reported_under_them_or_its_line(
    over_mcp: LocalMcp, tmp_path: Path, names: dict[str, Any], source: str, key: str
) -> None:
    first = {"content": "one", "timestamp": "2026-05-20", "request_id": TAKEN}
    second = {"content": "two", "timestamp": "2026-05-20", **names}
    items = [Item("rows:1", first, line=1), Item("rows:2", second, line=2)]
    journal = Journal(tmp_path / "rows", over_mcp.name)
    importer.run(items, Source("rows"), over_mcp, journal, lambda count: None)
    assert journal.totals().states == {"stored": 1, "failed": 1}
    journal.finish()
    (message,) = over_mcp.services.queue.decoded
    (failed,) = message.rejected
    assert failed.external_id == ExternalId(source, key)


def test_an_import_works_with_settings_in_the_environment_that_name_no_embedder(
    services: FakeServices, cluster: postgres.EmbeddedPostgres, shared_database: SharedDatabase, tmp_path: Path
) -> None:
    row = {"content": "tea", "timestamp": "2026-05-20", "source": "crm", "key": "7"}
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row) + "\n")
    message = decode(
        Published(message_id="1", data=json.dumps(row).encode(), attributes={"namespace": LOCAL.namespace})
    )
    ingest.store(message, memories=services.memories_of(LOCAL.namespace), embedder=services.embedder)
    environment = {
        "MNEMOSYNE_DATABASE_URL": cluster.url(postgres.OWNER, shared_database.name),
        "MNEMOSYNE_TOPIC": f"file://{tmp_path}/queue.db",
    }
    result = CliRunner().invoke(cli, ["import", str(file), "--json"], env=environment)
    assert result.exit_code == 0, result.exception
    assert json.loads(result.stdout.splitlines()[-1]) == {"stored": 0, "duplicate": 1, "failed": 0}
