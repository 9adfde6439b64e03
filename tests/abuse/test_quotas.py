"""Quotas of stored memories and embedded texts.

The used amount is counted at each change, and the quota is checked before the embedder is called.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner
from mcp_types import CallToolResult

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.owner_store import Quotas
from mnemosyne.adapters.database.quota_cache import FRESH_SECONDS
from mnemosyne.app.operations import read_operation
from mnemosyne.app.operations.access import ListQuotas, SetQuota
from mnemosyne.cli.local import postgres
from mnemosyne.cli.main import cli
from mnemosyne.domain.memory import ExternalId, IngestRequest, IngestState
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.message import IngestMessage, encode
from mnemosyne.domain.pubsub_message import LETTER_ID, Published
from mnemosyne.domain.quota import EVERYBODY, Quota, next_midnight
from mnemosyne.domain.search import Filters
from mnemosyne.errors import InvalidRequest, ItemUnavailable, OverQuota
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import TOOLS
from mnemosyne.service import deliveries, ingest, redrives
from tests.fakes import FakeEmbedder, FakeServices, request, store_of
from tests.mcp_app import CALLERS
from tests.memories import status_of, store_content
from tests.operations import LocalOperations
from tests.waiting import wait_until

BY_NAME = {tool.name: tool for tool in TOOLS}
ALL = Filters(include_superseded=True)


@pytest.fixture
def keeper(cluster: postgres.EmbeddedPostgres, database: str) -> Quotas:
    return Quotas(connection_factory(cluster.url(postgres.OWNER, database)))


def _store(store: MemoryStore, *contents: str, embedder: FakeEmbedder | None = None) -> list[tuple[str, str | None]]:
    requests = tuple(request(content) for content in contents)
    result = ingest.store(
        IngestMessage("ada", requests), memories=store_of(store, "ada"), embedder=embedder or FakeEmbedder()
    )
    return [
        (result.outcomes[ingest_request.request_id].state, result.outcomes[ingest_request.request_id].error)
        for ingest_request in requests
    ]


def _deliver(services: FakeServices, message_id: str, data: bytes, attributes: Mapping[str, str]) -> None:
    message = Published(message_id=message_id, data=data, attributes=attributes)
    deliveries.store(deliveries.Push(message, 1), services)


def _deliver_request(services: FakeServices, message_id: str, ingest_request: IngestRequest) -> None:
    _deliver(services, message_id, *encode("ada", [ingest_request], ""))


def _logged(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    """Return the fields of each log line of an event."""
    return [vars(record)["fields"] for record in caplog.records if record.msg == event]


def _kept(caplog: pytest.LogCaptureFixture, event: str) -> list[tuple[str, bool]]:
    """Return the message of each log line of an event, and whether the message is kept."""
    return [(fields["message_id"], fields["kept"]) for fields in _logged(caplog, event)]


def _letter_ids(memories: MemoryStore) -> list[str]:
    return sorted(letter.message_id for letter in memories.dead_letters(10))


def test_the_counted_usage_follows_each_change(store: MemoryStore) -> None:
    ada = store_of(store, "ada")
    assert ada.quota() == Quota()
    _store(store, "tea", "green tea" + " and so on" * 60)  # the second has several chunks
    used = ada.quota()
    assert (used.memories, used.texts_today) == (2, 5)
    (memory, *_) = ada.list(ALL, 10)
    ada.update(memory.id, MemoryChange(title="x" * 100, metadata={"k": "é"}))
    assert ada.quota().bytes > used.bytes
    for head in ada.list(ALL, 10):
        ada.delete(head.id)
    assert (ada.quota().memories, ada.quota().bytes) == (0, 0)
    assert ada.quota().texts_today == 5  # computed embeddings are still counted


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"memories": 2}, "quota of 2 memories is used up"),
        ({"bytes": 20}, "quota of 20 bytes has no room"),
        ({"texts_a_day": 2}, "quota of 2 embedded texts a day is used up: send it again after"),
    ],
)
def test_over_the_quota_nothing_is_embedded_and_the_outcome_names_the_limit(
    store: MemoryStore, keeper: Quotas, limits: dict[str, int], message: str
) -> None:
    keeper.set("ada", limits)
    embedder = FakeEmbedder()
    outcomes = _store(store, "tea", "car", "dog", "cat", embedder=embedder)
    assert [state for state, _ in outcomes] == ["stored", "stored", "failed", "failed"]
    assert all(message in str(error) for state, error in outcomes if state == "failed")
    assert embedder.embedded == ["tea", "car"]
    assert store_of(store, "ada").quota().memories == 2


def test_a_request_that_failed_because_of_a_quota_is_stored_when_it_is_sent_again(
    store: MemoryStore, keeper: Quotas
) -> None:
    keeper.set("ada", {"memories": 0})
    ada, ingest_request = store_of(store, "ada"), request("tea")
    message = IngestMessage("ada", (ingest_request,))
    ingest.store(message, memories=ada, embedder=FakeEmbedder())
    assert status_of(ada, ingest_request.request_id).state is IngestState.FAILED
    keeper.set("ada", {"memories": None})
    ingest.store(message, memories=ada, embedder=FakeEmbedder())
    assert status_of(ada, ingest_request.request_id).state is IngestState.STORED


def test_a_message_with_a_request_over_quota_is_kept_and_can_be_redriven(
    store: MemoryStore, keeper: Quotas, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = FakeServices(store)
    keeper.set("ada", {"memories": 1})
    for content in ("tea", "car"):
        _deliver_request(services, content, request(content))
    (dead_letter,) = store_of(store, "ada").dead_letters(10)
    assert "quota of 1 memories" in dead_letter.cause
    keeper.set("ada", {"memories": 10})
    redrives.redrive(dead_letter.message_id, memories=store_of(store, "ada"), queue=services.queue)
    ((_, again),) = services.queue.published
    ingest.store(IngestMessage("ada", tuple(again)), memories=store_of(store, "ada"), embedder=services.embedder)
    assert store_of(store, "ada").quota().memories == 2
    monkeypatch.setattr("mnemosyne.service.dead_letters.OVER_QUOTA_LIMIT", 1)
    keeper.set("ada", {"memories": 2})
    for content in ("dog", "cat"):
        _deliver_request(services, content, request(content))
    assert len(store_of(store, "ada").dead_letters(10)) == 1  # dead letters count towards the quota


def test_the_log_says_for_each_delivery_over_the_quota_whether_the_message_is_kept(
    store: MemoryStore, keeper: Quotas, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mnemosyne.service.dead_letters.OVER_QUOTA_LIMIT", 1)
    caplog.set_level("INFO")
    services = FakeServices(store)
    keeper.set("ada", {"memories": 0})
    messages = {message_id: request(message_id) for message_id in ("kept", "lost")}
    for message_id in ("kept", "lost", "kept", "lost"):
        _deliver_request(services, message_id, messages[message_id])
    redrives.redrive("kept", memories=store_of(store, "ada"), queue=services.queue)
    _deliver(services, "again", *services.queue.messages[0])
    expected = [("kept", True), ("lost", False), ("kept", True), ("lost", False), ("kept", True)]
    assert _kept(caplog, "beyond_quota") == expected
    steps = [fields["next_step"] for fields in _logged(caplog, "beyond_quota")]
    assert ["redrive --cause quota" in step for step in steps] == [kept for _, kept in expected]
    assert not any("redrive" in fields["next_step"] for fields in _logged(caplog, "quota_exceeded"))


def test_contents_sent_under_a_used_request_id_do_not_fill_the_disk(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A caller may send any number of such contents. The quota does not limit their dead letters."""
    monkeypatch.setattr("mnemosyne.service.dead_letters.CONFLICT_LIMIT", 2)
    services, first = FakeServices(store), request("tea")
    _deliver_request(services, "0", first)
    for message_id in ("1", "2", "3", "4", "1"):  # the last one is a redelivery
        _deliver_request(services, message_id, replace(first, content=f"another content, {message_id}"))
    assert _letter_ids(store_of(store, "ada")) == ["1", "2"]
    assert [fields["message_id"] for fields in _logged(caplog, "message_refused")] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    "limit",
    ["mnemosyne.service.dead_letters.UNREADABLE_LIMIT", "mnemosyne.adapters.database.dead_letters.LETTERS_BYTES"],
)
@pytest.mark.parametrize("namespace", ["ada", ""])
def test_messages_that_cannot_be_read_do_not_fill_the_disk_and_a_lost_one_is_logged(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, namespace: str, limit: str
) -> None:
    data = b"no JSON"
    monkeypatch.setattr(limit, 2 if "UNREADABLE" in limit else 2 * len(data))
    services = FakeServices(store)
    attributes = {"namespace": namespace} if namespace else {}
    for message_id in ("0", "1", "2", "3"):
        _deliver(services, message_id, data, attributes)
    assert _letter_ids(store_of(store, namespace)) == ["0", "1"]
    assert _kept(caplog, "message_refused") == [("0", True), ("1", True), ("2", False), ("3", False)]
    assert "the message is lost" in _logged(caplog, "message_refused")[-1]["next_step"]


def test_messages_of_a_newer_schema_version_do_not_fill_the_disk_and_report_that_they_are_not_kept(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mnemosyne.service.dead_letters.UNREADABLE_LIMIT", 2)
    services, ada = FakeServices(store), store_of(store, "ada")

    def give_up(number: int) -> None:
        data = b'{"schema_version": 2, "request_id": "%s"}' % str(UUID(int=number + 1)).encode()
        message = Published(message_id=str(number), data=data, attributes={"namespace": "ada"})
        for _ in range(2):  # the second attempt finds the error that the first has recorded
            with suppress(ItemUnavailable):
                deliveries.give_up(deliveries.Push(message, 1), services)

    for number in (0, 1, 2, 1):
        give_up(number)
    assert _letter_ids(ada) == ["0", "1"]
    statuses = ada.statuses([UUID(int=number) for number in (1, 2, 3)])
    assert [statuses[UUID(int=number)].state for number in (1, 2, 3)] == ["dead_lettered", "dead_lettered", "failed"]
    newer = "schema_version 2 is newer than 1, the newest version that this release of Mnemosyne reads"
    kept_nothing = "the message is not kept, because the namespace has too many dead letters: publish it again"
    assert statuses[UUID(int=3)].error == f"{newer}; {kept_nothing}"
    assert set(_kept(caplog, "dead_lettered")) == {("0", True), ("1", True), ("2", False)}


def test_a_letter_without_a_namespace_that_fails_again_in_a_namespace_is_not_logged_as_lost(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    services, unnamed = FakeServices(store), store_of(store, "")
    _deliver(services, "0", b"no JSON", {})
    letter_id = unnamed.mark_redriven("0", [], into="ada", now=True)
    _deliver(services, "1", b"no JSON", {"namespace": "ada", LETTER_ID: str(letter_id)})
    assert _kept(caplog, "message_refused") == [("0", True)]
    (letter,) = unnamed.dead_letters(10)
    assert letter.failures == 2


def test_a_change_that_would_exceed_the_quota_is_refused(store: MemoryStore, keeper: Quotas) -> None:
    _store(store, "tea")
    (memory,) = store_of(store, "ada").list(ALL, 10)
    keeper.set("ada", {"bytes": 1_000})
    with pytest.raises(OverQuota, match=r"quota of 1,000 bytes has no room for 1,2.*nothing was changed"):
        store_of(store, "ada").update(memory.id, MemoryChange(metadata={"k": "v" * 1000}))
    assert store_of(store, "ada").quota().bytes == 8
    assert store_of(store, "ada").update(memory.id, MemoryChange(title="cup")) is not None


def test_a_duplicate_is_accepted_when_the_quota_is_used_up(store: MemoryStore, keeper: Quotas) -> None:
    _store(store, "tea")
    keeper.set("ada", {"memories": 1, "texts_a_day": 1})
    assert [state for state, _ in _store(store, "tea")] == ["duplicate"]


def test_a_call_over_a_known_quota_is_refused_at_once(store: MemoryStore, keeper: Quotas) -> None:
    services = FakeServices(store)
    keeper.set("ada", {"memories": 0})
    wait_until(lambda: bool(_ingest(services).is_error), "the quota is known")
    before = len(services.queue.published)
    (error,) = _ingest(services).content
    assert "quota of 0 memories is used up" in str(error)
    assert "nothing was accepted" in str(error)
    assert len(services.queue.published) == before


def _ingest(services: FakeServices) -> CallToolResult:
    return call(BY_NAME["ingest_memory"], {"content": "coffee"}, CALLERS["ada"], services)


def _use_up_quota(services: FakeServices, keeper: Quotas) -> UUID:
    """Store a memory that is as large as the quota, and wait until the server knows that the quota is used up."""
    memory_id = store_content(store_of(services.memories, "ada"), "tea", external_id=ExternalId("crm", "1"))
    keeper.set("ada", {"memories": 1})
    wait_until(lambda: bool(_ingest(services).is_error), "the quota is known")
    return memory_id


@pytest.mark.parametrize("named_by", ["id", "ids", "record"])
def test_a_call_after_a_deletion_is_not_refused_because_of_the_usage_before(
    store: MemoryStore, keeper: Quotas, named_by: str
) -> None:
    services = FakeServices(store)
    memory_id = str(_use_up_quota(services, keeper))
    arguments: dict[str, dict[str, Any]] = {
        "id": {"id": memory_id}, "ids": {"ids": [memory_id]}, "record": {"source": "crm", "key": "1"},
    }  # fmt: skip
    assert not call(BY_NAME["delete_memory"], arguments[named_by], CALLERS["ada"], services).is_error
    assert not _ingest(services).is_error


def test_a_refused_call_succeeds_soon_after_another_instance_has_made_room(store: MemoryStore, keeper: Quotas) -> None:
    services = FakeServices(store)
    _use_up_quota(services, keeper)
    keeper.set("ada", {"memories": 2})
    wait_until(lambda: not _ingest(services).is_error, "the changed quota is known", seconds=FRESH_SECONDS / 2)


def test_memory_stats_shows_usage_and_quota(store: MemoryStore, keeper: Quotas) -> None:
    services = FakeServices(store)
    _store(store, "tea")
    keeper.set(EVERYBODY, {"memories": 10, "bytes": 1_000})
    keeper.set("ada", {"memories": 5})
    stats = call(BY_NAME["memory_stats"], {}, CALLERS["ada"], services).structured_content
    assert stats is not None
    assert stats["quota"] == {
        "memories": 1, "memories_limit": 5, "bytes": 8, "bytes_limit": 1_000, "texts_today": 1, "texts_limit": None,
    }  # fmt: skip
    other = call(BY_NAME["memory_stats"], {}, CALLERS["bob"], services).structured_content
    assert other is not None
    assert (other["quota"]["memories"], other["quota"]["memories_limit"]) == (0, 10)


def test_a_deployment_has_default_quotas_and_a_local_system_has_none(
    cluster: postgres.EmbeddedPostgres, database: str, new_database: Any, keeper: Quotas
) -> None:
    from mnemosyne.adapters.database import migrations
    from tests.fakes import FAKE_SPACE

    assert keeper.every() == [(EVERYBODY, Quota())]
    owner = connection_factory(cluster.url(postgres.OWNER, new := new_database(empty=True)))()
    migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE)
    owner.close()
    ((name, everybody),) = Quotas(connection_factory(cluster.url(postgres.OWNER, new))).every()
    assert name == EVERYBODY
    assert (everybody.memories_limit, everybody.texts_limit) == (1_000_000, 200_000)


def test_the_quota_command_sets_and_lists_quotas(
    cluster: postgres.EmbeddedPostgres, database: str, store: MemoryStore
) -> None:
    environment = {"MNEMOSYNE_DATABASE_URL": cluster.url(postgres.OWNER, database)}

    def run(*words: str) -> str:
        result = CliRunner().invoke(cli, ["quota", *words], env=environment)
        assert result.exit_code == 0, result.output
        return result.output

    _store(store, "tea")
    run("set", "--memories", "10")
    run("set", "--namespace", "ada", "--memories", "ANY", "--texts-a-day", "7")
    (everybody, ada) = json.loads(run("list", "--json"))
    assert (everybody["namespace"], everybody["memories_limit"]) == (None, 10)
    assert (ada["memories"], ada["memories_limit"], ada["texts_limit"]) == (1, None, 7)
    run("set", "--namespace", "ada", "--memories", "default")
    assert "1 of 10 memories" in run("list", "--namespace", "ada")
    refused = CliRunner().invoke(cli, ["quota", "set", "--memories", "lots"], env=environment)
    assert refused.exit_code == 2
    assert "must be a number of at most 100 digits, `any` or `default`, got 'lots'" in refused.output
    refused = CliRunner().invoke(cli, ["quota", "set"], env=environment)
    assert refused.exit_code == 2


def test_the_list_of_quotas_names_each_namespace_that_has_memories(keeper: Quotas, store: MemoryStore) -> None:
    for namespace in ("ada", "default", "user:1077"):
        store_content(store_of(store, namespace), f"tea for {namespace}")
    assert {name: quota.memories for name, quota in keeper.every()} == {
        EVERYBODY: 0, "ada": 1, "default": 1, "user:1077": 1,
    }  # fmt: skip


def test_quotas_of_a_deployment_are_set_through_the_migrate_function(keeper: Quotas) -> None:
    class Owner:
        quotas = keeper

    system = LocalOperations(Owner())
    assert system.run(SetQuota(namespace="ada", limits={"memories": 3, "bytes": None})) == {"namespace": "ada"}
    (quotas,) = system.run(ListQuotas(namespace="ada"))["quotas"]
    assert (quotas["namespace"], quotas["memories_limit"], quotas["bytes_limit"]) == ("ada", 3, None)
    for wrong in ({}, {"namespace": "a", "limits": {}}, {"namespace": "a", "limits": {"memories": -1}}):
        with pytest.raises(InvalidRequest):
            read_operation("quota_set", wrong)


def test_a_transaction_started_before_midnight_does_not_reduce_the_new_day_s_count(owner: Connection) -> None:
    tomorrow = "CAST(now() AT TIME ZONE 'UTC' AS date) + 1"
    owner.script(
        "INSERT INTO namespace_usage (namespace, shard, memories, bytes, day, texts)"
        f" VALUES ('ada', pg_backend_pid() % 64, 100, 1000, {tomorrow}, 100)"
    )
    owner.script("SELECT count_usage('ada', 3, 30, 3)")
    rows = owner.run("SELECT memories, texts, day > CAST(now() AT TIME ZONE 'UTC' AS date) FROM namespace_usage")
    assert rows == [[103, 103, True]]


def test_a_day_ends_at_midnight_utc() -> None:
    assert next_midnight(datetime(2026, 12, 31, 23, 59, tzinfo=UTC)) == datetime(2027, 1, 1, tzinfo=UTC)
