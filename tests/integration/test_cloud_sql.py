"""The real Cloud SQL Connector, with IAM, over mutual TLS to a real PostgreSQL: how it connects, and how it fails."""

import gc
import io
import logging
import re
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.database import cloud_sql
from mnemosyne.adapters.database.cloud_sql import CloudSql
from mnemosyne.adapters.database.connections import TRUSTED_SECONDS, connection_factory
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.errors import Misconfigured, ServiceError, Unavailable
from mnemosyne.observability import configure_logging
from tests.fakes_wire.cloud_sql import INSTANCE, REGION, CloudSqlInstance
from tests.fakes_wire.metadata import EMAIL, TOKEN, MetadataServer
from tests.waiting import wait_until

# Python warns of unclosed sockets, because the Connector does not close the socket of a log-in that failed.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")

DATABASE = "cloud_sql"
ROLE = EMAIL.removesuffix(".gserviceaccount.com")


class CountingMetadataServer(MetadataServer):
    """Metadata server that records each token that it issues."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[str] = []

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        self.tokens.extend([path] if path.endswith("/token") else [])
        return super().answer(path, body, headers)


@pytest.fixture(scope="module")
def metadata() -> Iterator[CountingMetadataServer]:
    with CountingMetadataServer().serving() as server:
        yield server


@pytest.fixture(scope="module")
def _instance(cluster: postgres.EmbeddedPostgres, metadata: CountingMetadataServer) -> Iterator[CloudSqlInstance]:
    owner = connection_factory(cluster.url(postgres.OWNER, postgres.OWNER))()
    owner.script(f"CREATE DATABASE {DATABASE} TEMPLATE {postgres.DATABASE}")
    owner.script(f'CREATE ROLE "{ROLE}" LOGIN IN ROLE mnemosyne_runtime')
    with (
        tempfile.TemporaryDirectory() as home,
        pytest.MonkeyPatch.context() as patch,
        CloudSqlInstance(cluster.socket_directory / ".s.PGSQL.5432", Path(home)).serving() as instance,
    ):
        patch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(metadata.write_credentials(Path(home) / "key.json")))
        yield instance
    socket.setdefaulttimeout(None)
    owner.script(f"DROP DATABASE {DATABASE} WITH (FORCE)")
    owner.script(f'DROP ROLE "{ROLE}"')
    owner.close()
    gc.collect()  # otherwise Python would warn of the Connector's unclosed sockets during another module's test


OPENED: list[CloudSql] = []


@pytest.fixture
def instance(_instance: CloudSqlInstance, monkeypatch: pytest.MonkeyPatch) -> Iterator[CloudSqlInstance]:
    """The Cloud SQL instance without faults.

    After the test each Connector is closed, because it might otherwise refresh its certificates during later tests.
    """
    monkeypatch.setattr(cloud_sql, "PAUSE_SECONDS", 0.02)
    _instance.refusals.clear()
    _instance.log_ins = 0
    _instance.refuse_certificates_before = None
    _instance.calls.clear()
    yield _instance
    _instance.fault = None
    _instance.mute = False
    while OPENED:
        if (connector := OPENED.pop()._connector) is not None:
            cloud_sql.close(connector)


def _opener(api: CloudSqlInstance, **changed: Any) -> CloudSql:
    settings: dict[str, Any] = {"user": EMAIL, "database": DATABASE, "password": None, "ip_type": "PRIVATE"}
    name = changed.pop("instance", INSTANCE)
    OPENED.append(CloudSql(name, admin_endpoint=api.url, **(settings | changed)))
    return OPENED[-1]


def _query(connect: CloudSql) -> None:
    """Open a connection and use it."""
    with closing(connect()) as connection:
        assert connection.run("SELECT current_user") == [[ROLE]]


def test_a_session_logs_in_as_the_service_account_and_has_all_settings(instance: CloudSqlInstance) -> None:
    settings = "SELECT current_user, current_setting('statement_timeout'), current_setting('hnsw.ef_search')"
    with closing(_opener(instance)()) as connection:
        assert connection.run(settings) == [[ROLE, "30s", "200"]]
        assert connection._driver._usock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert connection._driver._usock.gettimeout() == 45.0


def test_the_second_session_makes_no_call_of_the_admin_api_and_loads_no_certificates_of_public_authorities(
    instance: CloudSqlInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = _opener(instance)
    _query(connect)
    assert len(instance.calls) == 2
    monkeypatch.setattr(ssl, "create_default_context", None)
    _query(connect)
    assert len(instance.calls) == 2


def test_when_all_backends_are_killed_the_next_checkout_works(
    instance: CloudSqlInstance, cluster: postgres.EmbeddedPostgres
) -> None:
    with closing(Pool(_opener(instance), 1)) as pool:
        with pool.connection() as connection:
            connection.run("SELECT 1")
        with closing(connection_factory(cluster.url(postgres.OWNER))()) as owner:
            owner.run("SELECT pg_terminate_backend(pid, 9000) FROM pg_stat_activity WHERE usename = :role", role=ROLE)
        killed = time.monotonic()
        wait_until(lambda: time.monotonic() > killed + TRUSTED_SECONDS, "idle connections are asked before their use")
        with pool.connection() as connection:
            assert connection.run("SELECT 1") == [[1]]


def test_a_certificate_that_the_server_refuses_is_renewed(instance: CloudSqlInstance) -> None:
    connect = _opener(instance)
    connect().close()
    threading.Event().wait(1.1)  # certificates are dated to the second
    instance.refuse_certificates_before = datetime.now(UTC).replace(microsecond=0)
    _query(connect)
    assert len(instance.calls) == 4


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"instance": INSTANCE.replace(REGION, "us-east1")}, "Provided region was mismatched"),
        ({"user": "nobody@test-project.iam.gserviceaccount.com"}, 'role "nobody@test-project.iam" does not exist'),
        ({"database": "nowhere"}, 'database "nowhere" does not exist'),
        ({"ip_type": "PSC"}, "does not have any IP addresses matching preference: PSC"),
    ],
    ids=["region", "user", "database", "address"],
)
def test_an_error_that_no_retry_can_fix_is_reported_as_misconfiguration(
    instance: CloudSqlInstance, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(Misconfigured, match=message):
        _opener(instance, **changed)()


REFUSALS = [
    ("28000", f'Cloud SQL IAM service account authentication failed for user "{ROLE}"'),
    ("28P01", f'password authentication failed for user "{ROLE}"'),
    ("3D000", f'database "{DATABASE}" does not exist'),
    ("42501", f'permission denied for database "{DATABASE}"'),
]
ANSWERS = {
    400: "Invalid request: instance is not running.",
    401: "Request had invalid authentication credentials.",
    403: "boss::NOT_AUTHORIZED: Not authorized to access resource.",
    404: "The Cloud SQL instance does not exist.",
}


@pytest.mark.parametrize("refusal", REFUSALS, ids=[state for state, _ in REFUSALS])
def test_a_log_in_that_is_refused_once_succeeds_with_a_new_token_and_certificate(
    instance: CloudSqlInstance, metadata: CountingMetadataServer, refusal: tuple[str, str]
) -> None:
    connect = _opener(instance)
    connect().close()
    calls, issued = len(instance.calls), len(metadata.tokens)
    instance.refusals.append(refusal)
    _query(connect)
    assert instance.log_ins == 3
    assert sorted(instance.calls[calls:]) == sorted(instance.calls[:calls])
    assert len(metadata.tokens) == issued + 2, "one for the Admin API, one for the log-in"


@pytest.mark.parametrize("refusal", REFUSALS, ids=[state for state, _ in REFUSALS])
def test_a_log_in_refused_twice_is_a_misconfiguration_with_the_server_s_message(
    instance: CloudSqlInstance, refusal: tuple[str, str]
) -> None:
    instance.refusals.extend([refusal] * 9)
    with pytest.raises(ServiceError, match=re.escape(f"({refusal[1]})")) as raised:
        _opener(instance)()
    assert raised.value.needs_operator
    assert re.search("MNEMOSYNE_DB_USER|mnemosyne migrate", raised.value.next_step)
    assert instance.log_ins == 2


@pytest.mark.parametrize("status", [403, 503])
def test_an_admin_api_that_fails_once_is_called_again(instance: CloudSqlInstance, status: int) -> None:
    instance.fault = lambda api, path: (status, {"error": {"message": "again"}}) if len(api.calls) <= 2 else None
    _query(_opener(instance))


@pytest.mark.parametrize("status", ANSWERS)
def test_two_refusals_of_the_admin_api_are_a_misconfiguration_with_its_message(
    instance: CloudSqlInstance, status: int
) -> None:
    instance.fault = lambda api, path: (status, {"error": {"message": ANSWERS[status]}})
    answer = re.escape(f"(answered {status}: {ANSWERS[status]})")
    with pytest.raises(Misconfigured, match=f"roles/cloudsql.client.*{answer}"):
        _opener(instance)()


@pytest.mark.slow
def test_no_error_logs_an_access_token(instance: CloudSqlInstance) -> None:
    stream, before = io.StringIO(), logging.root.handlers[:]
    configure_logging("DEBUG", stream)
    instance.fault = lambda api, path: (401, {"error": {"message": "no"}})
    for _ in range(2):
        connect = _opener(instance)
        with pytest.raises(Misconfigured):
            connect()
        cloud_sql.close(connect._current_connector())
        OPENED.clear()
        del connect
        gc.collect()  # asyncio logs an unretrieved error of a task when the task is garbage-collected
    logging.root.handlers[:] = before
    assert '"event":"database_refused"' in stream.getvalue()
    assert TOKEN not in stream.getvalue()


def test_an_admin_api_quota_error_is_temporary_and_not_a_misconfiguration(
    instance: CloudSqlInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud_sql, "FIRST_CONNECTION_SECONDS", 0.0)
    instance.fault = lambda api, path: (429, {"error": {"message": "Quota exceeded"}})
    with pytest.raises(Unavailable, match="cannot be reached"):
        _opener(instance)()


def test_a_refused_log_in_leaves_other_connections_open(instance: CloudSqlInstance) -> None:
    connect = _opener(instance)
    other = connect()
    instance.refusals.extend([REFUSALS[0]] * 2)
    with pytest.raises(Misconfigured):
        connect()
    assert other.run("SELECT 1") == [[1]]
    other.close()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["handshake", "admin api"])
def test_a_hang_ends_at_a_deadline_and_further_sessions_open(
    instance: CloudSqlInstance, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def hang(api: CloudSqlInstance, path: str) -> None:
        api.released.wait(30)

    monkeypatch.setattr(cloud_sql, "FIRST_CONNECTION_SECONDS", 0.0)
    monkeypatch.setattr(cloud_sql, "CONNECT_TIMEOUT_SECONDS", 1.5)
    monkeypatch.setattr(cloud_sql, "STALL_SECONDS", 0.5)
    instance.mute = where == "handshake"
    instance.fault = hang if where == "admin api" else None
    connect = _opener(instance)
    with pytest.raises(Unavailable, match=r"the database (gave no connection within|cannot be reached)"):
        connect()
    instance.mute, instance.fault = False, None
    # Use longer timeouts from here on. The short ones above make the test fast, but they are too short for a connection
    # on a machine with a high load.
    monkeypatch.setattr(cloud_sql, "CONNECT_TIMEOUT_SECONDS", 10.0)
    monkeypatch.setattr(cloud_sql, "STALL_SECONDS", 5.0)
    socket.setdefaulttimeout(5.0)
    for _ in range(5):
        _query(connect)


def test_the_first_connection_of_an_instance_may_take_up_to_a_minute(
    instance: CloudSqlInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Direct VPC egress, a new instance may have no network for up to a minute."""
    monkeypatch.setattr(cloud_sql, "STALL_SECONDS", 0.2)
    instance.mute = True
    refused: list[str] = []

    def count(event: str, **fields: object) -> None:
        refused.append(event)
        instance.mute = len(refused) < 5

    monkeypatch.setattr(cloud_sql.log, "warning", count)
    _query(_opener(instance))
    assert refused[:5] == ["database_unreachable"] * 5


def test_after_the_first_connection_a_lost_one_fails_without_the_long_wait(
    instance: CloudSqlInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud_sql, "STALL_SECONDS", 0.2)
    connect = _opener(instance)
    connect().close()
    instance.mute = True
    with pytest.raises(Unavailable):
        connect()


def test_a_query_that_hangs_times_out_and_further_queries_run(instance: CloudSqlInstance) -> None:
    pool = Pool(_opener(instance, socket_timeout=0.5), 2)
    with pytest.raises(Unavailable, match="the connection was lost"), pool.connection() as connection:
        connection.run("SELECT pg_sleep(20)")
    for _ in range(5):
        with pool.connection() as connection:
            assert connection.run("SELECT 1") == [[1]]
    pool.close()
