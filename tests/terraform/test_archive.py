"""The source archive as terraform builds it: what is in it, and that it runs with nothing but its requirements."""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infra.local.functions import free_port
from tests.terraform.conftest import ROOT, Plan
from tests.waiting import wait_until

ENVIRONMENT = {
    "MNEMOSYNE_INSTANCE_CONNECTION_NAME": "p:europe-west1:m",
    "MNEMOSYNE_DB_NAME": "mnemosyne",
    "MNEMOSYNE_DB_USER": "u",
    "MNEMOSYNE_TOPIC": "projects/p/topics/t",
    "MNEMOSYNE_EMBEDDER": "gemini",
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(scope="module")
def unpacked(plan: Plan) -> Iterator[tuple[Path, Path]]:
    """The archive in an empty directory, and a Python that has its requirements alone."""
    with tempfile.TemporaryDirectory(prefix="mnemosyne-archive-") as home:
        source, environment = Path(home) / "source", Path(home) / "venv"
        zipfile.ZipFile(plan.archive).extractall(source)
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        command = [str(python), "-m", "pip", "install", "-q", "-r", str(source / "requirements.txt")]
        subprocess.run(command, check=True, capture_output=True, timeout=400)
        yield source, python


def test_it_holds_what_runs_and_nothing_else(plan: Plan) -> None:
    names = zipfile.ZipFile(plan.archive).namelist()
    assert {"main.py", "requirements.txt", "mnemosyne/bootstrap.py", "migrations/0001_memories.sql"} <= set(names)
    kinds = {Path(name).suffix for name in names}
    assert kinds == {".py", ".txt", ".sql"}
    assert not any(part in name for name in names for part in ("test", "infra", "cli", "local/", "__pycache__"))
    migrations = {file.name for file in (ROOT / "infra" / "migrations").glob("*.sql")}
    assert {Path(name).name for name in names if name.endswith(".sql")} == migrations


def test_its_requirements_have_no_development_dependency(plan: Plan) -> None:
    requirements = zipfile.ZipFile(plan.archive).read("requirements.txt").decode().casefold()
    for name in ("pytest", "mypy", "ruff", "hypothesis", "pixeltable", "wordllama", "psutil"):
        assert f"\n{name}" not in requirements


def test_it_compiles_for_the_oldest_python_served(unpacked: tuple[Path, Path]) -> None:
    source, python = unpacked
    done = subprocess.run([python, "-m", "compileall", "-q", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert sys.version_info >= (3, 11)


@pytest.mark.parametrize(
    ("target", "path", "body", "status"),
    [
        ("mcp", "/mcp", LIST, 401),
        ("mcp", "/healthz", None, 200),
        ("ingest", "/healthz", None, 200),
        ("dead_letter", "/healthz", None, 200),
        ("migrate", "/healthz", None, 200),
    ],
)
def test_every_entry_point_starts(
    unpacked: tuple[Path, Path], target: str, path: str, body: object, status: int
) -> None:
    source, python = unpacked
    port = free_port()
    command = [str(python), "-m", "functions_framework", "--source", "main.py", "--target", target, "--port", str(port)]
    environment = {"PATH": os.environ["PATH"], **ENVIRONMENT}
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1"], cwd=source, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        answers: list[httpx.Response] = []

        def answered() -> bool:
            url = f"http://127.0.0.1:{port}{path}"
            try:
                answers.append(httpx.get(url) if body is None else httpx.post(url, json=body))
            except httpx.TransportError:
                return process.poll() is not None
            return True

        wait_until(answered, f"{target} answers")
        assert answers, (process.stdout.read() if process.stdout else b"").decode()
        assert answers[-1].status_code == status, answers[-1].text
    finally:
        process.terminate()
        process.wait(20)
