"""Imports and exports on a running system."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.dev import DevServer, fill, run

pytestmark = pytest.mark.slow


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the memories of an export, without the fields that an ordinary import does not keep."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    own = ("id", "created_at", "mnemosyne_export")
    return [{k: v for k, v in row.items() if k not in own} for row in rows if "content" in row]


@pytest.mark.parametrize("via", ["mcp", "pubsub"])
def test_an_import_ends_with_the_outcome_of_each_memory(dev: DevServer, tmp_path: Path, via: str) -> None:
    source = tmp_path / "memories.jsonl"
    rows = [{"content": f"{via} import {n}", "timestamp": "2026-05-20T12:00:00Z", "tags": [via]} for n in range(40)]
    source.write_text("\n".join([*map(json.dumps, [*rows, rows[0]]), '{"content": ""}']))
    where = ("--url", dev.url) if via == "mcp" else ("--data-dir", dev.directory / "data")
    ended = run("import", source, "--via", via, *where, "--json")
    assert json.loads(ended.stdout) == {"stored": 40, "duplicate": 1, "failed": 1}
    assert ended.returncode == 1
    failures = [json.loads(line) for line in Path(f"{source}.failures.jsonl").read_text().splitlines()]
    assert failures[0]["content"] == ""
    failure = failures[0]["import_failure"]
    assert failure["place"] == f"{source}:42"
    assert "content must have at least 1 character" in failure["error"]


def test_a_file_with_two_names_is_imported_once(dev: DevServer, tmp_path: Path) -> None:
    source, link = tmp_path / "memories.jsonl", tmp_path / "link.jsonl"
    source.write_text(json.dumps({"content": "two names", "timestamp": "2026-05-20"}))
    link.symlink_to(source)
    ended = run("import", source, link, "--url", dev.url)
    assert ended.stdout == "1 stored, 0 duplicate, 0 failed.\n"


def test_an_export_imported_into_another_system_gives_the_same_export(own_dev: DevServer, tmp_path: Path) -> None:
    own_dev.start()
    ids = [
        own_dev.outcome(own_dev.ingest(content, **fields))["memory_id"]
        for content, fields in (
            ("TITLE: Tea\nTAGS: x\n🜚 שלום\n", {"tags": ["Ünï"], "metadata": {"k": [1, None, {"z": 2.5}]}}),
            ("old", {}),
            ("new", {"title": "a title of its own", "timestamp": "2020-02-29T23:59:59.999999+02:00"}),
        )
    ]
    own_dev.call("update_memory", {"id": ids[1], "superseded_by": ids[2]})
    changed = own_dev.outcome(own_dev.ingest("TITLE: T\nTAGS: alpha, beta\nx"))["memory_id"]
    own_dev.call("update_memory", {"id": changed, "tags": ["gamma"], "title": "U"})
    first, second, other = tmp_path / "1.jsonl", tmp_path / "2.jsonl", tmp_path / "other"
    fill(other)
    assert run("export", "--data-dir", own_dev.directory / "data", "--output", first).returncode == 0
    assert run("import", first, "--data-dir", other).stdout == "4 stored, 0 duplicate, 0 failed.\n"
    assert run("export", "--data-dir", other, "--output", second).returncode == 0
    assert _lines(second) == _lines(first)
    assert sum("superseded_by_hash" in line for line in _lines(first)) == 1
    assert [line["tags"] for line in _lines(second) if line["title"] == "U"] == [["gamma"]]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("notes.txt", "looks like JSON lines"),
        ("empty", "has no file that can be imported"),
        ("/dev/stdin", "is not a regular file: import reads it twice"),
    ],
)
def test_a_path_that_cannot_be_imported_is_an_error_with_the_reason(
    dev: DevServer, tmp_path: Path, name: str, message: str
) -> None:
    line = '{"content": "x", "timestamp": "2026-05-20T12:00:00Z"}\n'
    (tmp_path / "notes.txt").write_text(line)
    (tmp_path / "empty").mkdir()
    ended = run("import", tmp_path / name, "--data-dir", dev.directory / "data", stdin_text=line)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert message in ended.stderr


@pytest.mark.nightly  # by day, test_importer.py reads the progress bar of an import in the test's process
def test_an_import_in_a_terminal_shows_progress_rate_and_remaining_time(dev: DevServer, tmp_path: Path) -> None:
    source = tmp_path / "memories.jsonl"
    rows = [{"content": f"shown {n}", "timestamp": "2026-05-20", "mood": "fine"} for n in range(200)]
    source.write_text("\n".join(map(json.dumps, rows)))
    terminal, other_end = pty.openpty()
    # The test stops the importing process for a moment. COMMAND would not do, because it starts a process that only
    # waits for another process, which does the work.
    program = Path(sys.executable).with_name("mnemosyne")
    command = [str(program), "import", str(source), "--data-dir", str(dev.directory / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other_end) as importing:
        os.close(other_end)
        terminal_output = b""
        with suppress(OSError):  # the end of a terminal's output
            while more := os.read(terminal, 10_000):
                if b"0/200" in more and b"0/200" not in terminal_output:
                    # The command shows the remaining time after a second. On a fast machine the import would have ended
                    # before, so it is stopped for a moment.
                    importing.send_signal(signal.SIGSTOP)
                    with suppress(subprocess.TimeoutExpired):
                        importing.wait(1.1)
                    importing.send_signal(signal.SIGCONT)
                terminal_output += more
        assert importing.wait(60) == 0
    os.close(terminal)
    assert re.search(rb"200/200 .*?[1-9][\d,]*/s", terminal_output), terminal_output
    assert re.search(rb"\d\d:\d\d:\d\d", terminal_output), terminal_output
    assert b"left out, because memories have no such fields: mood (200 memories)" in terminal_output
