"""The database is restored from a backup. The messages after the backup are delivered again by a seek.

A seek sets the Pub/Sub subscription back to an earlier time.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from google.cloud.pubsub_v1 import PublisherClient, SubscriberClient

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import emulator as local_emulator
from mnemosyne.cli.local import postgres
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import Deletion, ExternalId, IngestState, Reading
from mnemosyne.domain.message import encode
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.domain.search import Filters
from mnemosyne.ids import new_id
from mnemosyne.service.deliveries import Push, store
from tests.fakes import NOW, FakeServices, memories_in, request
from tests.incidents import World
from tests.integration.test_forgetting import forget
from tests.memories import list_memories
from tests.waiting import wait_until

pytestmark = pytest.mark.exhaustive  # slow, because a test cannot speed up the emulator's redelivery

TOPIC = f"projects/{local_emulator.PROJECT}/topics/restored"
SUBSCRIPTION = TOPIC.replace("/topics/", "/subscriptions/")


class Topic:
    """A topic with a pull subscription. The test reads its messages; in a deployment, Pub/Sub would push them."""

    def __init__(self) -> None:
        self.publisher: Any = PublisherClient()
        self.subscriber: Any = SubscriberClient()
        self.publisher.create_topic(name=TOPIC)
        # The emulator supports the option to keep acknowledged messages only for a subscription, not for a topic.
        self.subscriber.create_subscription(
            request={"name": SUBSCRIPTION, "topic": TOPIC, "retain_acked_messages": True, "ack_deadline_seconds": 10}
        )

    def publish(self, *readings: Reading) -> None:
        data, attributes = encode("ns", readings, "")
        self.publisher.publish(TOPIC, data, **attributes).result(20)

    def deliver(self, services: FakeServices, count: int) -> list[str]:
        """Store this number of messages, and return their ids."""
        delivered: list[str] = []

        def enough() -> bool:
            answer = self.subscriber.pull(subscription=SUBSCRIPTION, max_messages=10, timeout=20)
            for received in answer.received_messages:
                message = received.message
                published = Published(
                    message_id=message.message_id,
                    data=message.data,
                    attributes=dict(message.attributes),
                    publish_time=message.publish_time.isoformat(),
                )
                store(Push(published, 1), services)
                self.subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=[received.ack_id])
                delivered.append(message.message_id)
            return len(delivered) >= count

        wait_until(enough, f"{count} messages are delivered")
        return delivered

    def close(self) -> None:
        self.subscriber.delete_subscription(subscription=SUBSCRIPTION)
        self.publisher.delete_topic(topic=TOPIC)
        self.subscriber.close()
        self.publisher.stop()


@pytest.fixture
def topic(emulator: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Topic]:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", emulator)
    opened = Topic()
    yield opened
    opened.close()


class Database:
    """A database that a test backs up and restores, and the services that use it."""

    def __init__(self, cluster: postgres.EmbeddedPostgres, name: str) -> None:
        self.pool = Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, name)), 2)
        self.services = FakeServices(memories_in(self.pool))

    def contents(self) -> dict[str, UUID]:
        """Return a dictionary from the content of each memory to its id."""
        memories = self.services.memories
        fetched = [memories.fetch(memory.id) for memory in list_memories(memories)]
        return {memory.content: memory.id for memory in fetched if memory}

    def state(self, request_id: UUID) -> IngestState:
        return self.services.memories.statuses([request_id])[request_id].state


def test_a_restored_database_gets_the_messages_after_its_backup_again(
    cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str], topic: Topic, owner: Connection
) -> None:
    before = Database(cluster, name := new_database())
    early, erased, forgotten = request("early"), request("erased by a tool"), request("customer 7", tags=("seven",))
    record = request("a record", external_id=ExternalId(source="crm", key="1"))
    for sent in (early, erased, forgotten, record):
        topic.publish(sent)
    topic.deliver(before.services, 4)
    before.pool.close()
    backup = f"{name}_backup"
    owner.run_file(f"CREATE DATABASE {backup} TEMPLATE {name}")
    selection = Selection(filters=Filters(tags=("seven",), include_superseded=True))
    try:
        taken_at = datetime.now(UTC)
        topic.publish(request("late"))
        deletion = Deletion(request_id=new_id(), external_id=ExternalId(source="crm", key="1"), timestamp=NOW)
        topic.publish(deletion)
        topic.deliver(before.services, 2)
        world = World(before.services)
        erased_id = before.contents()[erased.content]
        assert not world.call("delete_memory", id=str(erased_id)).is_error
        forget(before.services, selection)
        assert set(before.contents()) == {"early", "late"}
        before.pool.close()

        after = Database(cluster, backup)
        assert set(after.contents()) == {"early", "erased by a tool", "customer 7", "a record"}
        # A time long before the backup is safe, because a memory that the database already has is not stored twice.
        seek = {"subscription": SUBSCRIPTION, "time": taken_at - timedelta(hours=1)}
        topic.subscriber.seek(request=seek)
        assert len(topic.deliver(after.services, 6)) == 6
        assert set(after.contents()) == {"early", "late", "erased by a tool", "customer 7"}
        assert after.state(early.request_id) is IngestState.STORED
        assert after.state(deletion.request_id) is IngestState.DELETED
        # The deletion by a tool is lost in the restored database. The log names the deleted memory, so that the
        # operator can delete it again. The operator also repeats the forgetting.
        (audit,) = [fields for fields in world.entries if fields["jsonPayload.event"] == "audit"]
        assert (audit["jsonPayload.action"], audit["jsonPayload.id"]) == ("delete_memory", str(erased_id))
        assert after.services.memories.delete(UUID(audit["jsonPayload.id"]))
        forget(after.services, selection)
        topic.subscriber.seek(request=seek)
        topic.deliver(after.services, 6)
        assert set(after.contents()) == {"early", "late"}
        after.pool.close()
    finally:
        owner.run_file(f"DROP DATABASE IF EXISTS {backup} WITH (FORCE)")
