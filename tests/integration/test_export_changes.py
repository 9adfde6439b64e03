"""A namespace that changes during an export: the export and a later restore warn about it."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.app.operations import export as operations
from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import export, restore
from mnemosyne.domain.memory_changes import MemoryChange
from tests.fakes import request
from tests.integration.test_archive import Archives, _ingest, archive, empty
from tests.memories import store_content
from tests.records import deletion, version

__all__ = ["archive", "empty"]

WARNING = "changed while it was exported"


def _delete_newest(store: MemoryStore) -> None:
    store.delete(max(store.export(500), key=lambda memory: memory.timestamp).id)


WRITES: dict[str, Callable[[MemoryStore], object]] = {
    "a newer version": lambda store: _ingest(store, version("a", "a in version 2", 50)),
    "an older version": lambda store: _ingest(store, version("a", "a in version 0", 1)),
    "a new record": lambda store: _ingest(store, version("c", "the first c", 2)),
    "a memory without a key": lambda store: _ingest(store, request("tea")),
    "a duplicate": lambda store: _ingest(store, request("a in version 1")),
    "a deletion of a record": lambda store: store.delete_records([deletion("a", 60)]),
    "a deletion of a memory": _delete_newest,
}


class _Writing:
    """A system whose store is changed by `write` after a given number of operations."""

    def __init__(self, archive: Archives, after: int, write: Callable[[MemoryStore], object]) -> None:
        self._archive, self._after, self._write = archive, after, write
        self.count = 0

    def run(self, operation: Operation) -> dict[str, Any]:
        """Run an operation. If it is the given one in the order of operations, change the store afterwards."""
        answer = self._archive.system.run(operation)
        self.count += 1
        if self.count == self._after:
            self._write(self._archive.store)
        return answer


def _export(system: object, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "memory_system", lambda **_: nullcontext(system))
    export._export("jsonl", path, "ns", {})


def _is_marked(path: Path) -> bool:
    return any("changed" in json.loads(line).get("mnemosyne_export", {}) for line in path.read_text().splitlines())


@pytest.mark.parametrize("write", WRITES)
def test_a_write_at_any_point_of_an_export_is_noticed(
    archive: Archives,
    empty: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    write: str,
) -> None:
    monkeypatch.setattr(operations, "PAGE", 1)
    monkeypatch.setattr(operations, "ROWS", 1)
    path, after, ended = tmp_path / "all.jsonl", 0, False
    while not ended:
        empty()
        _ingest(archive.store, version("a", "a in version 1", 10))
        _ingest(archive.store, version("b", "b in version 1", 20))
        capsys.readouterr()
        system = _Writing(archive, after, WRITES[write])
        _export(system, path, monkeypatch)
        ended = system.count <= after
        is_during = 0 < after < system.count
        assert (_is_marked(path), WARNING in capsys.readouterr().err) == (is_during, is_during), after
        after += 1
    assert after > 6


def test_a_change_of_labels_during_an_export_needs_no_warning(
    archive: Archives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memory_id = store_content(archive.store, "tea")
    system = _Writing(archive, 1, lambda store: store.update(memory_id, MemoryChange(title="green tea")))
    _export(system, tmp_path / "all.jsonl", monkeypatch)
    assert not _is_marked(tmp_path / "all.jsonl")
    assert WARNING not in capsys.readouterr().err


def test_a_restore_of_such_an_export_warns(
    archive: Archives,
    empty: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "all.jsonl"
    monkeypatch.setattr(restore, "_owners_system", lambda _: nullcontext(archive.system))
    for after in (0, 1):
        empty()
        _ingest(archive.store, version("a", "a in version 1", 10))
        _export(_Writing(archive, after, WRITES["a newer version"]), path, monkeypatch)
        empty()
        capsys.readouterr()
        restore.restore_files([path], "ns", None, as_json=False)
        printed = capsys.readouterr()
        assert (WARNING in printed.err) == bool(after)
        assert " restored" in printed.out
