"""Commands in a terminal while the embedding API refuses every text, and after the fault."""

import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.dev import COMMAND, DevServer
from tests.fakes_wire.gemini import GeminiServer, error
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

CAUSE = "the project has a problem with its billing"
FIX = "to an open billing account"
TEXTS = ["The sencha is on shelf 3.", "The matcha is in the drawer.", "The puerh is in the cellar."]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def gemini() -> Iterator[GeminiServer]:
    with GeminiServer().serving() as server:
        yield server


@pytest.fixture
def run(gemini: GeminiServer, tmp_path: Path) -> Iterator[Run]:
    """Function that runs a command on a local system whose embedder is the Gemini API."""
    environment = {"GEMINI_API_KEY": "key", "GOOGLE_GEMINI_BASE_URL": gemini.url, "MNEMOSYNE_EMBEDDING_DIMENSION": "64"}
    server = DevServer(tmp_path, environment=environment)
    server.arguments = ("--embedder", "gemini")
    server.start()
    where = {"remember": ("--url", server.url), "search": ("--url", server.url)}
    system = ("--data-dir", str(tmp_path / "data"))

    def run_command(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [COMMAND, name, *arguments, *where.get(name, system)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=server.environment)

    try:
        yield run_command
    finally:
        server.close()


def test_each_command_names_the_cause_of_a_fault_and_memories_are_stored_after_it(
    run: Run, gemini: GeminiServer
) -> None:
    assert run("remember", "The oolong is on shelf 7.").stdout.startswith("Stored as ")
    gemini.fault = lambda server: error(403, "This API method requires billing to be enabled.")
    with ThreadPoolExecutor() as threads:
        remembered = [*threads.map(lambda text: run("remember", text), TEXTS)]
    for completed in remembered:
        assert (completed.returncode, completed.stdout.split()[:3]) == (0, ["Queued", "as", "request"])
        assert CAUSE in completed.stderr
        assert FIX in completed.stderr
    completed = run("search", "Where is the oolong?")
    assert "The oolong is on shelf 7." in completed.stdout
    assert completed.stderr == f"searched by words only: {CAUSE}\n"
    outcomes = run("outcomes")
    assert outcomes.stdout.count("stored") == 1
    assert "3 requests were attempted and will be delivered again." in outcomes.stderr
    assert CAUSE in outcomes.stderr
    doctor = run("doctor")
    assert doctor.returncode == 1
    assert CAUSE in doctor.stdout + doctor.stderr
    assert FIX in doctor.stdout + doctor.stderr

    gemini.fault = None
    wait_until(lambda: run("outcomes").stdout.count("  stored") == 4, "everything is stored")
    assert "attempted" not in run("outcomes").stderr
    assert run("search", "Where is the puerh?").stderr == ""
    assert run("doctor").returncode == 0
