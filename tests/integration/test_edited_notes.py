"""A note is imported again by each way of ingestion. An edited note is a new version, an unchanged note a duplicate."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.cli.local import postgres
from mnemosyne.domain.memory import ExportedMemory
from mnemosyne.domain.object_import import StoredObject
from mnemosyne.domain.principal import LOCAL
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from tests.fakes_wire.cloud_storage import CloudStorage as Storage
from tests.fakes_wire.cloud_storage import emulated_storage
from tests.integration.test_ways_in import System, opened_system

NOTES = {
    "dated.md": "---\ndate: 2026-05-20\ntags: [garden]\n---\n{text}",
    "2026-05-20 daily.md": "{text} #garden",
    "undated.md": "---\ntags: garden\n---\n{text}",
}
WRITTEN = datetime(2026, 6, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Ended:
    """The outcome of a note."""

    state: str
    note: str | None


Way = Callable[[System, str, str, datetime], Ended]


def _import(storage: Storage, system: System, name: str, text: str) -> list[dict[str, Any]]:
    """Import an object, and return the outcomes in its report."""
    blob = storage.put("bucket", name, text.encode())
    stored_object = StoredObject(bucket="bucket", name=name, generation=blob.generation)
    system.import_object(stored_object)
    _, *outcomes = map(json.loads, storage.objects["bucket", stored_object.report].data.splitlines())
    return outcomes


def _by_a_bucket(storage: Storage, system: System, name: str, text: str, modified: datetime) -> Ended:
    (outcome,) = _import(storage, system, name, text)
    return Ended(outcome["state"], outcome["note"])


def _by_the_console(system: System, name: str, text: str, modified: datetime) -> Ended:
    services: Any = system
    arguments = {"name": name, "text": text, "modified": modified.isoformat()}
    result: Any = call(by_name()["import_memories"], arguments, LOCAL, services)
    (item,) = result.structured_content["items"]
    system.deliver()
    request_ids = {"request_ids": [item["request_id"]]}
    answer: Any = call(by_name()["ingest_status"], request_ids, LOCAL, services)
    (status,) = answer.structured_content["requests"]
    return Ended(status["state"], status.get("note"))


@pytest.fixture
def system(cluster: postgres.EmbeddedPostgres, database: str, tmp_path: Path) -> Iterator[System]:
    with opened_system(cluster, database, tmp_path) as system:
        yield system


@pytest.fixture(params=["bucket", "console"])
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    if request.param == "console":
        yield _by_the_console
        return
    with emulated_storage() as storage:
        yield lambda *note: _by_a_bucket(storage, *note)


def _versions(system: System) -> tuple[list[ExportedMemory], list[ExportedMemory]]:
    """Return the current memories, and the superseded ones."""
    memories = system.memories.export(100)
    current = [memory for memory in memories if not memory.superseded_by_hash]
    return current, [memory for memory in memories if memory.superseded_by_hash]


@pytest.mark.parametrize("name", NOTES)
def test_an_edited_note_is_a_new_version_and_an_unchanged_one_a_duplicate(system: System, way: Way, name: str) -> None:
    note = NOTES[name]
    text = note.format(text="The heron came to the pond.")
    assert way(system, name, text, WRITTEN).state == "stored"
    assert way(system, name, text, WRITTEN + timedelta(minutes=1)).state == "duplicate"
    assert [len(version) for version in _versions(system)] == [1, 0]
    edited = way(system, name, note.format(text="The otter came."), WRITTEN + timedelta(hours=1))
    assert edited.state == "stored"
    (current,), (old,) = _versions(system)
    assert "The otter came." in current.content and "The heron came" in old.content
    assert old.superseded_by_hash == current.content_hash
    assert edited.note == f"memory {old.id} is superseded by memory {current.id}"


def test_each_chronicle_of_an_object_has_an_outcome_with_its_line(system: System) -> None:
    chronicle = "[[[CHRONICLE_START]]]\nTS: 2026-05-20\nBODY: tea\n[[[CHRONICLE_END]]]\n"
    with emulated_storage() as storage:
        outcomes = _import(storage, system, "log.txt", "preamble\n" + chronicle * 2)
    assert [(outcome["line"], outcome["state"]) for outcome in outcomes] == [(2, "stored"), (6, "duplicate")]
