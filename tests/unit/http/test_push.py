"""Pushes: what is done for good is 204, what may succeed later is not."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemosyne.domain.memory import IngestState
from mnemosyne.domain.message import encode
from mnemosyne.http.push import build_app, store
from tests.fakes import FakeServices, request


@pytest.fixture
def services() -> FakeServices:
    return FakeServices()


@pytest.fixture
def client(services: FakeServices) -> Iterator[TestClient]:
    with TestClient(
        build_app(store, services, threads=2, warm=lambda: None, identify=lambda authorization: None)
    ) as opened:
        yield opened


@pytest.fixture
def _no_network() -> None:
    """The test client needs a socket pair for its event loop; the function itself opens nothing."""


def _envelope(data: bytes, attributes: dict[str, str]) -> dict[str, Any]:
    message = {"data": base64.b64encode(data).decode(), "attributes": attributes, "messageId": "1"}
    return {"message": message, "subscription": "s", "deliveryAttempt": 1}


def test_a_push_is_stored_and_acknowledged(client: TestClient, services: FakeServices) -> None:
    assert client.post("/", json=_envelope(*encode("ns", [request("a")], ""))).status_code == 204
    assert len(services.memories.memories) == 1


def test_a_structured_cloud_event_is_stored_alike(client: TestClient, services: FakeServices) -> None:
    event = {"specversion": "1.0", "type": "t", "source": "s", "id": "1"}
    event["data"] = _envelope(*encode("ns", [request("a")], ""))  # type: ignore[assignment]
    headers = {"Content-Type": "application/cloudevents+json"}
    assert client.post("/", content=json.dumps(event), headers=headers).status_code == 204
    assert len(services.memories.memories) == 1


def test_a_binary_cloud_event_is_stored_alike(client: TestClient, services: FakeServices) -> None:
    headers = {"ce-specversion": "1.0", "ce-type": "t", "ce-source": "s", "ce-id": "1"}
    body = _envelope(*encode("ns", [request("a")], ""))
    assert client.post("/", json=body, headers=headers).status_code == 204
    assert len(services.memories.memories) == 1


def test_a_fault_that_may_pass_is_redelivered(client: TestClient, services: FakeServices) -> None:
    services.embedder.away = True
    response = client.post("/", json=_envelope(*encode("ns", [request("a")], "")))
    assert (response.status_code, response.headers["retry-after"]) == (503, "10")


def test_a_message_that_can_never_be_stored_is_recorded_and_acknowledged(
    client: TestClient, services: FakeServices
) -> None:
    bad = request("a")
    _, attributes = encode("ns", [bad], "")
    assert client.post("/", json=_envelope(b"not json", attributes)).status_code == 204
    status = services.memories.requests["ns", bad.request_id]
    assert status.state is IngestState.FAILED
    assert status.error and "message data must be JSON" in status.error


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"message": 5}'])
def test_what_is_no_push_is_400(client: TestClient, body: bytes) -> None:
    assert client.post("/", content=body).status_code == 400


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Content-Type": "text/plain"}])
def test_what_a_web_page_could_send_is_refused(
    client: TestClient, services: FakeServices, headers: dict[str, str]
) -> None:
    body = json.dumps(_envelope(*encode("ns", [request("a")], "")))
    headers = {"Content-Type": "application/json", **headers}
    assert client.post("/", content=body, headers=headers).status_code == 403
    assert services.memories.memories == {}


def test_data_that_is_no_base64_is_no_push(client: TestClient) -> None:
    body = {"message": {"data": "é", "attributes": {"namespace": "ns"}, "messageId": "1"}}
    assert client.post("/", json=body).status_code == 400


def test_a_namespace_that_cannot_be_is_a_permanent_fault(client: TestClient, services: FakeServices) -> None:
    data, attributes = encode("ns", [request("a")], "")
    assert client.post("/", json=_envelope(data, {**attributes, "namespace": "a\x00"})).status_code == 204
    assert services.memories.memories == {}
