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

    def __init__(self, archives: Archives, after: int, write: Callable[[MemoryStore], object]) -> None:
        self._archive, self._after, self._write = archives, after, write
        self.count = 0

    def run(self, operation: Operation) -> dict[str, Any]:
        answer = self._archive.system.run(operation)
        self.count += 1
        if self.count == self._after:
            self._write(self._archive.store)
        return answer


Export = Callable[[_Writing], tuple[bool, bool]]


@pytest.fixture
def run_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Export:
    """Function that runs `mnemosyne export`. It returns whether the file is marked, and whether there is a warning."""

    def run(system: _Writing) -> tuple[bool, bool]:
        capsys.readouterr()
        monkeypatch.setattr(export, "memory_system", lambda **_: nullcontext(system))
        export._export("jsonl", tmp_path / "all.jsonl", "ns", {})
        lines = map(json.loads, (tmp_path / "all.jsonl").read_text().splitlines())
        is_marked = any("changed" in line.get("mnemosyne_export", {}) for line in lines)
        return is_marked, WARNING in capsys.readouterr().err

    return run


@pytest.mark.parametrize("write", WRITES)
def test_a_write_at_any_point_of_an_export_is_noticed(
    archive: Archives, empty: Callable[[], None], run_export: Export, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    monkeypatch.setattr(operations, "PAGE", 1)
    monkeypatch.setattr(operations, "ROWS", 1)
    after, ended = 0, False
    while not ended:
        empty()
        _ingest(archive.store, version("a", "a in version 1", 10))
        _ingest(archive.store, version("b", "b in version 1", 20))
        system = _Writing(archive, after, WRITES[write])
        noticed = run_export(system)
        ended = system.count <= after
        is_during = 0 < after < system.count
        assert noticed == (is_during, is_during), after
        after += 1
    assert after > 6


def test_a_change_of_labels_during_an_export_needs_no_warning(archive: Archives, run_export: Export) -> None:
    memory_id = store_content(archive.store, "tea")
    system = _Writing(archive, 1, lambda store: store.update(memory_id, MemoryChange(title="green tea")))
    assert run_export(system) == (False, False)


def test_a_restore_of_such_an_export_warns(
    archive: Archives,
    empty: Callable[[], None],
    run_export: Export,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(restore, "_owners_system", lambda _: nullcontext(archive.system))
    for after in (0, 1):
        empty()
        _ingest(archive.store, version("a", "a in version 1", 10))
        run_export(_Writing(archive, after, WRITES["a newer version"]))
        empty()
        restore.restore_files([tmp_path / "all.jsonl"], "ns", None, as_json=False)
        printed = capsys.readouterr()
        assert (WARNING in printed.err) == bool(after)
        assert " restored" in printed.out
