"""Connections to PostgreSQL: open them, run statements, and translate the driver's errors."""

import io
import os
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, LiteralString
from urllib.parse import parse_qs, unquote, urlsplit

import pg8000.dbapi
import pg8000.exceptions
import pg8000.native

from mnemosyne import errors
from mnemosyne.adapters import service_error_tables, service_errors
from mnemosyne.adapters.database.server_errors import error_fields
from mnemosyne.adapters.database.statements import Row, Statement
from mnemosyne.domain.timeouts import SOCKET_TIMEOUT_SECONDS, STATEMENT_SECONDS
from mnemosyne.observability import WAIT, EventLog, fault_fields

log = EventLog(__name__)

_REFUSALS: dict[str, type[Exception]] = {
    "MH001": errors.Conflict,
    "MF001": errors.Conflict,
    "MT001": errors.InvalidRequest,
}
"""Exception classes for the SQLSTATEs that SQL functions raise (05_holds.sql, 15_forgetting.sql, 02_expiry.sql and
04_earlier_states.sql in db/functions). Unlike other messages of PostgreSQL, their messages may be shown to the
caller."""
CONNECT_TIMEOUT_SECONDS = 10.0
TRUSTED_SECONDS = 1.0
"""Idle time in seconds up to which a connection is reused without a check. A check costs a round trip."""

# Settings of each session. They are part of the connection request, so that they cost no round trip. With
# force_custom_plan, PostgreSQL plans each search again, because the best plan depends on the filters of the search.
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
    """Build the settings of a connection. `statement_seconds` is the statement timeout."""
    return f"{_SESSION_OPTIONS} -c statement_timeout={statement_seconds * 1000}"


class Connection:
    """A connection that prepares each statement once and runs it in one round trip."""

    def __init__(self, driver: Any, socket_timeout: float | None) -> None:
        _set_socket_options(driver._usock)
        driver._usock.settimeout(socket_timeout)
        self._driver = driver
        self._prepared: dict[str, Statement] = {}
        self.opened_at = self.used_at = time.monotonic()
        self.has_incoming = False
        """Whether the staging table for COPY exists on this connection."""
        self.broken = False

    def is_usable(self) -> bool:
        """Whether an idle connection is usable. After TRUSTED_SECONDS without use, an empty statement tests it."""
        waiting = select.poll()
        waiting.register(self._driver._usock, select.POLLIN)
        if waiting.poll(0):  # an idle connection receives data only after an error or when it is closed
            return False
        if time.monotonic() < self.used_at + TRUSTED_SECONDS:
            return True
        try:
            self.script("")
        except errors.ServiceError:
            return False
        return True

    def run(self, sql: LiteralString, **parameters: object) -> list[Row]:
        """Run one statement, prepared once on this connection, and return its rows.

        Parameters that the statement does not name are ignored. Raises Unavailable if the database cannot be reached.
        """
        with self._translate_errors():
            statement = self._prepared.get(sql)
            if statement is None:
                statement = self._prepared[sql] = Statement(self._driver, sql)
            return statement.run(parameters)

    def one(self, sql: LiteralString, **parameters: object) -> Row:
        """Run one statement and return its only row."""
        (row,) = self.run(sql, **parameters)
        return row

    def copy(self, sql: LiteralString, data: bytes) -> None:
        """Run a COPY … FROM STDIN statement with `data` as its input."""
        with self._translate_errors():
            self._driver.execute_unnamed(sql, stream=io.BytesIO(data))

    def script(self, sql: LiteralString) -> list[list[Any]]:
        """Run statements without parameters in one round trip, and return the rows of the last statement."""
        return self.run_file(sql)

    def run_file(self, text: str) -> list[list[Any]]:
        """Run the text of an SQL file of the schema.

        The other methods accept only SQL that is a constant in the source code.
        """
        with self._translate_errors():
            rows: list[list[Any]] | None = self._driver.execute_simple(text).rows
            return rows or []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the `with` block in a transaction. Commit at its end, or roll back after an exception."""
        self.script("BEGIN")
        try:
            yield
        except BaseException:
            if not self.broken:
                try:
                    self.script("ROLLBACK")
                except errors.ServiceError:
                    self.broken = True
            raise
        try:
            self.script("COMMIT")
        except errors.Unavailable as exc:
            self.broken = True
            raise errors.UncertainCommit(f"{exc}; the change may or may not be committed") from exc

    def close(self) -> None:
        """Close the connection, and ignore errors."""
        try:
            self._driver.close()
        except (pg8000.exceptions.Error, OSError):
            self.broken = True

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except pg8000.exceptions.DatabaseError as exc:
            detail = exc.args[0] if exc.args and isinstance(exc.args[0], Mapping) else {}
            state = str(detail.get("C", ""))
            # The connection is unusable in three cases: the server has closed it, the server is read-only after a
            # failover, or a migration has changed tables that the connection's prepared statements read.
            if not state or state.startswith(("08", "57P")) or state in ("25P03", "25006", "0A000", "26000"):
                self.broken = True
            if state == "P0001":  # a migration raises this SQLSTATE with a message for the operator
                raise errors.Misconfigured(str(detail.get("M", exc))) from exc
            if state in _REFUSALS:
                raise _REFUSALS[state](str(detail.get("M", exc))) from exc
            if state == "23503":
                raise errors.NotFound("the memory that the change refers to has just been deleted") from exc
            rule = service_errors.find(service_error_tables.DATABASE, state)
            if rule is None:
                raise
            message = str(detail.get("M", exc))
            if rule.kind is service_errors.Kind.ITEM:
                raise rule.error(message, {}) from exc
            log.warning(
                "database_fault", state=state, cause=rule.cause, error=message, next_step=rule.next_step or WAIT
            )
            # Leave out PostgreSQL's message, because agents read this error, and PostgreSQL's message may name files
            # and roles.
            raise rule.error("", {"where": "the database"}) from exc
        except (pg8000.exceptions.InterfaceError, OSError) as exc:
            self.broken = True
            raise errors.Unavailable("the database is not responding: the connection was lost") from exc
        except BaseException:
            # Never use this connection again: the exception (for example, the stop of a worker) may have interrupted
            # the statement in the middle of a message to or from the server.
            self.broken = True
            raise


def connection_factory(
    url: str, *, socket_timeout: float | None = SOCKET_TIMEOUT_SECONDS, statement_seconds: int = STATEMENT_SECONDS
) -> Callable[[], Connection]:
    """Return a function that opens a connection to `postgresql://user[:password]@host[:port]/name[?host=/socket/dir]`.

    Migrations pass None as `socket_timeout`, because creating an index may take long.
    """
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    if not parts.username or not parts.path.strip("/"):
        raise errors.Misconfigured("the database URL must name a user and a database: postgresql://user@host/name")
    arguments: dict[str, Any] = {
        "user": unquote(parts.username),
        "password": unquote(parts.password) if parts.password else None,
        "database": unquote(parts.path.strip("/")),
        "application_name": "mnemosyne",
        "startup_params": {"options": session_options(statement_seconds)},
    }
    port = parts.port or 5432
    arguments["host"] = parts.hostname or "localhost"
    directory = query.get("host", [""])[0]
    address = f"{directory}/.s.PGSQL.{port}" if directory else (arguments["host"], port)
    if directory:
        # PostgreSQL has no TLS on Unix sockets. If the driver asked for TLS, it would first load the certificates of
        # public authorities, which takes 40 ms.
        arguments["ssl_context"] = False

    def connect() -> Connection:
        try:
            sock = _connect(address)
            try:
                return Connection(pg8000.dbapi.connect(**arguments, sock=sock), socket_timeout)
            except BaseException:
                # If the server ends the connection during the log-in, the driver may leave the socket open. Close the
                # descriptor, because sock.close() has no effect while a traceback refers to the driver's file object
                # for the socket.
                if (descriptor := sock.detach()) >= 0:
                    os.close(descriptor)
                raise
        except (pg8000.exceptions.Error, OSError) as exc:
            error = connect_error(exc, "the database")
            if isinstance(error, errors.ServiceError):
                reason = {} if error_fields(exc) else {"error": str(exc)}
                log.warning("database_unreachable", **fault_fields(error) | reason)
            raise error from exc

    return connect


def _connect(address: str | tuple[str, int]) -> socket.socket:
    """Connect to a Unix socket, or to a host and port. Raises InterfaceError, whose message has the address."""
    try:
        if not isinstance(address, str):
            return socket.create_connection(address, CONNECT_TIMEOUT_SECONDS)
        with ExitStack() as closing_on_error:
            sock = closing_on_error.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            sock.settimeout(CONNECT_TIMEOUT_SECONDS)
            sock.connect(address)
            closing_on_error.pop_all()
            return sock
    except OSError as exc:
        where = address if isinstance(address, str) else f"{address[0]}, port {address[1]}"
        raise pg8000.exceptions.InterfaceError(f"cannot connect to {where}: {exc}") from exc


def connect_error(exc: BaseException, where: str) -> errors.MnemosyneError:
    """Return the error for a connection that could not be opened, with the server's reason if the server sent one."""
    fields = error_fields(exc)
    code = fields.get("C", service_errors.UNREACHABLE)
    return service_errors.error(service_error_tables.DATABASE, code, fields.get("M", ""), where=where)


def _set_socket_options(sock: socket.socket) -> None:
    if sock.family == socket.AF_UNIX:
        return
    # Set TCP_NODELAY. Without it, Nagle's algorithm delays each write of a vector by 40 ms, because the text of a
    # vector is longer than the driver's buffer.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # With these settings, TCP closes the connection if the server has vanished, for example in a failover. After
        # data that the server does not acknowledge, this takes 15 seconds. If no such data were sent, the connection
        # is closed about 45 seconds after the last data from the server.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 15_000)
