"""A bundle of the Open Knowledge Format is imported, exported and imported into another system without loss."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mnemosyne.cli import importer, post_import_updates
from mnemosyne.cli.formats import read
from mnemosyne.cli.import_source import Source
from mnemosyne.cli.journal import Journal
from mnemosyne.cli.local import postgres
from mnemosyne.domain.memory import ExportedMemory
from mnemosyne.formats.writing import to_jsonl, to_markdown, to_record
from tests.integration.test_ways_in import DeliveringDestination, System, opened_system

BUNDLE = {
    "index.md": '---\nokf_version: "0.2"\n---\n# Index\n\n* [Orders](tables/orders.md)\n',
    "log.md": "# Log\n\n## 2026-05-20\n\n* made\n",
    "tables/orders.md": (
        "---\ntype: Table\ntitle: Orders\ndescription: One row per order.\ntags: [sales, 'année']\n"
        "timestamp: 2026-05-20T14:30:00Z\nresource: https://example.com/orders\nstatus: active\n---\n"
        "# Schema\n\n| column | type |\n|---|---|\n| id | INT64 |\n\nJoins [customers](customers.md#id).\n"
    ),
    "tables/customers.md": (
        "---\ntype: Table\ntitle: Customers\ntimestamp: 2026-05-19\nstale_after: 2027-01-01\nsources:\n"
        "  - resource: https://example.com/a\n    title: A\n  - resource: https://example.com/b\n"
        "owner: {name: Ada, on_call: false, level: 3, ratio: 0.5, none: null}\n---\nOne row per customer.\n"
    ),
    "playbooks/on call/restart.md": (
        "---\ntype: Playbook\ntitle: Restart\ntimestamp: '2026-05-18T23:59:59.123456+02:00'\n"
        "generated: {by: agent, at: 2026-05-18}\nNo: 12:30\n---\nSee [orders](/tables/orders.md) and [[customers]].\n"
    ),
    "metrics/größe.md": "---\ntype: Metric\n---\nÜber 東京 🫖, from `orders`.\n",
}
KEPT: dict[str, dict[str, object]] = {
    "tables/orders.md": {
        "type": "Table",
        "description": "One row per order.",
        "resource": "https://example.com/orders",
        "status": "active",
        "links": ["customers.md#id"],
    },
    "tables/customers.md": {
        "stale_after": "2027-01-01",
        "sources": [
            {"resource": "https://example.com/a", "title": "A"},
            {"resource": "https://example.com/b"},
        ],
        "owner": {"name": "Ada", "on_call": False, "level": 3, "ratio": 0.5, "none": None},
    },
    "playbooks/on call/restart.md": {
        "type": "Playbook",
        "No": "12:30",
        "timestamp": "2026-05-18T23:59:59.123456+02:00",
        "generated": {"by": "agent", "at": "2026-05-18"},
    },
    "metrics/größe.md": {"type": "Metric"},
}


@pytest.fixture
def new_system(
    cluster: postgres.EmbeddedPostgres, new_database: Callable[[], str], tmp_path: Path
) -> Iterator[Callable[[], System]]:
    with ExitStack() as systems:

        def make() -> System:
            directory = Path(tempfile.mkdtemp(dir=tmp_path))
            return systems.enter_context(opened_system(cluster, new_database(), directory))

        yield make


def _import(system: System, path: Path) -> list[ExportedMemory]:
    """Import a file or folder. Return all memories that are then stored."""
    destination = DeliveringDestination(system)
    journal = Journal(path, destination.name)
    importer.run(read(path), Source.at(path), destination, journal, lambda count: None)
    system.deliver()
    post_import_updates.apply([journal], destination)
    assert journal.totals().states["failed"] == 0, list(journal.failures())
    journal.finish()
    return list(system.memories.export(100))


def _files(memories: list[ExportedMemory], folder: Path, format_: str) -> Path:
    """Write the memories as `mnemosyne export` does."""
    folder.mkdir()
    if format_ == "jsonl":
        (folder / "all.jsonl").write_text("".join(map(to_jsonl, map(to_record, memories))))
        return folder / "all.jsonl"
    for name, text in map(to_markdown, map(to_record, memories)):
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    for name, text in BUNDLE.items():
        path = tmp_path / "bundle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "bundle"


@pytest.mark.parametrize("format_", ["jsonl", "markdown"])
def test_a_bundle_is_the_same_after_an_export_and_an_import(
    new_system: Callable[[], System], bundle: Path, tmp_path: Path, format_: str
) -> None:
    first = _import(new_system(), bundle)
    second = _import(new_system(), _files(first, tmp_path / "exported", format_))
    assert {memory.content_hash: memory.fields for memory in second} == {
        memory.content_hash: memory.fields for memory in first
    }


def test_every_property_path_link_and_date_of_a_bundle_is_exported(
    new_system: Callable[[], System], bundle: Path
) -> None:
    exported = {str(memory.metadata["path"]): memory for memory in _import(new_system(), bundle)}
    assert exported.keys() == KEPT.keys()
    for path, properties in KEPT.items():
        memory = exported[path]
        assert {name: memory.metadata.get(name, "absent") for name in properties} == properties
        assert memory.content == BUNDLE[path].split("---\n", 2)[2]
    orders = exported["tables/orders.md"]
    assert (orders.title.split(" (")[0], set(orders.tags)) == ("Orders", {"sales", "année"})
    assert orders.timestamp.isoformat() == "2026-05-20T14:30:00+00:00"
    restart = exported["playbooks/on call/restart.md"]
    assert restart.timestamp.isoformat() == "2026-05-18T00:00:00+00:00"
