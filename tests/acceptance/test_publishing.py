"""The script, commands, SQL statements and pipeline of docs/ingestion.md, as a data engineer would use them."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import expressions

from mnemosyne.cli.local.emulator import PROJECT, TOPIC
from mnemosyne.domain.memory_input import MemoryInput
from tests.packages import environment
from tests.publisher import Publisher, publishing
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples"
COUNT = int(os.environ.get("PUBLISHED_MESSAGES", "100"))
"""Number of messages. With PUBLISHED_MESSAGES=10000, the tests take more than a minute."""
BEAM = ("apache-beam==2.77.0", "google-cloud-pubsub==2.44.0")


@pytest.fixture(scope="module")
def publisher(emulator: str) -> Iterator[Publisher]:
    with publishing(emulator) as new_publisher:
        yield new_publisher


def _line(number: int) -> str:
    """Return a line of the file. Of each hundred lines, lines 10, 20, 30, 40, 50 and 60 are unusual or invalid."""
    memory: dict[str, Any] = {"content": f"row {number}", "timestamp": "2026-05-20T12:00:00Z"}
    match number % 100:
        case 10:
            return json.dumps(memory)[:-5]
        case 20:
            return "no JSON at all"
        case 30:
            return json.dumps({**memory, "content": f"row {number - 1}"})
        case 40:
            return json.dumps({**memory, "namespace": "theirs"})
        case 50:
            return json.dumps({**memory, "timestamp": "yesterday"})
        case 60:
            return json.dumps([memory])
    return json.dumps(memory)


def test_the_script_reports_the_outcome_of_each_message(publisher: Publisher, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(_line(n) + "\n" for n in range(1, COUNT + 1)))
    (tmp_path / "keys").write_text("".join(f"{n}\n" for n in range(1, COUNT + 1)))
    command = [sys.executable, str(EXAMPLES / "publish.py"), TOPIC, "default", "rows.jsonl"]
    for _ in range(2):  # twice: a record with source and key is stored once
        completed = subprocess.run(
            command, cwd=tmp_path, env=publisher.environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert completed.returncode == 0, completed.stderr
    arguments = ("outcomes", "--source", "rows.jsonl", "--keys", str(tmp_path / "keys"))
    rows: list[dict[str, Any]] = []

    def ended() -> bool:
        rows[:] = publisher.rows(*arguments)
        return all(row["state"] != "unknown" for row in rows)

    wait_until(ended, "every message has its outcome", seconds=COUNT / 20 + 60)
    hundreds = COUNT // 100
    assert [row["key"] for row in rows] == [str(n) for n in range(1, COUNT + 1)]
    assert Counter(row["state"] for row in rows) == {
        "stored": 94 * hundreds,
        "duplicate": hundreds,
        "failed": 5 * hundreds,
    }
    reasons = {int(row["key"]) % 100: row["error"] for row in rows if row["state"] == "failed"}
    assert re.match("message data must be JSON", reasons[10])
    assert re.match("message data must be JSON", reasons[20])
    assert reasons[40] == 'namespace must be "default", got "theirs"'
    assert "timestamp must be RFC 3339" in reasons[50]
    assert reasons[60].endswith("got an array; publish an object with the array memories")
    assert publisher.dev.call("memory_stats", {})["memories"] == 94 * hundreds
    assert not (publisher.dev.directory / "data" / "queue.db").exists(), "the emulator is the only queue"


def test_the_page_shows_the_script_that_is_tested() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (DOCS / "ingestion.md").read_text(), re.DOTALL)
    assert (EXAMPLES / "publish.py").read_text().endswith(example)


def test_gcloud_publishes_as_the_page_says(publisher: Publisher, tmp_path: Path) -> None:
    if shutil.which("gcloud") is None:
        pytest.skip("NOT TESTED: gcloud is not installed")
    (command,) = re.findall(
        r"^    (gcloud pubsub .*?)\n\n", (DOCS / "ingestion.md").read_text(), re.MULTILINE | re.DOTALL
    )
    # Publish to the emulator's topic instead of a publisher's own topic. All namespaces share it, so name a namespace.
    command = command.replace("mnemosyne-publisher-crm", "ingest").replace("key=1", "key=1,namespace=default")
    command = command.replace("MY-PROJECT", PROJECT)
    where = {
        "CLOUDSDK_CONFIG": str(tmp_path),
        "CLOUDSDK_CORE_PROJECT": PROJECT,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB": f"http://{publisher.environment['PUBSUB_EMULATOR_HOST']}/",
        "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
    }
    completed = subprocess.run(
        ["bash", "-c", command], env={**os.environ, **where}, capture_output=True, text=True, timeout=120, check=False
    )
    assert completed.returncode == 0, completed.stderr
    arguments = ("outcomes", "--source", "by-hand")
    # Wait long enough, because the messages that the previous test has published twice are stored first.
    is_stored = lambda: [row["state"] for row in publisher.rows(*arguments)] == ["stored"]  # noqa: E731
    wait_until(is_stored, "it is stored", seconds=COUNT / 20 + 60)


@pytest.mark.nightly
def test_the_beam_pipeline_publishes_valid_messages_and_a_second_run_stores_no_duplicates(
    publisher: Publisher, tmp_path: Path
) -> None:
    python = environment(Path(__file__).parent / ".beam", *BEAM)
    tickets = [
        {"id": n, "text": f"ticket {n}", "created_at": "2026-05-20T12:00:00Z" if n else "when?"} for n in range(250)
    ]
    (tmp_path / "tickets.jsonl").write_text("\n".join(map(json.dumps, tickets)))
    arguments = (EXAMPLES / "beam_publish.py", TOPIC, "default", tmp_path / "tickets.jsonl")
    command = [str(python), *map(str, arguments)]
    for _ in range(2):
        completed = subprocess.run(
            command, env=publisher.environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert completed.returncode == 0, completed.stderr[-2000:]
    outcomes = ("outcomes", "--source", "https://crm.example.com/tickets")
    wait_until(lambda: len(publisher.rows(*outcomes)) == 250, "every row has its outcome", seconds=COUNT / 20 + 60)
    assert Counter(row["state"] for row in publisher.rows(*outcomes)) == {"stored": 249, "failed": 1}


@pytest.mark.parametrize("name", ["bigquery_continuous.sql", "bigquery_bucket.sql"])
def test_the_statements_for_bigquery_are_valid_and_make_valid_messages(name: str) -> None:
    text = (EXAMPLES / name).read_text()
    query = re.search(r"AS \(\n(  SELECT.*)\n\);", text, re.DOTALL)
    assert query
    parsed: Any = sqlglot.parse_one(
        query[1].replace("APPENDS(TABLE `crm.tickets`", "APPENDS(`crm.tickets`"), read="bigquery"
    )
    named_columns = {
        field.alias_or_name
        for struct in parsed.find_all(expressions.Struct)
        for field in struct.expressions
        if struct.find_ancestor(expressions.Struct) is None
    }
    selected = set(parsed.named_selects)
    columns = named_columns if selected == {"message"} else selected
    assert {"content", "timestamp"} <= columns <= set(MemoryInput.model_fields)
