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
from uuid import uuid4

import pytest

from tests.dev import COMMAND, DevServer, fill

pytestmark = pytest.mark.slow


def _run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False)


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
    ended = _run("import", source, "--via", via, *where, "--json")
    assert json.loads(ended.stdout) == {"stored": 40, "duplicate": 1, "failed": 1}
    assert ended.returncode == 1
    failures = [json.loads(line) for line in Path(f"{source}.failures.jsonl").read_text().splitlines()]
    assert failures[0]["content"] == ""
    failure = failures[0]["import_failure"]
    assert failure["place"] == f"{source}:42"
    assert "content must have at least 1 character" in failure["error"]
    listed = _run("outcomes", "--source", source, "--data-dir", dev.directory / "data", "--json")
    (outcome,) = map(json.loads, listed.stdout.splitlines())
    assert (outcome["key"], outcome["state"], outcome["error"]) == ("42", "failed", failure["error"])
    again = _run("import", source, "--via", via, *where)
    assert again.stdout == "0 stored, 41 duplicate, 1 failed.\n"


@pytest.mark.parametrize("via", ["mcp", pytest.param("pubsub", marks=pytest.mark.nightly)])
def test_a_corrected_line_with_the_request_id_of_the_stored_line_is_a_failure(
    dev: DevServer, tmp_path: Path, via: str
) -> None:
    source, request_id = tmp_path / "memories.jsonl", uuid4()
    where = ("--url", dev.url) if via == "mcp" else ("--data-dir", dev.directory / "data")
    for content, counts in (
        ("typo", "1 stored, 0 duplicate, 0 failed."),
        ("corrected", "0 stored, 0 duplicate, 1 failed."),
    ):
        row = {"content": f"{via} {content}", "timestamp": "2026-05-20", "request_id": str(request_id)}
        source.write_text(json.dumps(row))
        assert _run("import", source, *where).stdout.strip() == counts


def test_a_file_with_two_names_is_imported_once(dev: DevServer, tmp_path: Path) -> None:
    source, link = tmp_path / "memories.jsonl", tmp_path / "link.jsonl"
    source.write_text(json.dumps({"content": "two names", "timestamp": "2026-05-20"}))
    link.symlink_to(source)
    ended = _run("import", source, link, "--url", dev.url)
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
    notes, third = tmp_path / "notes", tmp_path / "third"
    for directory in (other, third):
        fill(directory)
    assert _run("export", "--data-dir", own_dev.directory / "data", "--output", first).returncode == 0
    assert _run("import", first, "--data-dir", other).stdout == "4 stored, 0 duplicate, 0 failed.\n"
    assert _run("export", "--data-dir", other, "--output", second).returncode == 0
    assert _lines(second) == _lines(first)
    assert sum("superseded_by_hash" in line for line in _lines(first)) == 1
    assert [line["tags"] for line in _lines(second) if line["title"] == "U"] == [["gamma"]]
    assert _run("export", "--format", "markdown", "--data-dir", other, "--output", notes).returncode == 0
    assert _run("import", notes, "--data-dir", third).stdout == "4 stored, 0 duplicate, 0 failed.\n"
    assert _run("export", "--data-dir", third, "--output", second).returncode == 0
    assert _lines(second) == _lines(first)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "notes.txt",
            '{"content": "x", "timestamp": "2026-05-20T12:00:00Z"}\n',
            "looks like JSON lines",
        ),
        ("empty.dir", None, "has no file that can be imported"),
        ("pipe", "", "is not a regular file: import reads it twice"),
    ],
)
def test_an_import_of_an_empty_file_fails(
    dev: DevServer, tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    path = tmp_path / name
    if text is None:
        path.mkdir()
    elif name == "pipe":
        path = Path("/dev/stdin")
    else:
        path.write_text(text)
    completed = subprocess.run(
        [COMMAND, "import", path, "--data-dir", dev.directory / "data"],
        input='{"content": "x", "timestamp": "2026-05-20T12:00:00Z"}\n',
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert completed.returncode == 1
    assert message in completed.stderr
    assert completed.stdout == ""


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
