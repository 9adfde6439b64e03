"""Despite faults of each part, each published memory is stored exactly once and has an outcome."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import httpx
import pytest

from mnemosyne.adapters.queues.local import QueuedMessage
from mnemosyne.cli.local.delivery import push_envelope
from mnemosyne.domain.memory import IngestRequest, IngestState
from mnemosyne.domain.message import encode
from mnemosyne.domain.search import Filters
from mnemosyne.service import dead_letters
from tests.fakes import request
from tests.fakes_wire.gemini import GeminiServer, error
from tests.integration.faults.conftest import USER, Cloud
from tests.waiting import wait_until

pytestmark = pytest.mark.exhaustive  # each takes seconds to minutes, because processes are killed and frozen


def _push(cloud: Cloud, *requests: IngestRequest) -> int:
    """Push a message to the function directly, like Pub/Sub, and return the HTTP status."""
    data, attributes = encode(cloud.namespace, requests, "")
    message = QueuedMessage(message_id=1, data=data, attributes=attributes, publish_time="", attempts=0)
    return httpx.post(cloud.push.url, json=push_envelope(message), timeout=60).status_code


def _publish(cloud: Cloud, *requests: IngestRequest) -> list[UUID]:
    cloud.system.queue.publish(cloud.namespace, requests)
    return [request.request_id for request in requests]


def test_one_message_delivered_twenty_times_at_once_is_one_memory_and_one_embedding(cloud: Cloud) -> None:
    ingest_request = request("the same message")
    slow = threading.Event()

    def hesitates(server: GeminiServer) -> None:
        slow.wait(0.5)

    cloud.gemini.fault = hesitates
    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda _: _push(cloud, ingest_request), range(20)))
    assert 204 in statuses
    assert set(statuses) <= {204, 429, 503}
    assert cloud.count() == 1
    assert cloud.gemini.texts == 1
    assert _push(cloud, ingest_request) == 204


def test_redelivery_does_not_restore_a_deleted_memory_and_a_new_request_stores_it(cloud: Cloud) -> None:
    ingest_request = request("deleted")
    assert _push(cloud, ingest_request) == 204
    (head,) = cloud.system.memories_of(cloud.namespace).list(Filters(), 10)
    cloud.system.memories_of(cloud.namespace).delete(head.id)
    assert _push(cloud, ingest_request) == 204
    assert cloud.count() == 0
    assert _push(cloud, request("deleted")) == 204
    assert cloud.count() == 1


def test_a_message_that_always_fails_is_dead_lettered_with_its_cause_and_stored_after_a_redrive(cloud: Cloud) -> None:
    def poisoned(server: GeminiServer) -> tuple[int, Any] | None:
        return error(500, "chokes on it") if "poison" in str(server.requests[-1]) else None

    cloud.gemini.fault = poisoned
    cloud.subscribe(max_delivery_attempts=5)
    (poison,) = _publish(cloud, request("poison"))
    (fine,) = _publish(cloud, request("harmless"))
    outcomes = cloud.wait_final([poison, fine], seconds=600)
    assert outcomes[fine].state is IngestState.STORED
    assert outcomes[poison].state is IngestState.DEAD_LETTERED
    assert "answered 500: chokes on it" in (outcomes[poison].error or "")
    cloud.gemini.fault = None
    (dead_letter,) = cloud.system.memories_of(cloud.namespace).dead_letters(100)
    dead_letters.redrive(
        dead_letter.message_id, memories=cloud.system.memories_of(cloud.namespace), queue=cloud.system.queue
    )
    wait_until(lambda: cloud.statuses([poison])[poison].state is IngestState.STORED, "the redriven memory is stored")
    wait_until(lambda: not cloud.system.memories_of(cloud.namespace).dead_letters(100), "its letter is deleted")


def test_memories_accepted_while_the_database_is_down_are_stored_once_it_is_up(cloud: Cloud) -> None:
    cloud.namespace = USER
    cloud.stop_postgres()
    accepted = cloud.call("ingest_memory", {"content": "while it was down", "timestamp": "2026-05-20T12:00:00Z"})
    assert not accepted.get("isError"), accepted
    queued: Any = accepted["structuredContent"]
    assert cloud.call("memory_stats", {})["isError"] is True
    cloud.start_postgres()
    outcome = cloud.wait_final([UUID(queued["request_id"])])[UUID(queued["request_id"])]
    assert outcome.state is IngestState.STORED


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        (error(429, "quota"), 3),  # the attempts of one call
        (error(500, "boom"), 4),  # another text is tried as well
        ((200, {"embeddings": []}), 2),
        ((200, {"embeddings": [{"values": [float("nan")] * 64}]}), 2),
    ],
    ids=["429", "500", "wrong number", "NaN"],
)
def test_a_fault_of_the_embedder_delays_memories_and_loses_none(
    cloud: Cloud, fault: tuple[int, Any], calls: int
) -> None:
    cloud.gemini.fault = lambda server: fault if server.calls <= calls else None
    (request_id,) = _publish(cloud, request("delayed"))
    outcome = cloud.wait_final([request_id])[request_id]
    assert outcome.state is IngestState.STORED
    assert outcome.attempts >= 2
    assert cloud.count() == 1


def test_a_call_of_the_embedder_that_hangs_delays_only_its_own_memory(cloud: Cloud) -> None:
    def hangs_once(server: GeminiServer) -> None:
        if server.calls == 1:
            server.released.wait(60)

    cloud.gemini.fault = hangs_once
    (request_id,) = _publish(cloud, request("waited for"))
    wait_until(lambda: cloud.gemini.calls > 0, "the embedder hangs")
    (other,) = _publish(cloud, request("not held up by it"))
    assert cloud.wait_final([other])[other].state is IngestState.STORED
    assert cloud.wait_final([request_id])[request_id].state is IngestState.STORED
    assert cloud.count() == 2


def test_a_memory_is_stored_although_the_database_stopped_between_embedding_and_insert(cloud: Cloud) -> None:
    embedding, go_on = threading.Event(), threading.Event()

    def waits(server: GeminiServer) -> None:
        if server.calls == 1:
            embedding.set()
            go_on.wait(30)

    cloud.gemini.fault = waits
    (request_id,) = _publish(cloud, request("caught in the middle"))
    assert embedding.wait(30)
    cloud.stop_postgres()
    go_on.set()
    cloud.start_postgres()
    assert cloud.wait_final([request_id])[request_id].state is IngestState.STORED
    assert cloud.count() == 1


def test_killed_database_backends_lose_and_duplicate_no_memory(cloud: Cloud) -> None:
    ids: list[UUID] = []
    for n in range(30):
        ids += _publish(cloud, request(f"amid the killing {n}"))
        if n % 10 == 5:
            cloud.kill_backends()
    assert {status.state for status in cloud.wait_final(ids).values()} == {IngestState.STORED}
    assert cloud.count() == 30


def test_content_that_the_model_refuses_fails_with_the_model_s_message_and_the_others_are_stored(cloud: Cloud) -> None:
    def refuses(server: GeminiServer) -> tuple[int, Any] | None:
        return error(400, "content is not allowed") if "forbidden" in str(server.requests[-1]) else None

    cloud.gemini.fault = refuses
    ids = _publish(cloud, request("one"), request("forbidden"), request("two"))
    outcomes = cloud.wait_final(ids)
    states = [outcomes[id_].state for id_ in ids]
    assert states == [IngestState.STORED, IngestState.FAILED, IngestState.STORED]
    assert "content is not allowed" in (outcomes[ids[1]].error or "")
