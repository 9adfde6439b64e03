"""Import from a bucket, through notification, reader, topic and `ingest`: each line has one outcome despite faults."""

import gzip
import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes_wire.gemini import GeminiServer
from tests.integration.faults.conftest import Cloud
from tests.waiting import wait_until

pytestmark = pytest.mark.exhaustive  # each takes seconds to minutes, because processes are killed and frozen

BUCKET = "memories"
SECONDS = 600


def _line(content: str, **fields: Any) -> str:
    return json.dumps({"content": content, "timestamp": "2026-05-20T12:00:00Z", **fields})


def _reports(cloud: Cloud, name: str) -> list[list[dict[str, Any]]]:
    """Return the reports that an import has written next to the object in the bucket, as parsed JSON lines."""
    reports = [
        report for key, report in cloud.storage.objects.items() if key[1].startswith(f"{name}.") and "report" in key[1]
    ]
    return [[json.loads(line) for line in hit.data.splitlines()] for hit in reports]


def _report(cloud: Cloud, name: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait until there is this number of reports, and return the newest report."""
    wait_until(lambda: len(_reports(cloud, name)) == count, f"report {count} of {name} is there", seconds=SECONDS)
    return _reports(cloud, name)[-1]


def _fail_during_the_import(cloud: Cloud, faults: list[tuple[int, Callable[[], None]]]) -> None:
    """Cause faults during an import.

    Each fault has a number. It happens when the embedder has received more than this number of memories, before the
    embedder answers.
    """
    asked: set[str] = set()
    one_call = threading.Lock()

    def strike(gemini: GeminiServer) -> None:
        with one_call:
            asked.update(re.findall(r"memory \d+", gemini.body))
            while faults and len(asked) > faults[0][0]:
                faults.pop(0)[1]()

    cloud.gemini.fault = strike


@pytest.mark.parametrize("count", [200, pytest.param(3_000, marks=pytest.mark.nightly)])
def test_each_line_has_one_outcome_despite_faults_of_every_part(cloud: Cloud, count: int) -> None:
    cloud.watch_bucket()
    name = f"{count}.jsonl.gz"
    lines = [_line(f"memory {n}") for n in range(count)]
    lines[10] = "not JSON"
    lines[count // 2] = _line("")
    lines[count * 2 // 3] = _line("memory 1")
    reads = iter(range(100_000))
    cloud.storage.fault = lambda request: "drop" if "alt=media" in request and next(reads) == 0 else ""
    faults = [
        (count // 10, cloud.kill_ingest),
        (count * 3 // 10, cloud.restart_postgres),
        (count // 2, cloud.kill_ingest),
        (count * 6 // 10, cloud.reader.crash_instance),
    ]
    _fail_during_the_import(cloud, faults)
    cloud.storage.put(BUCKET, name, gzip.compress("\n".join(lines).encode()))
    summary, *outcomes = _report(cloud, name)
    assert summary["memories"] == count
    assert [outcome["line"] for outcome in outcomes] == list(range(1, count + 1))
    assert Counter(outcome["state"] for outcome in outcomes) == {"stored": count - 3, "duplicate": 1, "failed": 2}
    assert {outcome["line"]: outcome["error"] for outcome in outcomes if outcome["state"] == "failed"} == {
        11: "a line must be JSON: Expecting value: line 1 column 1 (char 0)",
        count // 2 + 1: "content must have at least 1 character, got 0",
    }
    assert cloud.count() == count - 3
    assert not faults, "each fault has struck"


def test_an_overwritten_object_stores_its_new_lines_and_each_generation_has_a_report(cloud: Cloud) -> None:
    cloud.watch_bucket()
    cloud.storage.put(BUCKET, "notes.jsonl", _line("one").encode() + b"\n" + _line("two").encode())
    first, *_ = _report(cloud, "notes.jsonl")
    cloud.storage.put(BUCKET, "notes.jsonl", _line("two").encode() + b"\n" + _line("three").encode())
    second, *_ = _report(cloud, "notes.jsonl", 2)
    assert (first["stored"], second["stored"], second["duplicate"]) == (2, 1, 1)
    assert cloud.count() == 3


def test_notes_with_their_properties_and_chronicles_are_read(cloud: Cloud) -> None:
    cloud.watch_bucket()
    cloud.storage.put(BUCKET, "a note.md", b"---\ntags: home\nmood: fine\n---\nBuy seeds.")
    chronicle = "[[[CHRONICLE_START]]]\nTS: 2026-05-20\nBODY: tea\n[[[CHRONICLE_END]]]\n"
    cloud.storage.put(BUCKET, "log.txt", ("preamble\n" + chronicle * 2).encode())
    note, *_ = _report(cloud, "a note.md")
    log, *outcomes = _report(cloud, "log.txt")
    assert (note["stored"], note["left_out"]) == (1, {})
    assert (log["stored"], log["duplicate"]) == (1, 1)
    assert [outcome["line"] for outcome in outcomes] == [2, 6]


def test_an_object_that_cannot_be_imported_is_reported_and_not_retried_for_ever(cloud: Cloud) -> None:
    cloud.watch_bucket()
    cloud.storage.put(BUCKET, "picture.png", b"\x89PNG")
    lines = "".join(f"{_line(f'kept {n}')}\n" for n in range(200))
    cloud.storage.put(BUCKET, "cut.jsonl.gz", gzip.compress(lines.encode())[:-100])
    assert _report(cloud, "picture.png")[0]["error"].startswith("picture.png must end in .jsonl")
    summary, *outcomes = _report(cloud, "cut.jsonl.gz")
    assert "must be a complete gzip file" in summary["error"]
    assert summary["memories"] == len(outcomes) > 0
