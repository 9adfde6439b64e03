"""After a crash, `mnemosyne dev` and commands start, whatever the lock files of the crashed processes contain.

They also start while an earlier PostgreSQL is still stopping.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fasteners
import psutil
import pytest

from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir, acquire_now
from tests.dev import COMMAND, DevServer, fill, processes_of
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

MEMORY = "stored before the crash"


@pytest.fixture
def other_program() -> Iterator[subprocess.Popen[bytes]]:
    """A program that has nothing to do with Mnemosyne. It ends with its standard input."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.communicate()


class Crashed:
    """A local system with one stored memory, whose processes were killed."""

    def __init__(self, dev: DevServer) -> None:
        self.dev = dev
        self.data = dev.directory / "data"
        dev.start()
        self.memory_id = dev.remember(MEMORY)
        self.locks = {file: file.read_text() for file in lock_files(self.data)}
        self.pid_file = next(iter(self.locks))
        dev.kill_everything()
        self._saved = dev.directory / "saved"
        subprocess.run(["cp", "-a", self.data, self._saved], check=True)

    def restore(self) -> None:
        """Restore the data directory and the lock files to their state just after the crash."""
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", self._saved, self.data], check=True)
        for file, text in self.locks.items():
            file.write_text(text)

    def export(self) -> str:
        """Run a command that starts and stops the database, and return its output."""
        command: list[str | Path] = [COMMAND, "export", "--data-dir", self.data]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.fixture(scope="module")
def _crashed_once() -> Iterator[Crashed]:
    with tempfile.TemporaryDirectory(prefix="mnemosyne with spaces ") as directory:
        dev = DevServer(Path(directory))
        try:
            yield Crashed(dev)
        finally:
            dev.close()


@pytest.fixture
def crashed(_crashed_once: Crashed) -> Crashed:
    """A system just after a crash."""
    _crashed_once.restore()
    return _crashed_once


def test_a_process_id_that_another_program_got_after_a_crash_is_not_taken_for_the_server(
    crashed: Crashed, other_program: subprocess.Popen[bytes]
) -> None:
    for file, text in crashed.locks.items():
        file.write_text("\n".join([str(other_program.pid), *text.split("\n")[1:]]))
    crashed.dev.start()
    assert crashed.dev.call("get_memory", {"id": crashed.memory_id})["content"] == MEMORY
    crashed.dev.stop()
    assert other_program.poll() is None


@pytest.mark.parametrize("lines", [pytest.param(0, marks=pytest.mark.nightly), 5])
def test_a_lock_file_that_was_being_written_at_the_crash_does_not_prevent_a_start(crashed: Crashed, lines: int) -> None:
    with subprocess.Popen(["true"]) as ended:  # its process id is free: the killed server may be a zombie
        ended.wait()
    written = [str(ended.pid), *crashed.locks[crashed.pid_file].split("\n")[1:]]
    crashed.pid_file.write_text("\n".join([*written[:lines], ""]) if lines else "")
    assert MEMORY in crashed.export()


@pytest.mark.parametrize("damaged", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_after_a_reboot_the_database_is_stopped_with_the_command(
    crashed: Crashed, other_program: subprocess.Popen[bytes], *, damaged: bool
) -> None:
    users = crashed.pid_file.parent / ".handle_pids.json"
    if damaged:
        users.write_text("\0" * 8)
    else:
        users.write_text(f"[{other_program.pid}]")
        os.utime(users, (0, 0))
    assert MEMORY in crashed.export()
    assert crashed.dev.processes() == []


def test_a_database_that_stops_slowly_is_reported_and_the_next_command_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    fill(data)
    database = postgres.start(DataDir(data))
    checkpointer = suspended(data)
    monkeypatch.setenv("PGCTLTIMEOUT", "1")
    database.stop()
    assert "Note: PostgreSQL has not stopped yet: " in capsys.readouterr().err
    starting = fasteners.InterProcessLock(DataDir(data).starting)
    monkeypatch.delenv("PGCTLTIMEOUT")
    command = subprocess.Popen(
        [COMMAND, "keys", "list", "--data-dir", data, "--json"], stdout=subprocess.PIPE, text=True
    )

    def is_starting() -> bool:
        if acquire_now(starting):
            starting.release()
            return False
        return True

    wait_until(is_starting, "the command starts the database")
    checkpointer.resume()
    assert command.communicate(timeout=60)[0] == "[]\n"
    assert processes_of(tmp_path) == []


def test_a_signal_during_the_start_of_the_database_leaves_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = postgres._run

    def run_and_interrupt(command: str, *args: Any, **options: Any) -> str:
        output = run(command, *args, **options)
        if "start" in args[0]:
            os.kill(os.getpid(), signal.SIGINT)
        return output

    fill(tmp_path / "data")
    monkeypatch.setattr(postgres, "_run", run_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        postgres.start(DataDir(tmp_path / "data"))
    assert processes_of(tmp_path) == []


def suspended(data: Path) -> psutil.Process:
    """Suspend the worker without which the database cannot stop, and return the worker."""
    server = psutil.Process(int(lock_files(data)[0].read_text().split()[0]))
    checkpointer: psutil.Process = next(worker for worker in server.children() if "checkpointer" in worker.cmdline()[0])
    checkpointer.suspend()
    return checkpointer


def lock_files(data: Path) -> tuple[Path, Path]:
    """Return the lock files of PostgreSQL and of its socket."""
    pid_file = data / "postgres" / "postmaster.pid"
    return pid_file, Path(pid_file.read_text().splitlines()[4], ".s.PGSQL.5432.lock")
