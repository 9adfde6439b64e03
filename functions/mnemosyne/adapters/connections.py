"""Connections to PostgreSQL: how one is opened, the pool they live in, and what a lost one means.

Opens nothing before the first checkout.
"""

import io
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, LiteralString
from urllib.parse import parse_qs, unquote, urlsplit

import pg8000.dbapi
import pg8000.exceptions
import pg8000.native

from mnemosyne.errors import InvalidRequest, Misconfigured, MnemosyneError, NotFound, Unavailable, Uncertain
from mnemosyne.observability import EventLog

log = EventLog(__name__)

CONNECT_TIMEOUT_SECONDS = 10.0
CHECKOUT_TIMEOUT_SECONDS = 10.0
STATEMENT_SECONDS = 30
SOCKET_TIMEOUT_SECONDS = 45.0
"""Longer than the server's own statement_timeout: reached only where the server no longer answers at all."""
MAX_AGE_SECONDS = 30 * 60.0
TRUSTED_SECONDS = 1.0
"""How long after its last use an idle session is taken without asking the server, which costs a round trip."""

# They cost no round trip: they travel with the connection request. Every search is planned for its own filters.
_SESSION_OPTIONS = " ".join(
    f"-c {option}"
    for option in (
        "timezone=UTC",
        "lock_timeout=10000",
        "idle_in_transaction_session_timeout=120000",
        "plan_cache_mode=force_custom_plan",
        "jit=off",
        "hnsw.ef_search=200",
        "hnsw.iterative_scan=relaxed_order",
    )
)


def session_options(statement_seconds: int) -> str:
    """The settings of a session in which a statement may take so long."""
    return f"{_SESSION_OPTIONS} -c statement_timeout={statement_seconds * 1000}"


# SQLSTATEs after which the same statement may well succeed: connection, resources, shutdown, lock, deadlock.
_TRANSIENT = re.compile(r"08...|53...|57P0[1-5]|57014|40001|40P01|55P03|25P0[3-4]")

# Refusals that no retry mends: authentication, privileges, no such database, no such role.
_WILL_STAY_REFUSED = ("28000", "28P01", "3D000", "42501")

# What a caller is told; PostgreSQL's own words may name files and roles.
_SAID = {
    "57014": "the database was given no more time for it: narrow it by time or tags, or ask for less",
    "40": "the database was asked to do two things at once",
    "53": "the database has no room at the moment",
    "55": "the database is busy",
}

Row = list[Any]


class Session:
    """One connection, on which named statements are prepared once and run in one round trip each."""

    def __init__(self, connection: Any, socket_timeout: float | None) -> None:
        _prepare(connection._usock)
        connection._usock.settimeout(socket_timeout)
        self._connection = connection
        self._prepared: dict[str, Any] = {}
        self.opened_at = self.used_at = time.monotonic()
        self.has_incoming = False
        """Whether this session has made its temporary table for memories on their way in."""
        self.broken = False

    def answers(self) -> bool:
        """Whether an idle session is still good: the server has not cut it and, after a while, answers when asked."""
        waiting = select.poll()
        waiting.register(self._connection._usock, select.POLLIN)
        if waiting.poll(0):  # it has closed the connection, or is saying why it will
            return False
        if time.monotonic() < self.used_at + TRUSTED_SECONDS:
            return True
        try:
            self.script("")
        except Unavailable:
            return False
        return True

    def run(self, sql: LiteralString, **parameters: object) -> list[Row]:
        """The rows of one statement; raises Unavailable where the database is away."""
        with self._translated():
            statement = self._prepared.get(sql)
            if statement is None:
                statement = pg8000.native.PreparedStatement(self._connection, sql)
                self._prepared[sql] = statement
            rows: list[Row] | None = statement.run(**parameters)
            return rows or []

    def copy(self, sql: LiteralString, data: bytes) -> None:
        """Run a COPY … FROM STDIN with that input."""
        with self._translated():
            self._connection.execute_unnamed(sql, stream=io.BytesIO(data))

    def script(self, sql: str) -> list[Row]:
        """Run statements without parameters in one round trip."""
        with self._translated():
            context = self._connection.execute_simple(sql)
            rows: list[Row] | None = context.rows
            return rows or []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what runs inside, or roll it back where it raises."""
        self.script("BEGIN")
        try:
            yield
        except BaseException:
            if not self.broken:
                try:
                    self.script("ROLLBACK")
                except Unavailable:
                    self.broken = True
            raise
        try:
            self.script("COMMIT")
        except Unavailable as exc:
            self.broken = True
            raise Uncertain(f"{exc}; it may or may not have been done") from exc

    def close(self) -> None:
        """Let the connection go, whatever state it is in."""
        try:
            self._connection.close()
        except (pg8000.exceptions.Error, OSError):
            self.broken = True

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except pg8000.exceptions.DatabaseError as exc:
            detail = exc.args[0] if exc.args and isinstance(exc.args[0], Mapping) else {}
            state = str(detail.get("C", ""))
            if not state or state.startswith(("08", "57P")) or state == "25P03":
                self.broken = True
            if state in ("0A000", "26000"):  # prepared before a migration changed what it answers
                self.broken = True
                raise Unavailable("the database's schema has just changed") from exc
            if state == "P0001":  # raised by a migration, in words for the operator
                raise Misconfigured(str(detail.get("M", exc))) from exc
            if state == "23503":
                raise NotFound("the memory it refers to has just been deleted") from exc
            if not state or _TRANSIENT.fullmatch(state):
                log.warning("database_fault", state=state, error=str(detail.get("M", exc)))
                raise Unavailable(_SAID.get(state) or _SAID.get(state[:2], "the database is away")) from exc
            if state.startswith(("22", "54")):  # data exceptions, program limits: it will never fit
                raise InvalidRequest(f"the database cannot hold it: {detail.get('M', exc)}") from exc
            raise
        except (pg8000.exceptions.InterfaceError, OSError) as exc:
            self.broken = True
            raise Unavailable("the database is away: the connection was lost") from exc
        except BaseException:
            # Interrupted in the middle of the protocol (a worker being stopped): never to be used again.
            self.broken = True
            raise


def opener(
    url: str, *, socket_timeout: float | None = SOCKET_TIMEOUT_SECONDS, statement_seconds: int = STATEMENT_SECONDS
) -> Callable[[], Session]:
    """A function that opens a session to `postgresql://user[:password]@host[:port]/name[?host=/socket/dir]`.

    Migrations pass no `socket_timeout`: an index may take its time.
    """
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    if not parts.username or not parts.path.strip("/"):
        raise Misconfigured("the database URL must name a user and a database: postgresql://user@host/name")
    arguments: dict[str, Any] = {
        "user": unquote(parts.username),
        "password": unquote(parts.password) if parts.password else None,
        "database": unquote(parts.path.strip("/")),
        "timeout": CONNECT_TIMEOUT_SECONDS,
        "application_name": "mnemosyne",
        "startup_params": {"options": session_options(statement_seconds)},
    }
    port = parts.port or 5432
    if directory := query.get("host", [""])[0]:
        arguments["unix_sock"] = f"{directory}/.s.PGSQL.{port}"
    else:
        arguments |= {"host": parts.hostname or "localhost", "port": port}

    def open_session() -> Session:
        try:
            return Session(pg8000.dbapi.connect(**arguments), socket_timeout)
        except (pg8000.exceptions.Error, OSError) as exc:
            log.warning("database_unreachable", error=str(exc))
            raise not_opened(exc, "the database") from exc

    return open_session


def not_opened(exc: BaseException, where: str) -> MnemosyneError:
    """What it means that no session was opened.

    A server that refuses says why and hangs up; the driver, closing in its turn, may then fail over that, and its
    error only bears the server's reason within.
    """
    reason: BaseException | None = exc
    while reason is not None and not isinstance(reason, pg8000.exceptions.DatabaseError):
        reason = reason.__cause__ or reason.__context__
    if reason is None:
        return Unavailable("the database cannot be reached")
    detail = reason.args[0] if reason.args and isinstance(reason.args[0], Mapping) else {}
    if str(detail.get("C", "")) in _WILL_STAY_REFUSED:
        return Misconfigured(f"{where} refuses the connection: {detail.get('M', reason)}")
    return Unavailable("the database cannot be reached")


def _prepare(connected: socket.socket) -> None:
    if connected.family == socket.AF_UNIX:
        return
    # A vector as text overflows the driver's buffer; with Nagle's algorithm each such write stalls 40 ms.
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # A server that vanished without a word, as in a failover, is noticed long before the socket's own timeout.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 15_000)


class Pool:
    """At most `size` sessions, shared by the threads of one function instance.

    After one session is lost, the idle ones opened before it are discarded: they died of the same cause.
    """

    def __init__(self, open_session: Callable[[], Session], size: int) -> None:
        self._open = open_session
        self._idle: list[Session] = []
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._distrust_before = 0.0
        self.size = size

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A session of one's own until the context ends; raises Unavailable where none comes free in time."""
        if not self._free.acquire(timeout=CHECKOUT_TIMEOUT_SECONDS):
            raise Unavailable(f"all {self.size} database connections are busy")
        try:
            session = self._take() or self._open()
            try:
                yield session
            finally:
                self._give_back(session)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close the idle sessions; those in use are closed when given back."""
        with self._lock:
            self._distrust_before = time.monotonic()
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()

    def _take(self) -> Session | None:
        oldest = time.monotonic() - MAX_AGE_SECONDS
        while True:
            with self._lock:
                if not self._idle:
                    return None
                session = self._idle.pop()
                usable = session.opened_at > max(oldest, self._distrust_before)
            if usable and session.answers():
                return session
            session.close()

    def _give_back(self, session: Session) -> None:
        with self._lock:
            if session.broken:
                self._distrust_before = time.monotonic()
            keep = not session.broken and session.opened_at > self._distrust_before
            if keep:
                session.used_at = time.monotonic()
                self._idle.append(session)
        if not keep:
            session.close()
