"""Connections to Cloud SQL through the Cloud SQL Connector: mutual TLS, IAM authentication, private addresses.

Connects to nothing before the first connection is asked for; only then is the Connector imported.
"""

import asyncio
import itertools
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pg8000.exceptions

from mnemosyne.adapters.database.connections import (
    Connection,
    connect_error,
    session_options,
)
from mnemosyne.domain.timeouts import SOCKET_TIMEOUT_SECONDS, STATEMENT_SECONDS
from mnemosyne.errors import Misconfigured, MnemosyneError, Unavailable
from mnemosyne.observability import EventLog

if TYPE_CHECKING:
    from google.cloud.sql.connector import Connector

log = EventLog(__name__)

CONNECT_TIMEOUT_SECONDS = 15.0
"""From asking for a connection to having it: certificate, TLS, log-in."""
FIRST_CONNECTION_SECONDS = 75.0
"""How long an instance that never had a connection goes on trying, of the two minutes that a request may take: over
Direct VPC egress the first may be a minute or more in coming,
https://cloud.google.com/run/docs/configuring/vpc-direct-vpc."""
PAUSE_SECONDS = 1.0
STALL_SECONDS = 5.0
"""How long a server may keep one read waiting before a connection is made."""
ATTEMPTS = 2
"""After a failover the first attempt may use the old address or certificate; the Connector renews both after it."""


class CloudSql:
    """Opens connections to one instance `project:region:name`; called by the pool as its connection_factory."""

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
        } | ({} if password is None else {"password": password})
        self._admin_endpoint = admin_endpoint
        self._socket_timeout = socket_timeout
        self._lock = threading.Lock()
        self._connector: Connector | None = None
        self._patient_until: float | None = None
        self._reached = False

    def __call__(self) -> Connection:
        """One new connection; raises Unavailable where the instance is away, Misconfigured where it will stay so."""
        if self._patient_until is None:
            self._patient_until = time.monotonic() + FIRST_CONNECTION_SECONDS
        for attempt in itertools.count(1):
            try:
                connection = self._open()
            except Unavailable as exc:
                log.warning("database_unreachable", instance=self._instance, attempt=attempt, error=str(exc.__cause__))
                if self._reached or time.monotonic() > self._patient_until:
                    if attempt >= ATTEMPTS or isinstance(exc.__cause__, TimeoutError):
                        raise
                else:
                    time.sleep(PAUSE_SECONDS)
                continue
            self._reached = True
            return connection
        raise AssertionError("unreachable")

    def _open(self) -> Connection:
        connector = self._current()
        connecting = asyncio.run_coroutine_threadsafe(
            connector.connect_async(self._instance, "pg8000", **self._arguments), connector._loop
        )
        try:
            return Connection(connecting.result(CONNECT_TIMEOUT_SECONDS), self._socket_timeout)
        except TimeoutError as exc:
            if connecting.done():  # a socket's own deadline: nothing hangs
                raise Unavailable("the database cannot be reached") from exc
            connecting.cancel()
            # Something in the Connector's one thread may hang for good: leave it, and begin anew.
            self._abandon(connector)
            raise Unavailable(f"the database gave no connection within {CONNECT_TIMEOUT_SECONDS:.0f} s") from exc
        except Exception as exc:  # the Connector's, aiohttp's, google-auth's and the driver's own: told apart below
            raise self._translated(exc) from exc

    def _current(self) -> "Connector":
        with self._lock:
            if self._connector is None:
                from google.auth.exceptions import GoogleAuthError
                from google.cloud.sql.connector import Connector

                # The Connector opens its sockets in its one thread and without a deadline: a server that accepts
                # and never answers would hang every later connection. There is no other handle on them than this,
                # which concerns only sockets whose owner has set no timeout of its own.
                socket.setdefaulttimeout(STALL_SECONDS)
                try:
                    self._connector = Connector(refresh_strategy="lazy", sqladmin_api_endpoint=self._admin_endpoint)
                except GoogleAuthError as exc:
                    raise self._translated(exc) from exc
            return self._connector

    def _abandon(self, connector: "Connector") -> None:
        with self._lock:
            if self._connector is not connector:
                return
            self._connector = None
        log.error("database_connector_abandoned", instance=self._instance)
        threading.Thread(target=connector.close, name="abandoned-connector", daemon=True).start()

    def _translated(self, exc: Exception) -> MnemosyneError:
        from aiohttp import ClientResponseError
        from google.auth.exceptions import DefaultCredentialsError
        from google.cloud.sql.connector.exceptions import CloudSQLIPTypeError

        where = f"Cloud SQL {self._instance}"
        if isinstance(exc, pg8000.exceptions.Error):
            return connect_error(exc, where)
        if isinstance(exc, ClientResponseError) and exc.status in (400, 401, 403, 404):
            return Misconfigured(
                f"the Cloud SQL Admin API refuses {self._instance} ({exc.status}: {exc.message}): check "
                "MNEMOSYNE_INSTANCE_CONNECTION_NAME, and that this service account has roles/cloudsql.client"
            )
        if isinstance(exc, DefaultCredentialsError):
            return Misconfigured(f"there are no Google credentials to reach {where} with: {exc}")
        # Another region than the name says; no such address. TLS errors are ValueErrors too, and pass.
        if isinstance(exc, CloudSQLIPTypeError) or (isinstance(exc, ValueError) and not isinstance(exc, OSError)):
            return Misconfigured(f"{where} cannot be used as set: {exc}")
        return Unavailable("the database cannot be reached")
