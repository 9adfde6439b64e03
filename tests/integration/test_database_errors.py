"""Faults of PostgreSQL that last until an operator acts: no memory is lost, and the log has the next step."""

import pytest
from starlette.testclient import TestClient

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.memory import IngestState
from mnemosyne.domain.message import encode
from mnemosyne.domain.principal import LOCAL
from mnemosyne.errors import Broken, Unavailable
from mnemosyne.service.deliveries import give_up, store
from tests.database_errors import FAULTS
from tests.fakes import FakeServices, request
from tests.memories import status_of
from tests.pushes import function_client, push
from tests.tools import error_of

pytestmark = pytest.mark.own_database


@pytest.fixture
def services(store: MemoryStore) -> FakeServices:
    return FakeServices(store)


@pytest.fixture
def functions(services: FakeServices) -> list[TestClient]:
    """`ingest` and `dead_letter`."""
    return [function_client(handler, services) for handler in (store, give_up)]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_database_is_reported_with_its_fix_and_loses_no_memory(
    services: FakeServices,
    functions: list[TestClient],
    pool: Pool,
    owner: Connection,
    database: str,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    begin, end, cause, fix = FAULTS[name]
    ingest_request = request("a memory")
    message = encode(LOCAL.namespace, [ingest_request], "")
    owner.script("SET default_transaction_read_only = off")
    owner.run_file(begin.format(database=database))
    pool.close()  # open new connections, as after a failover
    assert [push(client, *message) for client in functions * 2] == [503] * 4
    needed = [record.fields for record in caplog.records if record.msg == "operator_needed"]  # type: ignore[attr-defined]
    assert len(needed) == 4
    assert all(cause in fields["error"] and fix in fields["next_step"] for fields in needed)
    owner.run_file(end.format(database=database))
    pool.close()
    assert push(functions[1], *message) == 204
    memories = services.memories_of(LOCAL.namespace)
    assert status_of(memories, ingest_request.request_id).state is IngestState.STORED
    assert list(memories.dead_letters(10)) == []


LONG = " ".join(f"word{number}" for number in range(100))
"""A memory of several chunks."""
TIMES_OUT = """
CREATE FUNCTION time_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE query_canceled; END $$;
CREATE TRIGGER time_out AFTER {event} ON {table} FOR EACH STATEMENT EXECUTE FUNCTION time_out()
"""


@pytest.mark.parametrize(
    ("event", "table", "contents"),
    [
        ("INSERT", "memories", ["a memory"]),
        ("INSERT", "memories", ["one", "of", "several"]),
        ("INSERT", "memory_chunks", ["short", LONG]),
        ("INSERT", "ingest_requests", ["a memory"]),
        ("INSERT OR UPDATE", "namespace_usage", ["a memory", "another"]),
    ],
)
def test_a_database_too_slow_for_every_memory_causes_no_dead_letters(
    services: FakeServices, functions: list[TestClient], owner: Connection, event: str, table: str, contents: list[str]
) -> None:
    requests, memories = [request(content) for content in contents], services.memories_of(LOCAL.namespace)
    message = encode(LOCAL.namespace, requests, "")
    owner.run_file(TIMES_OUT.format(event=event, table=table))
    assert [push(client, *message) for client in functions * 3] == [503] * 6
    assert list(memories.dead_letters(10)) == []
    owner.run_file(f"DROP TRIGGER time_out ON {table}")
    assert push(functions[1], *message) == 204
    statuses = memories.statuses([request.request_id for request in requests])
    assert {status.state for status in statuses.values()} == {IngestState.STORED}


def test_a_tool_says_that_the_operator_must_act_and_does_not_ask_to_be_called_again(
    services: FakeServices, owner: Connection
) -> None:
    owner.script("REVOKE EXECUTE ON FUNCTION reported_outcome FROM mnemosyne_runtime")
    text = error_of(services, "ingest_status", request_id=str(request("a").request_id))
    assert "unavailable until the server's operator acts" in text
    assert "this function lacks a right in the database" in text
    assert "reported_outcome" not in text


def test_a_connection_that_is_read_only_is_not_used_again(pool: Pool) -> None:
    with pool.connection() as connection:
        connection.script("SET default_transaction_read_only = on")
        with pytest.raises(Broken):
            connection.script("CREATE TABLE x ()")
    with pool.connection() as connection:
        assert connection.script("SHOW default_transaction_read_only") == [["off"]]


def test_a_connection_that_is_opened_after_its_pool_was_closed_is_closed_too(pool: Pool) -> None:
    pool.close()
    with pool.connection() as connection:
        connection.run("SELECT 1")
    with pytest.raises(Unavailable):
        connection.run("SELECT 1")
