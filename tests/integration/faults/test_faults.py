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
from mnemosyne.service import redrives
from tests.fakes import request
from tests.fakes_wire.gemini import GeminiServer
from tests.integration.faults.conftest import UNUSABLE, Cloud
from tests.waiting import wait_until

pytestmark = pytest.mark.exhaustive  # each takes seconds to minutes, because processes are killed and frozen


def _push(cloud: Cloud, *requests: IngestRequest, namespace: str = "") -> int:
    """Push a message to the function directly, like Pub/Sub, and return the HTTP status."""
    data, attributes = encode(namespace or cloud.namespace, requests, "")
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


def test_a_message_that_always_fails_is_dead_lettered_with_its_cause_and_stored_after_a_redrive(cloud: Cloud) -> None:
    def poisoned(server: GeminiServer) -> tuple[int, Any] | None:
        return UNUSABLE if "poison" in str(server.requests[-1]) else None

    cloud.gemini.fault = poisoned
    cloud.subscribe(max_delivery_attempts=5)
    (poison,) = _publish(cloud, request("poison"))
    (fine,) = _publish(cloud, request("harmless"))
    outcomes = cloud.wait_final([poison, fine], seconds=600)
    assert outcomes[fine].state is IngestState.STORED
    assert outcomes[poison].state is IngestState.DEAD_LETTERED
    assert "returned 0 vectors for 1 texts" in (outcomes[poison].error or "")
    cloud.gemini.fault = None
    (dead_letter,) = cloud.system.memories_of(cloud.namespace).dead_letters(100)
    redrives.redrive(
        dead_letter.message_id, memories=cloud.system.memories_of(cloud.namespace), queue=cloud.system.queue
    )
    wait_until(lambda: cloud.statuses([poison])[poison].state is IngestState.STORED, "the redriven memory is stored")
    wait_until(lambda: not cloud.system.memories_of(cloud.namespace).dead_letters(100), "its letter is deleted")


# A call of the embedder times out after twelve seconds.
@pytest.mark.parametrize("times_out", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_call_of_the_embedder_that_hangs_delays_no_memory_of_another_namespace(cloud: Cloud, times_out: bool) -> None:
    continues = threading.Event()

    def hangs_once(server: GeminiServer) -> None:
        if server.calls == 1:
            continues.wait(60)

    cloud.gemini.fault = hangs_once
    delayed = request("waited for")
    with ThreadPoolExecutor(1) as pool:  # the emulator would push the second message after the first is acknowledged
        pushed = pool.submit(_push, cloud, delayed)
        wait_until(lambda: cloud.gemini.calls > 0, "the embedder hangs")
        assert _push(cloud, request("not held up by it"), namespace=f"{cloud.namespace}-other") == 204
        assert not pushed.done()
        if not times_out:
            continues.set()
        assert pushed.result(60) == 204
    assert cloud.statuses([delayed.request_id])[delayed.request_id].state is IngestState.STORED
    assert cloud.count() == 1
