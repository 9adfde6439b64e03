"""Contract of each IngestQueue: published messages arrive complete, with their attributes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.queues.local import LocalQueue
from mnemosyne.adapters.queues.pubsub import PubSubQueue, PubSubTopic
from mnemosyne.domain.memory import IngestState, IngestStatus
from mnemosyne.domain.message import decode
from mnemosyne.domain.outcome import Outcome
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import InvalidRequest, ServiceError, Unavailable
from mnemosyne.ids import new_id
from mnemosyne.observability import trace
from mnemosyne.ports.queue import IngestQueue
from tests.fakes import FakeQueue, request

TOPIC = "projects/test/topics/contract"
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class LocalEnd:
    """The local queue, from which the test reads as the delivery process does."""

    def __init__(self, path: Path) -> None:
        self.queue = LocalQueue(path / "queue.db")

    def received(self) -> tuple[bytes, dict[str, str]]:
        (message,) = LocalQueue(self.queue._path).due(1e12, 10, horizon=30)  # a second connection, like another process
        return message.data, dict(message.attributes)


class FakeEnd:
    """The fake queue of unit tests."""

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
        (received,) = self._subscriber.pull(subscription=self._subscription.name, max_messages=10).received_messages
        return received.message.data, dict(received.message.attributes)

    def received_ids(self, count: int) -> set[str]:
        """Wait for this number of outcomes, and return their message ids."""
        ids: set[str] = set()
        while len(ids) < count:
            pulled = self._subscriber.pull(subscription=self._subscription.name, max_messages=1_000).received_messages
            ids |= {json.loads(received.message.data)["message_id"] for received in pulled}
            self._subscriber.acknowledge(
                subscription=self._subscription.name, ack_ids=[received.ack_id for received in pulled]
            )
        return ids

    def close(self) -> None:
        self._subscriber.delete_subscription(subscription=self._subscription.name)
        self._publisher.delete_topic(topic=TOPIC)
        self._subscriber.close()


@pytest.fixture(params=["fake", "local", "pubsub"])
def end(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "fake":
        yield FakeEnd()
        return
    if request.param == "local":
        yield LocalEnd(tmp_path)
        return
    yield request.getfixturevalue("pubsub")


@pytest.fixture
def pubsub(emulator: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PubSubEnd]:
    opened = PubSubEnd(emulator, monkeypatch)
    yield opened
    opened.close()


def test_a_published_message_arrives_complete(end: Any) -> None:
    requests = [request("TITLE: é\n🜚", tags=("a",), metadata={"k": [1]}), request("second")]
    with trace({"traceparent": TRACEPARENT}):
        end.queue.publish("ns", requests)
    data, attributes = end.received()
    message = decode(Published(message_id="1", data=data, attributes=attributes))
    assert (message.namespace, list(message.requests)) == ("ns", requests)
    assert attributes["traceparent"].split("-")[1] == TRACEPARENT.split("-")[1]


def test_a_message_that_is_too_large_is_refused(end: Any) -> None:
    with pytest.raises(InvalidRequest, match="send fewer"):
        end.queue.publish("ns", [request("é" * 100_000 + str(n)) for n in range(46)])


def test_a_queue_file_that_cannot_be_written_accepts_nothing(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="nothing was stored"):
        LocalQueue(tmp_path / "missing" / "queue.db").publish("ns", [request("a")])


def test_a_check_reports_a_queue_file_that_can_only_be_read(tmp_path: Path) -> None:
    queue = LocalQueue(tmp_path / "queue.db")
    queue.check()
    queue._connection().execute("PRAGMA query_only = 1")  # writing fails, as on a full disk
    with pytest.raises(Unavailable, match="cannot be opened or written"):
        queue.check()


# These attribute names are also names of arguments of the client's methods, or of attributes of Python objects.
ARGUMENTS = [
    "topic", "data", "timeout", "retry", "ordering_key", "self", "messages", "metadata", "request", "client",
    "__class__",
]  # fmt: skip


def test_attributes_may_be_named_like_arguments(end: Any) -> None:
    attributes = dict.fromkeys(ARGUMENTS, "0.5")
    end.queue.republish(b"{}", attributes)
    assert end.received() == (b"{}", attributes)


REFUSED = [
    ({"note": "x" * 1025}, "the attribute 'note' must have at most 1,024 bytes, got 1,025"),
    ({"note": "\N{GRINNING FACE}" * 257}, "the attribute 'note' must have at most 1,024 bytes, got 1,028"),
    ({"n" * 257: "x"}, "must have at most 256 bytes, got 257"),
    ({"": "x"}, "an attribute must have a name"),
    ({"google": "x"}, "the attribute 'google' begins with goog"),
    ({f"a{number}": "x" for number in range(101)}, "at most 100 attributes, got 101"),
]


@pytest.mark.parametrize(("attributes", "why"), REFUSED)
def test_attributes_that_pub_sub_would_refuse_are_named(
    pubsub: PubSubEnd, attributes: dict[str, str], why: str
) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(why)):
        pubsub.queue.republish(b"{}", attributes)


def test_attributes_of_the_largest_allowed_size_are_published(pubsub: PubSubEnd) -> None:
    attributes = {f"{number:0256}": "x" * 1024 for number in range(100)}
    pubsub.queue.republish(b"{}", attributes)
    assert pubsub.received() == (b"{}", attributes)


def test_outcomes_beyond_one_request_to_the_topic_are_all_published(pubsub: PubSubEnd) -> None:
    status = IngestStatus(request_id=new_id(), state=IngestState.FAILED, error="x" * 2_000)
    outcomes = [Outcome(namespace="ns", message_id=f"{number}", status=status) for number in range(2_500)]
    PubSubTopic(TOPIC).publish(outcomes)
    assert pubsub.received_ids(len(outcomes)) == {outcome.message_id for outcome in outcomes}


def test_an_unreachable_topic_accepts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:9")
    monkeypatch.setattr("mnemosyne.adapters.queues.pubsub.PUBLISH_TIMEOUT_SECONDS", 1.0)
    with pytest.raises(Unavailable, match="did not accept a message"):
        PubSubQueue(TOPIC).publish("ns", [request("a")])


def test_a_check_names_the_topic(end: Any) -> None:
    assert {FakeEnd: "memory", LocalEnd: "queue.db", PubSubEnd: "contract"}[type(end)] in end.queue.check()


def test_a_check_of_a_missing_topic_reports_it(end: Any) -> None:
    fake = FakeQueue()
    fake.away = True
    missing: dict[type, IngestQueue] = {
        FakeEnd: fake,
        LocalEnd: LocalQueue(Path("/no/q")),
        PubSubEnd: PubSubQueue("projects/test/topics/missing"),
    }
    with pytest.raises(ServiceError, match=r"missing|/no/q|away"):
        missing[type(end)].check()
