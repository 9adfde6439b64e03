"""Despite faults of each part, each published memory is stored exactly once and has an outcome."""

import gzip
import json
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from google.cloud.pubsub_v1 import SubscriberClient

from mnemosyne.adapters.queues.local import QueuedMessage
from mnemosyne.cli.local import emulator as local_emulator
from mnemosyne.cli.local.delivery import push_envelope
from mnemosyne.domain.memory import IngestRequest, IngestState
from mnemosyne.domain.message import encode
from mnemosyne.errors import Misconfigured
from mnemosyne.service import redrives
from tests.fakes import request
from tests.fakes_wire.gemini import GeminiServer, error
from tests.integration.faults.conftest import UNUSABLE, Cloud
from tests.waiting import wait_until

pytestmark = pytest.mark.exhaustive  # each takes seconds to minutes, because processes are killed and frozen


@pytest.mark.parametrize(
    ("count", "calls_per_failure"), [(400, 2), pytest.param(10_000, 20, marks=pytest.mark.nightly)]
)
def test_each_of_many_memories_is_stored_once_despite_faults_of_every_part(
    cloud: Cloud, count: int, calls_per_failure: int
) -> None:
    failed_calls = 0

    def fails_now_and_then(server: GeminiServer) -> tuple[int, Any] | None:
        nonlocal failed_calls
        if server.calls % calls_per_failure:
            return None
        failed_calls += 1
        # Two kinds of faults: after a 500, the client repeats the call. After a wrong number of vectors, Pub/Sub
        # delivers the message again.
        return error(500, "boom") if failed_calls % 2 else UNUSABLE

    requests = [request(f"memory {number} of many") for number in range(count)]
    faults = [(count // 8, cloud.kill_ingest), (count // 3, cloud.restart_postgres), (count // 2, cloud.kill_ingest)]
    cloud.fail_during_embedding(faults, fails_now_and_then)
    for start in range(0, count, 100):
        cloud.system.queue.publish(cloud.namespace, requests[start : start + 100])
    statuses = cloud.wait_final([ingest_request.request_id for ingest_request in requests], seconds=600)
    assert {status.state for status in statuses.values()} == {IngestState.STORED}
    assert cloud.count() == count
    assert not faults, "each fault has struck"
    assert failed_calls >= 2, "both kinds of faults occurred"
    announced = cloud.told(count)
    assert len({event["request_id"] for event in announced}) == len(announced) == count
    assert {event["state"] for event in announced} == {"stored"}


def _push(cloud: Cloud, ingest_request: IngestRequest, namespace: str) -> int:
    """Push a message to the function directly, like Pub/Sub, and return the HTTP status."""
    data, attributes = encode(namespace, [ingest_request], "")
    message = QueuedMessage(message_id=1, data=data, attributes=attributes, publish_time="", attempts=0)
    return httpx.post(cloud.push.url, json=push_envelope(message), timeout=60).status_code


def test_a_message_that_always_fails_is_dead_lettered_with_its_cause_and_stored_after_a_redrive(cloud: Cloud) -> None:
    def poisoned(server: GeminiServer) -> tuple[int, Any] | None:
        return UNUSABLE if "poison" in str(server.requests[-1]) else None

    cloud.gemini.fault = poisoned
    cloud.subscribe(max_delivery_attempts=5)
    requests = request("poison"), request("harmless")
    for ingest_request in requests:
        cloud.system.queue.publish(cloud.namespace, [ingest_request])
    poison, fine = (ingest_request.request_id for ingest_request in requests)
    outcomes = cloud.wait_final([poison, fine], seconds=600)
    assert outcomes[fine].state is IngestState.STORED
    assert outcomes[poison].state is IngestState.DEAD_LETTERED
    assert "returned 0 vectors for 1 texts" in (outcomes[poison].error or "")
    cloud.gemini.fault = None
    memories = cloud.system.memories_of(cloud.namespace)
    (dead_letter,) = memories.dead_letters(100)
    redrives.redrive(dead_letter.message_id, memories=memories, queue=cloud.system.queue)
    wait_until(lambda: cloud.statuses([poison])[poison].state is IngestState.STORED, "the redriven memory is stored")
    wait_until(lambda: not memories.dead_letters(100), "its letter is deleted")


def test_a_call_of_the_embedder_that_hangs_delays_no_memory_of_another_namespace(cloud: Cloud) -> None:
    continues = threading.Event()

    def hangs_once(server: GeminiServer) -> None:
        if server.calls == 1:
            continues.wait(60)

    cloud.gemini.fault = hangs_once
    delayed = request("waited for")
    with ThreadPoolExecutor(1) as pool:  # the emulator would push the second message after the first is acknowledged
        pushed = pool.submit(_push, cloud, delayed, cloud.namespace)
        wait_until(lambda: cloud.gemini.calls > 0, "the embedder hangs")
        assert _push(cloud, request("not held up by it"), f"{cloud.namespace}-other") == 204
        assert not pushed.done()
        continues.set()
        assert pushed.result(60) == 204
    assert cloud.statuses([delayed.request_id])[delayed.request_id].state is IngestState.STORED
    assert cloud.count() == 1


# -- a bucket


def _line(content: str) -> bytes:
    return json.dumps({"content": content, "timestamp": "2026-05-20T12:00:00Z"}).encode()


def _report(cloud: Cloud, name: str) -> list[dict[str, Any]]:
    """Wait for the report that an import writes next to the object in the bucket, and return its parsed JSON lines."""

    def reports() -> list[bytes]:
        objects = cloud.storage.objects.items()
        return [blob.data for (_, key), blob in objects if key.startswith(f"{name}.") and "report" in key]

    wait_until(lambda: bool(reports()), f"the report of {name} is there", seconds=600)
    (report,) = reports()
    return [json.loads(line) for line in report.splitlines()]


@pytest.mark.parametrize("count", [200, pytest.param(3_000, marks=pytest.mark.nightly)])
def test_each_line_of_an_object_has_one_outcome_despite_faults_of_every_part(cloud: Cloud, count: int) -> None:
    cloud.watch_bucket()
    name = f"{count}.jsonl.gz"
    lines = [_line(f"memory {n}") for n in range(count)]
    lines[10] = b"not JSON"
    lines[count // 2] = _line("")
    lines[count * 2 // 3] = _line("memory 1")
    reads = iter(range(100_000))
    cloud.storage.fault = lambda request: "drop" if "alt=media" in request and next(reads) == 0 else ""
    faults = [
        (count // 10, cloud.kill_ingest),
        (count * 3 // 10, cloud.restart_postgres),
        (count // 2, cloud.kill_ingest),
        (count * 6 // 10, cloud.reader.crash_instance),
    ]
    cloud.fail_during_embedding(faults)
    cloud.storage.put("memories", name, gzip.compress(b"\n".join(lines)))
    summary, *outcomes = _report(cloud, name)
    assert summary["memories"] == count
    assert [outcome["line"] for outcome in outcomes] == list(range(1, count + 1))
    assert Counter(outcome["state"] for outcome in outcomes) == {"stored": count - 3, "duplicate": 1, "failed": 2}
    assert {outcome["line"]: outcome["error"] for outcome in outcomes if outcome["state"] == "failed"} == {
        11: "a line must be JSON: Expecting value: line 1 column 1 (char 0)",
        count // 2 + 1: "content must have at least 1 character, got 0",
    }
    assert cloud.count() == count - 3
    assert not faults, "each fault has struck"


def test_an_object_that_cannot_be_imported_is_reported_and_not_retried_for_ever(cloud: Cloud) -> None:
    cloud.watch_bucket()
    cloud.storage.put("memories", "picture.png", b"\x89PNG")
    lines = b"\n".join(_line(f"kept {n}") for n in range(200))
    cloud.storage.put("memories", "cut.jsonl.gz", gzip.compress(lines)[:-100])
    assert _report(cloud, "picture.png")[0]["error"].startswith("picture.png must end in .jsonl")
    summary, *outcomes = _report(cloud, "cut.jsonl.gz")
    assert "must be a complete gzip file" in summary["error"]
    assert summary["memories"] == len(outcomes) > 0


# -- the emulator


@pytest.mark.parametrize("listens", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_an_emulator_that_does_not_answer_is_reported_with_its_variable(
    listens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if listens:
            silent.listen()
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", host)
        assert not local_emulator.is_served(host)
        with pytest.raises(Misconfigured, match=f"emulator at {host} does not answer: .*unset PUBSUB_EMULATOR_HOST"):
            local_emulator.prepare(host, "http://127.0.0.1:9", "http://127.0.0.1:9")


def test_the_subscriptions_of_the_emulator_have_no_retry_policy(cloud: Cloud) -> None:
    # With a retry policy, the emulator (0.8.20) redelivers refused messages in a separate task. This task ends for ever
    # if a message is acknowledged after it has been scheduled for redelivery: MessageBacklog.nackMessage fails for such
    # a message, and ExpireOutstandingMessagesRunnable catches only StatusException.
    with SubscriberClient() as client:
        for name in (local_emulator.SUBSCRIPTION, local_emulator.DEAD_LETTER_SUBSCRIPTION):
            assert "retry_policy" not in client.get_subscription(subscription=name)
