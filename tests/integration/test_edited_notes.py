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

SHAPES = {
    "obsidian.md": "---\ndate: 2026-05-20\ntags: [{tag}]\n---\n{text}",
    "hugo.md": '+++\ndate = "2026-05-20T08:00:00Z"\ntags = ["{tag}"]\n+++\n{text}',
    "logseq.md": "date:: 2026-05-20\ntags:: {tag}\n\n{text}",
    "2026-05-20 daily.md": "{text} #{tag}",
    "undated.md": "---\ntags: {tag}\n---\n{text}",
    "joplin.md": '{{"title": "Joplin", "date": "2026-05-20", "tags": ["{tag}"]}}\n{text}',
}
WRITTEN = datetime(2026, 6, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Ended:
    """The outcome of a note."""

    state: str
    error: str | None
    note: str | None


Way = Callable[[System, str, str, datetime], Ended]


def _by_a_bucket(storage: Storage, system: System, name: str, text: str, modified: datetime) -> Ended:
    blob = storage.put("bucket", name, text.encode())
    stored_object = StoredObject(bucket="bucket", name=name, generation=blob.generation)
    system.import_object(stored_object)
    _, line = map(json.loads, storage.objects["bucket", stored_object.report].data.splitlines())
    return Ended(line["state"], line["error"], line["note"])


def _by_the_console(system: System, name: str, text: str, modified: datetime) -> Ended:
    services: Any = system
    arguments = {"name": name, "text": text, "modified": modified.isoformat()}
    result: Any = call(by_name()["import_memories"], arguments, LOCAL, services)
    (item,) = result.structured_content["items"]
    system.deliver()
    request_ids = {"request_ids": [item["request_id"]]}
    answer: Any = call(by_name()["ingest_status"], request_ids, LOCAL, services)
    (status,) = answer.structured_content["requests"]
    return Ended(status["state"], status.get("error"), status.get("note"))


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
    exported = system.memories.export(100)
    return [memory for memory in exported if not memory.superseded_by_hash], [
        memory for memory in exported if memory.superseded_by_hash
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_an_edited_note_is_a_new_version_and_an_unchanged_one_a_duplicate(system: System, way: Way, name: str) -> None:
    shape = SHAPES[name]
    text = shape.format(tag="garden", text="The heron came to the pond.")
    assert way(system, name, text, WRITTEN).state == "stored"
    unchanged = way(system, name, text, WRITTEN + timedelta(minutes=1))
    assert unchanged.state == "duplicate"
    assert [len(version) for version in _versions(system)] == [1, 0]
    edited = way(system, name, shape.format(tag="garden", text="The otter came."), WRITTEN + timedelta(hours=1))
    assert edited.state == "stored"
    (current,), (old,) = _versions(system)
    assert "The otter came." in current.content and "The heron came" in old.content
    assert old.superseded_by_hash == current.content_hash
    assert edited.note == f"memory {old.id} is superseded by memory {current.id}"


@pytest.mark.parametrize("name", [name for name in SHAPES if "#" not in SHAPES[name]])
def test_changed_properties_of_a_note_replace_those_of_its_memory(system: System, way: Way, name: str) -> None:
    for tag in ("garden", "pond"):
        text = SHAPES[name].format(tag=tag, text="The heron came.")
        way(system, name, text, WRITTEN)
    (current,), old = _versions(system)
    assert old == []
    assert current.tags == ("pond",)


def test_an_edited_note_with_an_earlier_date_is_stored_as_superseded_with_a_note_in_its_outcome(
    system: System, way: Way
) -> None:
    name = "obsidian.md"
    later = SHAPES[name].format(tag="garden", text="The heron came.")
    way(system, name, later, WRITTEN)
    moved = way(system, name, later.replace("2026-05-20", "2026-05-10").replace("heron", "otter"), WRITTEN)
    (current,), (old,) = _versions(system)
    assert "The heron came." in current.content and "The otter came." in old.content
    assert moved.state == "stored"
    assert moved.note == f"memory {old.id} is superseded by memory {current.id}"
