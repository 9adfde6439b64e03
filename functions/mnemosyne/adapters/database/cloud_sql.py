"""Connections to Cloud SQL through the Cloud SQL Connector, with mutual TLS, IAM authentication and private addresses.

The Connector is imported when the first connection is opened.
"""

import asyncio
import itertools
import socket
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pg8000.exceptions

from mnemosyne.adapters import service_error_tables, service_errors
from mnemosyne.adapters.database.connections import Connection, connect_error, session_options
from mnemosyne.domain.timeouts import SOCKET_TIMEOUT_SECONDS, STATEMENT_SECONDS
from mnemosyne.errors import MnemosyneError, ServiceError, Unavailable
from mnemosyne.observability import WAIT, EventLog, fault_fields

if TYPE_CHECKING:
    from google.cloud.sql.connector import Connector

log = EventLog(__name__)

CONNECT_TIMEOUT_SECONDS = 15.0
"""Timeout in seconds of one attempt to open a connection, which includes the certificate, the TLS handshake and the
log-in."""
FIRST_CONNECTION_SECONDS = 75.0
"""Timeout in seconds of all attempts to open the first connection of a Cloud Run instance. Over Direct VPC egress, the
first connection may take a minute or more (https://cloud.google.com/run/docs/configuring/vpc-direct-vpc). The timeout
is shorter than the two minutes that a request may take."""
PAUSE_SECONDS = 1.0
STALL_SECONDS = 5.0
"""Timeout in seconds of one read from the socket while a connection is opened."""
ATTEMPTS = 2
"""Maximum number of attempts to open a connection. It does not apply to the first connection of a Cloud Run instance
(see FIRST_CONNECTION_SECONDS). After a failover, the first attempt may fail with an old address or certificate. Then
the Connector renews both."""
LONG_AGO = datetime(1970, 1, 1)  # noqa: DTZ001 - google-auth's times have no zone


class CloudSql:
    """Opens connections to the Cloud SQL instance `project:region:name`.

    The pool calls this object for a new connection.
    """

    def __init__(
        self,
        instance: str,
        *,
        user: str,
        database: str,
        password: str | None,
        ip_type: str,
        admin_endpoint: str | None,
        socket_timeout: float | None = SOCKET_TIMEOUT_SECONDS,
        statement_seconds: int = STATEMENT_SECONDS,
    ) -> None:
        self._instance = instance
        self._arguments: dict[str, Any] = {
            "user": user,
            "db": database,
            "ip_type": ip_type,
            "enable_iam_auth": password is None,
            "application_name": "mnemosyne",
            "startup_params": {"options": session_options(statement_seconds)},
            # The Connector's socket has TLS already. If the driver asked for TLS again, it would first load the
            # certificates of public authorities, which takes 40 ms, and wait for the server's refusal.
            "ssl_context": False,
        } | ({} if password is None else {"password": password})
        self._admin_endpoint = admin_endpoint
        self._socket_timeout = socket_timeout
        self._lock = threading.Lock()
        self._connector: Connector | None = None
        self._first_deadline: float | None = None
        self._has_connected = False

    def __call__(self) -> Connection:
        """Open a connection. Raises a ServiceError if it cannot be opened.

        If an attempt fails with an error that seems to need an operator, the method makes another attempt, because such
        an error can be temporary. If a later attempt also fails with such an error, the method raises this later error.
        """
        if self._first_deadline is None:
            self._first_deadline = time.monotonic() + FIRST_CONNECTION_SECONDS
        is_repeated = False
        for attempt in itertools.count(1):
            try:
                connection = self._open()
            except ServiceError as exc:
                if not exc.needs_operator:
                    self._pause_or_raise(attempt, exc)
                    continue
                # Cloud SQL sometimes refuses a valid IAM log-in, mostly after an idle period
                # (https://github.com/GoogleCloudPlatform/cloud-sql-nodejs-connector/issues/585). It also refuses a
                # log-in if the token has just expired, or if an IAM role was granted so recently that not all of
                # Google's servers know it.
                if is_repeated:
                    raise
                is_repeated = True
                log.warning("database_refused", instance=self._instance, attempt=attempt, **fault_fields(exc))
                self._renew_token()
                time.sleep(PAUSE_SECONDS)
                continue
            self._has_connected = True
            return connection
        raise AssertionError("unreachable")

    def _pause_or_raise(self, attempt: int, exc: ServiceError) -> None:
        """Raise the error if the caller must stop trying to connect. Otherwise return, so that the caller tries again.

        To open the first connection of the process, the caller tries again for FIRST_CONNECTION_SECONDS, and this
        method pauses after each attempt. After this time, and for later connections, there is no pause, and the method
        raises the error after ATTEMPTS attempts or after an attempt that timed out.
        """
        about = fault_fields(exc) | {"error": str(exc.__cause__)}
        log.warning("database_unreachable", instance=self._instance, attempt=attempt, **about)
        if self._has_connected or time.monotonic() > (self._first_deadline or 0.0):
            if attempt >= ATTEMPTS or isinstance(exc.__cause__, TimeoutError):
                raise exc
        else:
            time.sleep(PAUSE_SECONDS)

    def _open(self) -> Connection:
        connector = self._current_connector()
        future = asyncio.run_coroutine_threadsafe(
            connector.connect_async(self._instance, "pg8000", **self._arguments), connector._loop
        )
        try:
            return Connection(future.result(CONNECT_TIMEOUT_SECONDS), self._socket_timeout)
        except TimeoutError as exc:
            if future.done():  # the timeout of a socket raised the error, so the Connector's thread does not hang
                raise Unavailable("the database cannot be reached") from exc
            future.cancel()
            # Replace the Connector, because the call that gave no result may block the Connector's only thread forever.
            self._abandon_connector(connector)
            raise Unavailable(f"the database gave no connection within {CONNECT_TIMEOUT_SECONDS:.0f} s") from exc
        except Exception as exc:  # raised by the Connector, aiohttp, google-auth or the driver
            raise self._translate_error(exc) from exc

    def _current_connector(self) -> "Connector":
        with self._lock:
            if self._connector is None:
                from google.auth.exceptions import GoogleAuthError
                from google.cloud.sql.connector import Connector

                # The Connector opens sockets in its only thread and without a timeout. A server that accepts a
                # connection but never answers would therefore block every later connection. A timeout can be set only
                # as the default of the module `socket`. The default does not affect sockets that have a timeout.
                socket.setdefaulttimeout(STALL_SECONDS)
                try:
                    self._connector = Connector(refresh_strategy="lazy", sqladmin_api_endpoint=self._admin_endpoint)
                except GoogleAuthError as exc:
                    raise self._translate_error(exc) from exc
                self._connector._loop.set_exception_handler(_log_unretrieved)
            return self._connector

    def _renew_token(self) -> None:
        """Mark the access token as expired, so that the next attempt gets a new token.

        The client certificate needs no such step, because the Connector itself renews it after any error.
        """
        with self._lock:
            if self._connector is not None:
                # Expire the token instead of removing it, because another thread may be sending it.
                self._connector._credentials.expiry = LONG_AGO

    def _abandon_connector(self, connector: "Connector") -> None:
        with self._lock:
            if self._connector is not connector:
                return
            self._connector = None
        log.error(
            "database_connector_abandoned",
            instance=self._instance,
            cause="the Cloud SQL Connector hung, and was replaced",
            error=f"no connection within {CONNECT_TIMEOUT_SECONDS:.0f} s",
            next_step="if it repeats, run `make deploy`, which starts new instances",
        )
        threading.Thread(target=close, args=(connector,), name="abandoned-connector", daemon=True).start()

    def _translate_error(self, exc: Exception) -> MnemosyneError:
        from aiohttp import ClientResponseError
        from google.cloud.sql.connector.exceptions import CloudSQLIPTypeError

        if isinstance(exc, pg8000.exceptions.Error):
            return connect_error(exc, f"Cloud SQL {self._instance}")
        code, message = service_errors.google_code(exc)
        if isinstance(exc, ClientResponseError):
            code, message = str(exc.status), exc.message
        # These errors mean that the region is wrong or that the instance has no address of this type. The condition
        # excludes OSError, because the error of a TLS certificate is both an OSError and a ValueError.
        elif isinstance(exc, CloudSQLIPTypeError) or (isinstance(exc, ValueError) and not isinstance(exc, OSError)):
            code, message = service_errors.UNUSABLE, str(exc)
        return service_errors.error(service_error_tables.CONNECTOR, code, message, instance=self._instance)


def close(connector: "Connector") -> None:
    """Close a Connector and its event loop. The Connector's own method `close` leaves the event loop open."""
    connector.close()
    connector._loop.close()


def _log_unretrieved(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log the message of an error that occurred in the Connector's thread.

    Without this function, asyncio would log the error's repr, which contains the access token.

    The Connector makes two calls of the Admin API at a time. If one call fails, the Connector never retrieves the error
    of the other call, and asyncio reports this error here.
    """
    exc = context.get("exception")
    log.warning(
        "database_connector_fault",
        cause="a call of the Cloud SQL Admin API failed",
        error=f"{type(exc).__name__}: {exc}" if exc else context["message"],
        next_step=WAIT,
    )
