"""Output, files and error messages of commands in a terminal."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from mnemosyne.cli.clients import how_to_connect
from tests.dev import DevServer, run

pytestmark = pytest.mark.slow

NOWHERE = "http://127.0.0.1:9/mcp"


def test_a_memory_is_remembered_from_standard_input_and_found_by_label_and_time(dev: DevServer) -> None:
    at = ("--url", dev.url)
    remembered = run("remember", "-", "--tag", "kiln", *at, stdin_text="The kiln\nis \x1b[31mhot.")
    assert remembered.stdout.startswith("Stored as")
    output = run("search", "kiln", "--tag", "kiln", "--when", "today", *at).stdout
    assert "#kiln\n    The kiln\n    is <U+001B>[31mhot.\n" in output
    assert run("search", "kiln", "--tag", "kiln", "--when", "last year", *at).stdout == "No memories found.\n"
    assert "not white space" in run("remember", " ", *at).stderr


def test_a_search_in_a_terminal_names_near_duplicates(dev: DevServer) -> None:
    dev.remember("Ada's kettle is from Riga.")
    dev.remember("Ada's kettle is from Riga")
    printed = run("search", "Ada's kettle", "--limit", "2", "--url", dev.url).stdout
    assert printed.count("kettle is from") == 1
    assert printed.count("(the same text except for white space or a full stop: ") == 1


@pytest.mark.parametrize("way", [pytest.param("pubsub", marks=pytest.mark.nightly), "mcp"])
def test_an_import_reads_local_times_in_the_zone_that_is_named(dev: DevServer, tmp_path: Path, way: str) -> None:
    files = {
        "a.jsonl": '{"content": "%s lines", "timestamp": "2026-07-01T00:30"}\n',
        "b.md": "---\ntitle: %s note\ndate: 2026-07-01 00:30:00\n---\nA note.",
        "c.txt": "[[[CHRONICLE_START]]]\nTS: 2026-07-01T00:30\nTITLE: %s chronicle\n[[[CHRONICLE_END]]]",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text % way)
    place = ["--url", dev.url] if way == "mcp" else ["--data-dir", dev.directory / "data"]
    paths = [tmp_path / name for name in files]
    run("import", *paths, "--via", way, "--timezone", "Asia/Kolkata", *place)
    result = dev.call(
        "list_memories", {"after": "2026-06-30T18:59:00Z", "before": "2026-06-30T19:01:00Z", "limit": 100}
    )
    assert {memory["title"] for memory in result["memories"]} >= {f"{way} lines", f"{way} note (b)", f"{way} chronicle"}


def test_today_in_a_terminal_is_the_day_of_the_machine(dev: DevServer) -> None:
    zone = "Pacific/Kiritimati"  # fourteen hours before UTC
    midnight = datetime.now(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    for name, moment in {"last": midnight - timedelta(minutes=1), "first": midnight}.items():
        arguments = {"content": f"{zone} {name} minute", "timestamp": moment.isoformat(), "tags": [zone]}
        dev.outcome(dev.call("ingest_memory", arguments)["request_id"])
    command = ("search", "minute", "--when", "today", "--tag", zone, "--url", dev.url)
    output = run(*command, TZ=zone).stdout
    assert f"{zone} first minute" in output and f"{zone} last minute" not in output
    refused = run(*command, "--timezone", "Mars/Phobos")
    assert refused.returncode == 2 and "must be an IANA name" in refused.stderr


def test_the_dates_of_a_forgetting_are_days_of_the_machine(dev: DevServer) -> None:
    zone = "Asia/Kolkata"
    times = ("2019-03-09T23:59", "2019-03-10T00:00", "2019-03-10T23:59", "2019-03-11T00:00")
    memories = [{"content": f"At {time} in {zone}", "timestamp": time, "timezone": zone} for time in times]
    dev.outcomes(dev.call("ingest_memories", {"memories": memories})["request_ids"])
    command = ("forget", "--after", "2019-03-10", "--before", "2019-03-10", "--dry-run")
    output = run(*command, "--data-dir", dev.directory / "data", TZ=zone).stdout
    listed = [line for line in output.splitlines() if line.endswith(f"in {zone}")]
    assert [(line[:10], line.split("At ")[1][:16]) for line in listed] == [("2019-03-10", time) for time in times[1:3]]
    named = run(*command, "--timezone", "UTC", "--data-dir", dev.directory / "data", TZ=zone).stdout
    assert [time in named for time in times] == [False, False, True, True]


def test_a_command_of_an_operator_prints_its_result_and_no_log(dev: DevServer) -> None:
    where = ("--namespace", "quiet", "--data-dir", dev.directory / "data")
    completed = run("quota", "set", "--memories", "5", *where)
    assert (completed.stdout, completed.stderr) == ("Set for namespace quiet; takes effect within a minute.\n", "")
    audited = run("audit", "--json", *where)
    assert [json.loads(line)["action"] for line in audited.stdout.splitlines()] == ["quota_set"]


def test_outcomes_are_shown_since_a_time_in_words(dev: DevServer) -> None:
    request_id = dev.ingest("Since when?")
    dev.outcome(request_id)
    completed = run("outcomes", "--since", "yesterday", "--data-dir", dev.directory / "data")
    assert completed.returncode == 0 and request_id in completed.stdout, completed.stderr


def test_an_address_without_an_mcp_server_is_reported_with_the_fix(dev: DevServer) -> None:
    nowhere = run("search", "x", "--url", NOWHERE)
    assert nowhere.returncode == 1
    assert f"{NOWHERE} cannot be reached" in nowhere.stderr and "start `mnemosyne dev`" in nowhere.stderr
    page = run("search", "x", "--url", dev.url.removesuffix("mcp"))
    assert page.returncode == 1
    assert "POST / is not served; the MCP endpoint is POST /mcp" in page.stderr


def test_a_reading_command_creates_no_system_and_names_the_existing_ones(dev: DevServer, tmp_path: Path) -> None:
    missing = tmp_path / "mistyped"
    ended = run("export", "--data-dir", missing)
    assert ended.returncode == 1
    output = ended.stdout + ended.stderr
    assert f"there is no local system in {missing}" in output and str(dev.directory / "data") in output
    assert not missing.exists()


def test_an_import_into_a_new_directory_says_so_and_names_existing_systems(dev: DevServer, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text('{"content": "Somewhere else.", "timestamp": "2026-01-01"}')
    printed = run("import", file, "--data-dir", "/proc/nowhere").stderr  # this directory cannot be created
    assert "Note: there is no local system in /proc/nowhere; there are local systems in" in printed
    assert str(dev.directory / "data") in printed
    assert "; creating one." in printed


def test_a_function_that_does_not_start_is_reported_with_the_cause(tmp_path: Path) -> None:
    server = DevServer(tmp_path, environment={"MNEMOSYNE_RATE_LIMIT_PER_MINUTE": "many"})
    with pytest.raises(AssertionError, match=r"the function mcp did not start: .*MNEMOSYNE_RATE_LIMIT_PER_MINUTE"):
        server.start()


@pytest.mark.parametrize("line", ["claude mcp add", "MCP Inspector", "mcp-remote", '"httpUrl"', '"type": "http"'])
def test_with_api_keys_each_client_snippet_contains_a_key(line: str) -> None:
    printed = how_to_connect("http://127.0.0.1:8080/mcp", "/data", auth_mode="api_key")
    (snippet,) = (printed_line for printed_line in printed.splitlines() if line in printed_line)
    assert "Authorization" in snippet and "Bearer mnk_…" in snippet


@pytest.mark.parametrize("line", ["remember", 'search "', "curl", "claude mcp add", "MCP Inspector"])
def test_printed_commands_quote_an_address_whose_brackets_a_shell_expands(line: str) -> None:
    printed = how_to_connect("http://[::1]:8080/mcp", "/data")
    (command,) = (printed_line for printed_line in printed.splitlines() if line in printed_line)
    assert "'http://[::1]:8080/mcp'" in command
