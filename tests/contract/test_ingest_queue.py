"""What every IngestQueue does: what is published arrives, whole and attributed."""

from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.queues.local import LocalQueue
from mnemosyne.adapters.queues.pubsub import PubSubQueue
from mnemosyne.domain.message import decode
from mnemosyne.domain.published import Published
from mnemosyne.errors import InvalidRequest, Unavailable
from mnemosyne.observability import trace
from mnemosyne.ports import IngestQueue
from tests.fakes import FakeQueue, request

TOPIC = "projects/test/topics/contract"
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class LocalEnd:
    """The local queue, read as its deliverer reads it."""

    def __init__(self, path: Path) -> None:
        self.queue = LocalQueue(path / "queue.db")

    def received(self) -> tuple[bytes, dict[str, str]]:
        (message,) = LocalQueue(self.queue._path).due(1e12, 10, horizon=30)  # another process's view of the file
        return message.data, dict(message.attributes)


class FakeEnd:
    """The queue that unit tests lean on."""

    def __init__(self) -> None:
        self.queue = FakeQueue()

    def received(self) -> tuple[bytes, dict[str, str]]:
        ((data, attributes),) = self.queue.messages
        return data, dict(attributes)


class PubSubEnd:
    """The emulator's topic, read through a pull subscription."""

    def __init__(self, emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from google.cloud import pubsub_v1

        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", emulator)
        self._publisher, self._subscriber = pubsub_v1.PublisherClient(), pubsub_v1.SubscriberClient()
        self._publisher.create_topic(name=TOPIC)
        self._subscription = self._subscriber.create_subscription(
            name="projects/test/subscriptions/contract", topic=TOPIC
        )
        self.queue = PubSubQueue(TOPIC)

    def received(self) -> tuple[bytes, dict[str, str]]:
        (got,) = self._subscriber.pull(subscription=self._subscription.name, max_messages=10).received_messages
        return got.message.data, dict(got.message.attributes)

    def close(self) -> None:
        self._subscriber.delete_subscription(subscription=self._subscription.name)
        self._publisher.delete_topic(topic=TOPIC)
        self._subscriber.close()


@pytest.fixture(params=["fake", "local", "pubsub"])
def end(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "fake":
        yield FakeEnd()
        return
    if request.param == "local":
        yield LocalEnd(tmp_path)
        return
    opened = PubSubEnd(request.getfixturevalue("emulator"), monkeypatch)
    yield opened
    opened.close()


def test_what_is_published_arrives_whole(end: Any) -> None:
    sent = [request("TITLE: é\n🜚", tags=("a",), metadata={"k": [1]}), request("second")]
    with trace({"traceparent": TRACEPARENT}):
        end.queue.publish("ns", sent)
    data, attributes = end.received()
    message = decode(Published(message_id="1", data=data, attributes=attributes))
    assert (message.namespace, list(message.requests)) == ("ns", sent)
    assert attributes["traceparent"].split("-")[1] == TRACEPARENT.split("-")[1]


def test_a_message_that_is_too_large_is_refused_whole(end: Any) -> None:
    with pytest.raises(InvalidRequest, match="send fewer"):
        end.queue.publish("ns", [request("é" * 100_000 + str(n)) for n in range(46)])


def test_a_queue_file_that_cannot_be_written_accepts_nothing(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="nothing was stored"):
        LocalQueue(tmp_path / "missing" / "queue.db").publish("ns", [request("a")])


def test_a_topic_out_of_reach_accepts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:9")
    monkeypatch.setattr("mnemosyne.adapters.queues.pubsub.PUBLISH_TIMEOUT_SECONDS", 1.0)
    with pytest.raises(Unavailable, match="nothing was stored"):
        PubSubQueue(TOPIC).publish("ns", [request("a")])


def test_a_check_says_what_is_published_to(end: Any) -> None:
    assert {FakeEnd: "memory", LocalEnd: "queue.db", PubSubEnd: "contract"}[type(end)] in end.queue.check()


def test_a_check_of_a_topic_that_is_not_there_says_so(end: Any) -> None:
    fake = FakeQueue()
    fake.away = True
    missing: dict[type, IngestQueue] = {
        FakeEnd: fake,
        LocalEnd: LocalQueue(Path("/no/q")),
        PubSubEnd: PubSubQueue("projects/test/topics/missing"),
    }
    with pytest.raises(Unavailable, match=r"missing|/no/q|away"):
        missing[type(end)].check()
