"""A request that was answered with `queued` is not lost if processes are killed. Ctrl-C leaves no process running."""

import json
import os
import pwd
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemosyne.cli.local.data_dir import is_root
from tests.dev import COMMAND, DevServer, fill, processes_of, run
from tests.forks import REAL
from tests.mcp_client import tool_call
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

NO_PROXY = "http://127.0.0.1:9"
# Environment variable with which another Python interpreter of the same version can import this environment's packages.
PYTHON_PATH = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_queued_memories_are_stored_after_all_processes_were_killed(own_dev: DevServer) -> None:
    own_dev.start()
    own_dev.outcome(own_dev.ingest("warm"))
    request_ids = [own_dev.ingest(f"must not be lost {n}") for n in range(20)]
    own_dev.kill_everything()
    own_dev.start()
    assert {own_dev.outcome(request_id)["state"] for request_id in request_ids} == {"stored"}
    own_dev.stop()
    assert own_dev.process and own_dev.process.returncode == 0
    assert own_dev.printed().rstrip().splitlines()[-1].startswith("Stopped. The memories stay in")
    assert "Traceback" not in own_dev.printed()
    wait_until(lambda: not own_dev.processes(), "no process of it is left")


@pytest.mark.parametrize(
    ("count", "deaths"),
    [
        (300, {50: "ingest", 150: "postgres"}),
        pytest.param(
            3_000,
            {300: "ingest", 900: "postgres", 1_400: "ingest", 1_900: "postgres", 2_400: "ingest"},
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_each_memory_of_an_import_is_stored_once_although_processes_are_killed(
    own_dev: DevServer, count: int, deaths: dict[int, str]
) -> None:
    own_dev.start()
    source = own_dev.directory / "many.jsonl"
    rows = ({"content": f"memory {n} of many", "timestamp": "2026-05-20T12:00:00Z"} for n in range(count))
    source.write_text("\n".join(map(json.dumps, rows)))
    importing = subprocess.Popen(
        [COMMAND, "import", source, "--data-dir", own_dev.directory / "data", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def stored_count() -> int | None:
        """Return None while the database starts again."""
        result = own_dev.call_raw("memory_stats", {})
        return None if result.get("isError") else int(result["structuredContent"]["memories"])

    for stored, die in deaths.items():
        wait_until(lambda least=stored: (stored_count() or 0) >= least, f"{stored} are stored", seconds=120)  # type: ignore[misc]
        if die == "postgres":
            pid_file = own_dev.directory / "data" / "postgres" / "postmaster.pid"
            os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
        else:
            for pid in own_dev.processes():
                with suppress(FileNotFoundError):  # the process has already ended
                    if b"ingest" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                        os.kill(pid, signal.SIGKILL)
    output, errors = importing.communicate(timeout=180)
    assert json.loads(output) == {"stored": count, "duplicate": 0, "failed": 0}, errors
    for name in ("The function ingest", "PostgreSQL"):
        said = f"{name} had ended; starting it again."
        wait_until(lambda said=said: said in own_dev.printed(), said)  # type: ignore[misc]
    # The import can end before PostgreSQL is back, and even before the connections of the killed one have ended.
    wait_until(lambda: stored_count() == count, f"{count} memories are stored")


@pytest.mark.nightly  # by day, test_targets.py does the same on a directory with a database
def test_two_commands_that_start_at_once_on_a_new_directory_both_work() -> None:
    with tempfile.TemporaryDirectory(prefix="mnemosyne-twice-") as home:
        data = Path(home) / "data"
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        lines = [
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            tool_call("memory_stats", {}),
        ]
        started = [
            subprocess.Popen(
                [COMMAND, "stdio", "--data-dir", data], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        for process in started:
            assert process.stdin and process.stdout
            process.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
            process.stdin.flush()
            answers = [json.loads(process.stdout.readline()) for _ in range(2)]
            assert answers[1]["result"]["structuredContent"]["memories"] == 0, answers
        for process in started:
            with process:
                process.terminate()
                process.wait(30)
        wait_until(lambda: not processes_of(Path(home)), "no process of theirs is left")


@pytest.mark.nightly  # by day, test_wheel.py does the same as the user of the tests
def test_dev_works_for_an_ordinary_user_with_an_unusual_path_locale_and_current_directory() -> None:
    """The current directory contains modules with the names of imported modules. They must not replace these."""
    with tempfile.TemporaryDirectory(prefix="mnemosyne dev 'ü' ") as home:
        command = [str(REAL)]
        as_user: dict[str, Any] = {}
        if is_root():
            nobody = pwd.getpwnam("nobody")
            python = next((path for path in (sys.executable, "/usr/bin/python3") if _runs(path, nobody.pw_uid)), None)
            if python is None:
                pytest.skip("NOT TESTED: another user can execute no Python that has our packages")
            os.chown(home, nobody.pw_uid, nobody.pw_gid)
            command = [python, "-P", "-c", "from mnemosyne.cli.main import main; main()"]
            as_user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        for name in ("mcp", "http", "mnemosyne", "numpy"):
            (Path(home) / f"{name}.py").write_text("raise SystemExit('a neighbour')")
        server = DevServer(Path(home))
        server.client = httpx.Client(timeout=30, trust_env=False)
        with server.output.open("wb") as terminal:
            server.process = subprocess.Popen(
                [*command, "dev", "--port", str(server.port)],
                **as_user,
                env={"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C", "HTTP_PROXY": NO_PROXY, **PYTHON_PATH},
                cwd=home,
                stdout=terminal,
                stderr=terminal,
            )
        try:
            wait_until(lambda: "Ready" in server.printed() or not server.alive, "ready")
            assert server.alive, server.printed()
            assert "Running as root" not in server.printed()
            server.remember("ÄRGER mit Umlauten")
            assert server.call("memory_search", {"query": "ärger", "mode": "exact"})["total"] == 1
        finally:
            server.close()
        assert (Path(home) / ".local" / "share" / "mnemosyne" / "postgres" / "PG_VERSION").exists()


def _runs(python: str, user: int) -> bool:
    try:
        code = "import pydantic_core, mnemosyne"  # compiled for one version of Python
        environment = {**os.environ, **PYTHON_PATH}
        return subprocess.run([python, "-c", code], user=user, env=environment, check=False).returncode == 0
    except OSError:
        return False


def test_a_terminated_command_leaves_no_database_process_running(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    source = tmp_path / "many.jsonl"
    source.write_text(
        "".join(json.dumps({"content": f"{n}", "timestamp": "2026-05-20T12:00:00Z"}) + "\n" for n in range(20_000))
    )
    with subprocess.Popen([COMMAND, "import", source, "--data-dir", tmp_path / "data"]) as process:
        wait_until(lambda: any(tmp_path.glob("*.import-journal")), "the import has begun")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    wait_until(lambda: not processes_of(tmp_path), "no process of it is left")


def test_an_invalid_dimension_is_refused_before_a_directory_is_created(tmp_path: Path) -> None:
    for dimension in ("3500", "abc"):
        settings = {"GEMINI_API_KEY": "key", "MNEMOSYNE_EMBEDDING_DIMENSION": dimension}
        refused = run("dev", "--embedder", "gemini", "--data-dir", tmp_path / "data", **settings)
        assert refused.returncode == 1
        assert "MNEMOSYNE_EMBEDDING_DIMENSION" in refused.stderr
        assert "Traceback" not in refused.stderr
    assert not (tmp_path / "data").exists()
