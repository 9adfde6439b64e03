"""A folder of notes (a vault) is imported into a running system, edited, and imported again."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.dev import DevServer, run
from tests.forks import REAL
from tests.vault import Note, notes

pytestmark = pytest.mark.slow


def _write(folder: Path, note: Note, text: str) -> None:
    path = folder / note.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def _contents(dev: DevServer, **arguments: Any) -> list[str]:
    return [memory["content"] for memory in dev.call("memory_search", arguments)["memories"]]


def test_a_vault_is_stored_found_by_name_edited_and_imported_again(own_dev: DevServer, tmp_path: Path) -> None:
    own_dev.start()
    vault = tmp_path / "vault"
    vault.mkdir()
    written = notes()
    assert len(written) == 30
    for note in written:
        _write(vault, note, note.text)
    (vault / ".trash").mkdir()
    (vault / ".trash" / "gone.md").write_text("thrown away")
    (vault / "scan.pdf").write_bytes(b"%PDF-1.7")

    first = run("import", vault, "--url", own_dev.url)
    assert first.stdout == "30 stored, 0 duplicate, 0 failed.\n", first.stderr
    assert "hidden folders: .trash" in first.stderr
    assert "a PDF" in first.stderr
    missing = [
        n.name for n in written if not any(n.body in content for content in _contents(own_dev, query=n.name, limit=5))
    ]
    assert missing == []

    edited = written[::5]
    for note in edited:
        _write(vault, note, note.text.replace(note.body, f"{note.body} Changed."))
    again = run("import", vault, "--data-dir", own_dev.directory / "data")
    assert again.stdout == "6 stored, 24 duplicate, 0 failed.\n", again.stderr
    for note in edited:
        contents = [content for content in _contents(own_dev, query=note.body, limit=20) if note.body in content]
        assert contents and all(f"{note.body} Changed." in hit for hit in contents)
    exported = run("export", "--data-dir", own_dev.directory / "data")
    rows = [json.loads(line) for line in exported.stdout.splitlines()]
    assert sum("superseded_by_hash" in row for row in rows) == 6


def test_changed_properties_of_a_note_are_imported(dev: DevServer, tmp_path: Path) -> None:
    note = tmp_path / "Labels of the lamp.md"
    where = ("--url", dev.url)
    note.write_text("---\ndate: 2026-05-20\ntags: [old]\n---\nThe lamp with labels.")
    assert run("import", note, *where).stdout == "1 stored, 0 duplicate, 0 failed.\n"
    note.write_text("---\ndate: 2026-05-20\ntags: [new]\n---\nThe lamp with labels.")
    assert run("import", note, *where).stdout == "0 stored, 1 duplicate, 0 failed.\n"
    (memory,) = dev.call("memory_search", {"query": "lamp with labels", "limit": 1})["memories"]
    assert memory["tags"] == ["new"]


@pytest.mark.parametrize("way", ["--url", *(pytest.param(way, marks=pytest.mark.nightly) for way in ("mcp", "pubsub"))])
def test_an_edited_note_with_an_earlier_date_is_reported(dev: DevServer, tmp_path: Path, way: str) -> None:
    note = tmp_path / "Moved back.md"
    where = ("--url", dev.url) if way == "--url" else ("--via", way, "--data-dir", dev.directory / "data")
    note.write_text(f"---\ndate: 2026-05-20\n---\nThe heron came, by {way}.")
    assert run("import", note, *where).stdout == "1 stored, 0 duplicate, 0 failed.\n"
    note.write_text(f"---\ndate: 2026-05-10\n---\nThe heron came earlier, by {way}.")
    completed = run("import", note, *where)
    assert (completed.returncode, completed.stdout) == (1, "1 stored, 0 duplicate, 0 failed.\n"), completed.stderr
    failed = json.loads(Path(f"{note}.failures.jsonl").read_text())
    assert "an earlier version of the note has a later time" in failed["import_failure"]["error"]
    assert "1 failure with causes" in completed.stderr


def test_notes_in_a_read_only_folder_are_imported_and_failures_are_listed_in_another_directory(
    dev: DevServer, tmp_path: Path
) -> None:
    folder, home = tmp_path / "read-only", tmp_path / "home"
    source = folder / "vault"
    source.mkdir(parents=True)
    home.mkdir()
    (source / "bad.md").write_text("---\ndate: 2026\n---\nWrong.")
    for directory in (source, folder):
        directory.chmod(0o555)
    # Root can write to read-only folders, unless the process drops this capability.
    unprivileged = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    command: list[str | Path] = [*unprivileged, REAL, "import", source, "--url", dev.url]
    completed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert (completed.returncode, completed.stdout) == (1, "0 stored, 0 duplicate, 1 failed.\n"), completed.stderr
    (failures,) = (home / "state" / "mnemosyne" / "imports").iterdir()
    assert str(failures) in completed.stderr
    assert "import_failure" in json.loads(failures.read_text())
    assert [*folder.iterdir()] == [source]


def test_failed_records_can_be_corrected_and_imported(dev: DevServer, tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    row = {"content": "The ladder stands in the shed.", "source": "tools", "key": 7, "tags": ["shed"]}
    source.write_text(json.dumps({**row, "timestamp": 2026}))
    where = ("--url", dev.url)
    failures = Path(f"{source}.failures.jsonl")
    refused = run("import", source, *where)
    advice = f"Correct the records in {failures} or in {source}, and import again."
    assert (refused.returncode, refused.stderr) == (1, f"1 failure with causes: {failures}\n{advice}\n")
    failed = json.loads(failures.read_text())
    assert "timestamp must be a date, got 2026" in failed["import_failure"]["error"]
    failures.write_text(json.dumps({**failed, "timestamp": 20260520}))
    corrected = run("import", failures, *where)
    assert (corrected.stdout, corrected.stderr) == ("1 stored, 0 duplicate, 0 failed.\n", "")


def test_a_record_whose_memory_was_deleted_is_counted_as_not_stored(dev: DevServer, tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    row = {"content": "The wheelbarrow is lent out.", "source": "garden", "key": "1", "timestamp": "2026-05-20"}
    source.write_text(json.dumps(row))
    where = ("--url", dev.url)
    assert run("import", source, *where).stdout == "1 stored, 0 duplicate, 0 failed.\n"
    (memory,) = dev.call("memory_search", {"query": "wheelbarrow lent", "limit": 1})["memories"]
    dev.call("delete_memory", {"id": memory["id"]})
    again = run("import", source, *where)
    assert (again.returncode, again.stdout) == (0, "0 stored, 0 duplicate, 0 failed, 1 not stored.\n")
    assert "rows.jsonl: 1 memory not stored: each was deleted or has expired" in again.stderr
    source.write_text(json.dumps({"op": "delete", "source": "garden", "key": "1", "timestamp": "2026-05-21"}))
    assert run("import", source, *where).stdout == "0 stored, 0 duplicate, 0 failed, 1 deleted.\n"


def test_the_advice_for_a_record_that_has_expired_stores_it(dev: DevServer, tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    row = {"content": "The marquee is booked.", "source": "garden", "key": "2"}
    where = ("--url", dev.url)
    source.write_text(json.dumps({**row, "timestamp": "2026-05-20", "expires_at": "2026-05-21"}))
    expired = run("import", source, *where)
    assert expired.stdout == "0 stored, 0 duplicate, 0 failed, 1 not stored.\n"
    assert "to store it, give a later timestamp and expires_at" in expired.stderr
    source.write_text(json.dumps({**row, "timestamp": "2026-05-22", "expires_at": "2099-05-21"}))
    assert run("import", source, *where).stdout == "1 stored, 0 duplicate, 0 failed.\n"
