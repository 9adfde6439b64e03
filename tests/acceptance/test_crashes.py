"""`mnemosyne dev` and commands start after a crash, whatever its lock files say, and while PostgreSQL still stops."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fasteners
import psutil
import pytest

from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir, acquire_now
from tests.dev import COMMAND, DevServer, fill
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def other_program() -> Iterator[subprocess.Popen[bytes]]:
    """A program that has nothing to do with Mnemosyne. It ends with its standard input."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.communicate()


@pytest.mark.parametrize("folder", [pytest.param("plain", marks=pytest.mark.nightly), "with spaces"])
def test_a_process_id_that_another_program_got_after_a_crash_is_not_taken_for_the_server(
    own_dev: DevServer, other_program: subprocess.Popen[bytes], folder: str
) -> None:
    own_dev.directory /= folder
    own_dev.directory.mkdir()
    own_dev.start()
    memory_id = own_dev.outcome(own_dev.ingest("stored before the crash"))["memory_id"]
    pid_file, socket_lock = lock_files(own_dev)
    locks = {pid_file: pid_file.read_text(), socket_lock: socket_lock.read_text()}
    own_dev.kill_everything()
    for file, text in locks.items():
        file.write_text("\n".join([str(other_program.pid), *text.split("\n")[1:]]))
    own_dev.start()
    assert own_dev.call("get_memory", {"id": memory_id})["content"] == "stored before the crash"
    own_dev.stop()
    assert other_program.poll() is None


@pytest.mark.parametrize("lines", [0, 5])
def test_a_lock_file_that_was_being_written_at_the_crash_does_not_prevent_a_start(
    own_dev: DevServer, lines: int
) -> None:
    own_dev.start()
    pid_file, _ = lock_files(own_dev)
    text = pid_file.read_text()
    own_dev.kill_everything()
    with subprocess.Popen(["true"]) as ended:  # its process id is free: the killed server may be a zombie
        ended.wait()
    written = [str(ended.pid), *text.split("\n")[1:]]
    pid_file.write_text("\n".join([*written[:lines], ""]) if lines else "")
    own_dev.start()


@pytest.mark.parametrize("damaged", [False, True])
def test_after_a_reboot_the_database_is_stopped_with_dev(
    own_dev: DevServer, other_program: subprocess.Popen[bytes], *, damaged: bool
) -> None:
    own_dev.start()
    own_dev.kill_everything()
    users = lock_files(own_dev)[0].parent / ".handle_pids.json"
    if damaged:
        users.write_text("\0" * 8)
    else:
        users.write_text(f"[{other_program.pid}]")
        os.utime(users, (0, 0))
    own_dev.start()
    own_dev.stop()
    assert own_dev.processes() == []


def test_a_command_waits_for_a_database_that_is_still_stopping(own_dev: DevServer) -> None:
    own_dev.start()
    server, checkpointer = suspended(own_dev)
    for process in map(psutil.Process, own_dev.processes()):
        if process.name() != "postgres":
            process.kill()
    assert own_dev.process
    own_dev.process.wait()
    os.kill(server.pid, signal.SIGINT)
    pid_file, _ = lock_files(own_dev)
    wait_until(lambda: pid_file.read_text().endswith("stopping\n"), "the database is stopping")
    data = own_dev.directory / "data"
    starting = fasteners.InterProcessLock(DataDir(data).starting)
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


def test_a_database_that_stops_slowly_does_not_fail_the_command(own_dev: DevServer) -> None:
    own_dev.environment["PGCTLTIMEOUT"] = "10"
    own_dev.start()
    _, checkpointer = suspended(own_dev)
    own_dev.stop()
    checkpointer.resume()
    assert own_dev.process and own_dev.process.returncode == 0
    assert "Note: PostgreSQL has not stopped yet: " in own_dev.printed()
    assert "Traceback" not in own_dev.printed()
    wait_until(lambda: not own_dev.processes(), "the database has stopped")


def test_a_signal_during_the_start_of_the_database_leaves_no_server(
    own_dev: DevServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = postgres._run

    def run_and_interrupt(command: str, *args: Any, **options: Any) -> str:
        output = run(command, *args, **options)
        if "start" in args[0]:
            os.kill(os.getpid(), signal.SIGINT)
        return output

    fill(own_dev.directory / "data")
    monkeypatch.setattr(postgres, "_run", run_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        postgres.start(DataDir(own_dev.directory / "data"))
    assert own_dev.processes() == []


def suspended(dev: DevServer) -> tuple[psutil.Process, psutil.Process]:
    """Suspend the worker without which the database cannot stop. Return the server and this worker."""
    pid_file, _ = lock_files(dev)
    server = psutil.Process(int(pid_file.read_text().split()[0]))
    checkpointer = next(worker for worker in server.children() if "checkpointer" in worker.cmdline()[0])
    checkpointer.suspend()
    return server, checkpointer


def lock_files(server: DevServer) -> tuple[Path, Path]:
    """Return the lock files of PostgreSQL and of its socket."""
    pid_file = server.directory / "data" / "postgres" / "postmaster.pid"
    return pid_file, Path(pid_file.read_text().splitlines()[4], ".s.PGSQL.5432.lock")
