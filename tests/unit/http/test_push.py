"""A push whose message is finished gets 204. A push whose message must be delivered again gets another status."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from mnemosyne.domain.memory import ExternalId, IngestRequest, IngestState
from mnemosyne.domain.message import encode
from mnemosyne.errors import Broken, InvalidRequest, ItemUnavailable, Misconfigured, MnemosyneError, Unavailable
from mnemosyne.http.push import build_app
from mnemosyne.ids import new_id
from mnemosyne.service import redrives
from mnemosyne.service.deliveries import Push, give_up, import_object, store
from tests.fakes import FakeOutcomes, FakeServices, request
from tests.memories import list_memories, status_of
from tests.shared_database import SharedDatabase


def _function(handle: Any, services: FakeServices) -> TestClient:
    return TestClient(build_app(handle, services, threads=2, warm=lambda: None, identify=lambda authorization: None))


@pytest.fixture
def client(services: FakeServices) -> Iterator[TestClient]:
    """The `ingest` function."""
    with _function(store, services) as opened:
        yield opened


@pytest.fixture
def last(services: FakeServices) -> Iterator[TestClient]:
    """The `dead_letter` function."""
    with _function(give_up, services) as opened:
        yield opened


def _envelope(data: bytes, attributes: dict[str, str]) -> dict[str, Any]:
    message = {"data": base64.b64encode(data).decode(), "attributes": attributes, "messageId": "1"}
    return {"message": message, "subscription": "s", "deliveryAttempt": 1}


def _body(*requests: IngestRequest) -> dict[str, Any]:
    return _envelope(*encode("ns", requests or [request("a")], ""))


def test_a_cloud_event_is_stored(client: TestClient, services: FakeServices) -> None:
    event = {"specversion": "1.0", "type": "t", "source": "s", "id": "1"}
    structured = event | {"data": _body()}
    headers = {"Content-Type": "application/cloudevents+json"}
    assert client.post("/", content=json.dumps(structured), headers=headers).status_code == 204
    binary = {f"ce-{name}": value for name, value in event.items()}
    assert client.post("/", json=_body(request("b")), headers=binary).status_code == 204
    assert len(list_memories(services.memories)) == 2


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", '{"message": 5}', '{"message": {"data": "????"}}', '{"message": {"data": "é"}}']
)
def test_a_body_that_is_not_a_push_gets_400(client: TestClient, body: str) -> None:
    assert client.post("/", content=body).status_code == 400


@pytest.mark.parametrize("headers", [
    {"Origin": "https://evil.example"}, {"Content-Type": "text/plain"}, {"Content-Type": "text/json-ish"},
    {"Content-Type": "application/jsonp"},
])  # fmt: skip
def test_a_web_page_s_request_is_refused(client: TestClient, services: FakeServices, headers: dict[str, str]) -> None:
    assert client.post("/", json=_body(), headers=headers).status_code == 403
    assert not list_memories(services.memories)


def test_an_unreadable_message_is_kept_under_its_id_and_counted(client: TestClient, services: FakeServices) -> None:
    services.outcome_topic = FakeOutcomes()
    for _ in range(2):  # the message is delivered twice, and kept once
        assert client.post("/", json=_envelope(b"not json", {"namespace": "ns"})).status_code == 204
    (dead_letter,) = services.memories.dead_letters(100)
    assert (dead_letter.message_id, dead_letter.data, dead_letter.has_unreported_part) == ("1", b"not json", True)
    assert "message data must be JSON" in dead_letter.cause
    assert services.memories.stats().dead_letters == 1
    outcomes = [outcome.encode() for outcome in services.outcome_topic.told]
    ((event_id, request_id),) = {(attributes["ce-id"], json.loads(data)["request_id"]) for data, attributes in outcomes}
    assert event_id.startswith("1/dead_lettered/") and request_id is None


def test_a_subscription_of_one_namespace_stores_only_there(client: TestClient, shared_database: SharedDatabase) -> None:
    memory = {"content": "green tea", "timestamp": "2026-05-20T12:00:00Z"}
    for attributes in ({}, {"namespace": "a/b c"}, {"namespace": "theirs"}):
        data = json.dumps({**memory, "title": str(attributes)}).encode()
        assert client.post("/namespaces/a%2Fb%20c", json=_envelope(data, attributes)).status_code == 204
    recorded = shared_database.owner.run("SELECT namespace, state FROM ingest_requests")
    assert {row["namespace"] for row in recorded} == {"a/b c"}
    assert sorted(row["state"] for row in recorded) == [IngestState.DUPLICATE, IngestState.FAILED, IngestState.STORED]


@pytest.mark.parametrize("namespace", ["team#1", "a/b", "50%", "a+b", "tëam"])
def test_a_namespace_is_decoded_once(client: TestClient, shared_database: SharedDatabase, namespace: str) -> None:
    memory = {"content": "green tea", "timestamp": "2026-05-20T12:00:00Z", "namespace": namespace}
    path = f"/namespaces/{quote(namespace, safe='')}"
    assert client.post(path, json=_envelope(json.dumps(memory).encode(), {})).status_code == 204
    (row,) = shared_database.owner.run("SELECT namespace, state FROM ingest_requests")
    assert (row["namespace"], row["state"]) == (namespace, IngestState.STORED)


def test_each_outcome_is_published_once_for_repeated_deliveries(client: TestClient, services: FakeServices) -> None:
    services.outcome_topic = FakeOutcomes()
    good, bad = request("a", external_id=ExternalId("crm", "4711")), {"request_id": str(new_id()), "content": ""}
    data = json.loads(encode("ns", [good], "")[0])
    data["memories"].append(bad)
    for _ in range(4):
        assert client.post("/", json=_envelope(json.dumps(data).encode(), {"namespace": "ns"})).status_code == 204
    reports = [json.loads(outcome.encode()[0]) for outcome in services.outcome_topic.told]
    assert sorted((report["state"], report["key"], report["message_id"]) for report in reports) == [
        ("failed", None, "1"),
        ("stored", "4711", "1"),
    ]


def test_an_unpublished_outcome_is_published_by_the_next_delivery(client: TestClient, services: FakeServices) -> None:
    services.outcome_topic = FakeOutcomes()
    services.outcome_topic.away = True
    body = _body()
    assert client.post("/", json=body).status_code == 503
    services.outcome_topic.away = False
    assert client.post("/", json=body).status_code == 204
    assert [outcome.state for outcome in services.outcome_topic.told] == [IngestState.STORED]


def test_a_bug_loses_no_dead_letter(last: TestClient, services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Push) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Push, "decode", broken)
    assert last.post("/namespaces/ns", json=_envelope(b"x", {"note": "a\x00b"})).status_code == 204
    (dead_letter,) = services.memories.dead_letters(100)
    assert (dead_letter.data, dead_letter.attributes) == (b"x", {"note": "a\ufffdb"})
    assert "ZeroDivisionError" in dead_letter.cause


def test_a_publisher_s_attribute_eventtype_makes_no_object_event(last: TestClient, services: FakeServices) -> None:
    data, attributes = encode("ns", [ingest_request := request("a")], "")
    assert last.post("/", json=_envelope(data, {**attributes, "eventType": "ticket.created"})).status_code == 204
    assert status_of(services.memories, ingest_request.request_id).state is IngestState.STORED


@pytest.mark.parametrize("fault", [Unavailable("x"), Broken("x", next_step="y"), Misconfigured("x")], ids=repr)
def test_a_message_outlasts_a_service_s_fault(last: TestClient, services: FakeServices, fault: MnemosyneError) -> None:
    ingest_request = request("a")
    body = _body(ingest_request)
    services.embedder.fault = fault
    for _ in range(2):
        response = last.post("/", json=body)
        assert (response.status_code, response.headers["retry-after"]) == (503, "10")
    ingest_status = status_of(services.memories, ingest_request.request_id)
    assert (ingest_status.state, ingest_status.error, ingest_status.attempts) == (IngestState.QUEUED, str(fault), 2)
    services.embedder.fault = None
    assert last.post("/", json=body).status_code == 204
    assert status_of(services.memories, ingest_request.request_id).state is IngestState.STORED
    assert list(services.memories.dead_letters(100)) == []


def test_a_message_that_fails_alone_is_dead_lettered_with_its_cause(last: TestClient, services: FakeServices) -> None:
    body = _body(ingest_request := request("a"))
    services.embedder.fault = Unavailable("the service is away")
    assert last.post("/", json=body).status_code == 503
    services.embedder.fault = ItemUnavailable("the model fails at this text")
    assert last.post("/", json=body).status_code == 204
    (dead_letter,) = services.memories.dead_letters(100)
    assert dead_letter.cause == "the model fails at this text"
    assert status_of(services.memories, ingest_request.request_id).state is IngestState.DEAD_LETTERED


@pytest.mark.parametrize(("days", "kept_count"), [(5.9, 0), (6.1, 1)])
def test_during_a_fault_a_message_is_kept_as_a_dead_letter_only_on_the_last_day_of_its_retention(
    last: TestClient, services: FakeServices, days: float, kept_count: int
) -> None:
    services.embedder.fault = Broken("the service refuses us", next_step="grant the right")
    body = _body()
    body["message"]["publishTime"] = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    assert last.post("/", json=body).status_code == (204 if kept_count else 503)
    assert len(services.memories.dead_letters(100)) == kept_count


def test_an_object_that_was_not_imported_is_kept_on_the_last_day_with_the_next_step(services: FakeServices) -> None:
    notification = {"eventType": "OBJECT_FINALIZE", "bucketId": "b", "objectId": "o", "objectGeneration": "1"}
    body = _envelope(b"{}", notification)
    body["message"]["publishTime"] = (datetime.now(UTC) - timedelta(days=6.1)).isoformat()
    with _function(import_object, services) as reader:
        assert reader.post("/objects/ns", json=body).status_code == 204
    (dead_letter,) = services.memories.dead_letters(100)
    with pytest.raises(InvalidRequest, match="copy the object onto itself"):
        redrives.redrive(dead_letter.message_id, memories=services.memories, queue=services.queue)


def test_another_content_of_a_used_id_is_reported(client: TestClient, last: TestClient, services: FakeServices) -> None:
    services.outcome_topic = FakeOutcomes()
    first = request("a")
    client.post("/", json=_body(first))
    last.post("/", json=_body(replace(first, content="b")))
    assert [outcome.state for outcome in services.outcome_topic.told] == [IngestState.STORED, IngestState.DEAD_LETTERED]


@pytest.mark.parametrize("path", ["/namespaces/", "/objects/", "/namespaces/team%20", "/namespaces/%E2%80%8B"])
def test_an_endpoint_path_without_a_namespace_gets_400(client: TestClient, services: FakeServices, path: str) -> None:
    assert client.post(path, json=_body()).status_code == 400
    assert not list_memories(services.memories)
