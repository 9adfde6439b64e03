"""Every path of a delivery works with the database login of the service that handles it."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.object_imports import ObjectImports
from mnemosyne.adapters.database.owner_store import Quotas
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.domain.dead_letter import DeadLetterChoice
from mnemosyne.domain.memory import IngestState
from mnemosyne.domain.message import encode
from mnemosyne.domain.pubsub_message import LETTER_ID, Published
from mnemosyne.service import deliveries
from tests.fakes import FakeOutcomes, FakeServices, memories_in, request, store_of
from tests.memories import store as save

HANDLERS: dict[str, Callable[[deliveries.Push, Any], None]] = {
    "ingest": deliveries.store,
    "dead_letter": deliveries.give_up,
    "import_object": deliveries.import_object,
}


@pytest.fixture(params=HANDLERS)
def login(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def services(cluster: postgres.EmbeddedPostgres, database: str, login: str) -> Iterator[FakeServices]:
    """Services that use the database with the login of the tested function."""
    pool = Pool(connection_factory(cluster.url(login, database)), 2)
    services = FakeServices(memories_in(pool))
    services.outcome_topic = FakeOutcomes()
    yield services
    pool.close()


@pytest.fixture
def deliver(login: str, services: FakeServices) -> Callable[..., None]:
    def deliver(message_id: str, data: bytes, attributes: dict[str, str]) -> None:
        message = Published(message_id=message_id, data=data, attributes=attributes, publish_time="")
        HANDLERS[login](deliveries.Push(message, 1), services)

    return deliver


storing = pytest.mark.parametrize("login", ["ingest", "dead_letter"], indirect=True)


@storing
@pytest.mark.parametrize("kept", [0, 200])
def test_a_message_with_the_request_id_of_another_one_is_processed_at_each_delivery(
    deliver: Callable[..., None], store: MemoryStore, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deliveries are: the first one, a redelivery, one after a redrive, and one without room for a dead letter."""
    monkeypatch.setattr("mnemosyne.service.dead_letters.CONFLICT_LIMIT", kept)
    first, ns = request("tea"), store_of(store, "ns")
    deliver("1", *encode("ns", [first], ""))
    other = encode("ns", [replace(first, content="coffee")], "")
    deliver("2", *other)
    deliver("2", *other)
    assert len(ns.dead_letters(10)) == min(kept, 1)
    for message_id in ns.dead_letter_ids(DeadLetterChoice()):
        letter_id = ns.mark_redriven(message_id, [first.request_id], into="ns", now=True)
        deliver("3", other[0], other[1] | {LETTER_ID: str(letter_id)})
        (letter,) = ns.dead_letters(10)
        assert (letter.message_id, letter.redriven_at, letter.failures) == ("2", None, 2)


@storing
def test_unreadable_messages_are_processed_without_an_error(deliver: Callable[..., None], store: MemoryStore) -> None:
    for number, data in enumerate((b"", b"[]", b'{"memories": []}', b"{}")):
        for attributes in ({"namespace": "ns"}, {}, {"namespace": "ns", "source": "s", "key": "k"}):
            deliver(f"{number} {len(attributes)}", data, attributes)
            deliver(f"{number} {len(attributes)}", data, attributes)
    assert len(store_of(store, "ns").dead_letters(100)) == 8
    assert len(store_of(store, "").dead_letters(100)) == 4


@storing
def test_records_deletions_and_invalid_memories_are_finished(
    deliver: Callable[..., None], store: MemoryStore, services: FakeServices
) -> None:
    record = {"source": "s", "key": "1", "timestamp": "2026-05-20"}
    parts = [
        {"content": "tea"},
        {"content": "coffee", "timestamp": "2026-05-21"},
        {"op": "delete", "timestamp": "2026-05-22"},
        {"content": "late", "timestamp": "2026-05-19"},
        {"content": ""},
    ]
    for number, fields in enumerate(parts):
        deliver(str(number), json.dumps(record | fields).encode(), {"namespace": "ns"})
    assert services.outcome_topic is not None
    states = [outcome.state for outcome in services.outcome_topic.told]
    assert states == [
        IngestState.STORED, IngestState.STORED, IngestState.DELETED, IngestState.DELETED, IngestState.FAILED
    ]  # fmt: skip


@storing
def test_a_message_over_the_quota_is_kept_and_its_redrive_is_finished(
    deliver: Callable[..., None], store: MemoryStore, cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    quotas = Quotas(connection_factory(cluster.url(postgres.OWNER, database)))
    quotas.set("ns", {"memories": 1})
    ns = store_of(store, "ns")
    waiting = request("coffee")
    deliver("1", *encode("ns", [request("tea")], ""))
    data, attributes = encode("ns", [waiting], "")
    deliver("2", data, attributes)
    deliver("2", data, attributes)
    (letter,) = ns.dead_letters(10)
    for limit, left in ((1, 1), (2, 0)):
        quotas.set("ns", {"memories": limit})
        letter_id = ns.mark_redriven(letter.message_id, [waiting.request_id], into="ns", now=True)
        deliver("3", data, attributes | {LETTER_ID: str(letter_id)})
        assert len(ns.dead_letters(10)) == left


@pytest.mark.parametrize("login", ["import_object"], indirect=True)
def test_a_notification_that_cannot_be_read_is_finished(deliver: Callable[..., None], store: MemoryStore) -> None:
    for _ in range(2):
        deliver("1", b"", {"eventType": "OBJECT_FINALIZE"})
    assert len(store_of(store, "").dead_letters(10)) == 1


@pytest.mark.parametrize("login", ["import_object"], indirect=True)
def test_an_import_finds_the_request_ids_of_other_contents(
    store: MemoryStore, cluster: postgres.EmbeddedPostgres, database: str, login: str
) -> None:
    first = request("tea")
    save(store_of(store, "ns"), first)
    with closing(Pool(connection_factory(cluster.url(login, database)), 1)) as pool:
        imports = ObjectImports(pool.connection, "ns")
        assert imports.conflicting([first]) == set()
        assert imports.conflicting([replace(first, content="coffee")]) == {first.request_id}
