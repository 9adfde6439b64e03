"""Commands in a terminal while the embedding API refuses every text, and after the fault."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.dev import COMMAND, DevServer
from tests.fakes_wire.gemini import GeminiServer, error
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

CAUSE = "the project has a problem with its billing"
FIX = "to an open billing account"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def gemini() -> Iterator[GeminiServer]:
    with GeminiServer().serving() as server:
        yield server


@pytest.fixture
def system(gemini: GeminiServer, tmp_path: Path) -> Iterator[DevServer]:
    """A local system whose embedder is the Gemini API."""
    environment = {"GEMINI_API_KEY": "key", "GOOGLE_GEMINI_BASE_URL": gemini.url, "MNEMOSYNE_EMBEDDING_DIMENSION": "64"}
    server = DevServer(tmp_path, environment=environment)
    server.arguments = ("--embedder", "gemini")
    server.start()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def run(system: DevServer) -> Run:
    """Function that runs a command on this system."""
    where = {"remember": ("--url", system.url), "search": ("--url", system.url)}
    local = ("--data-dir", str(system.directory / "data"))

    def run_command(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [COMMAND, name, *arguments, *where.get(name, local)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=system.environment)

    return run_command


def test_each_command_names_the_cause_of_a_fault_and_memories_are_stored_after_it(
    system: DevServer, run: Run, gemini: GeminiServer
) -> None:
    assert run("remember", "The oolong is on shelf 7.").stdout.startswith("Stored as ")
    gemini.fault = lambda server: error(403, "This API method requires billing to be enabled.")
    completed = run("remember", "The puerh is in the cellar.")
    assert (completed.returncode, completed.stdout.split()[:3]) == (0, ["Queued", "as", "request"])
    assert CAUSE in completed.stderr
    assert FIX in completed.stderr
    completed = run("search", "Where is the oolong?")
    assert "The oolong is on shelf 7." in completed.stdout
    assert completed.stderr == f"searched by words only: {CAUSE}\n"
    outcomes = run("outcomes")
    assert outcomes.stdout.count("stored") == 1
    assert "1 request was attempted and will be delivered again." in outcomes.stderr
    assert CAUSE in outcomes.stderr
    doctor = run("doctor")
    assert doctor.returncode == 1
    assert CAUSE in doctor.stdout + doctor.stderr
    assert FIX in doctor.stdout + doctor.stderr

    gemini.fault = None
    wait_until(lambda: system.call("memory_stats", {})["memories"] == 2, "everything is stored")
    outcomes = run("outcomes")
    assert outcomes.stdout.count("  stored") == 2
    assert "attempted" not in outcomes.stderr
    assert run("search", "Where is the puerh?").stderr == ""
    assert run("doctor").returncode == 0
