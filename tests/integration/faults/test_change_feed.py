"""The change feed on the production path while `ingest` is killed and messages are redelivered."""

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from random import Random
from typing import Any

import pytest
from google.cloud.pubsub_v1 import SubscriberClient

from mnemosyne.adapters.database.change_feed import ChangeFeeds
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.app.operator import announce_changes
from mnemosyne.cli.local import emulator as local_emulator
from mnemosyne.cli.local import postgres
from mnemosyne.domain.change_feed import ChangeCursor, ChangeEvent, ChangeFeed
from mnemosyne.domain.memory import IngestState
from mnemosyne.settings import Settings
from tests.integration.faults.conftest import OUTCOMES, Cloud, publishing, pull_events
from tests.integration.faults.traffic import Traffic
from tests.waiting import wait_until

SUBSCRIPTION = f"projects/{local_emulator.PROJECT}/subscriptions/changes"
SECONDS = float(os.environ.get("FEED_SECONDS", "2"))
REMOVALS = ("expired", "deleted", "forgotten")


class Feed:
    """The change feed of the test's namespace: its settings, its events, and a subscription that gets them in order."""

    def __init__(self, cloud: Cloud, subscriber: Any) -> None:
        self._cloud, self._subscriber = cloud, subscriber
        url = cloud.postgres.url(postgres.OWNER)
        self.environment = cloud.environment | {"MNEMOSYNE_DATABASE_URL": url}
        self.feeds = ChangeFeeds(connection_factory(url))
        self.messages: list[dict[str, Any]] = []

    def turn(self, *, enabled: bool) -> None:
        self.feeds.set(ChangeFeed(namespace=self._cloud.namespace, enabled=enabled, contents=False))

    def events(self) -> list[ChangeEvent]:
        """All events, as `mnemosyne changes` lists them."""
        events, after = list[ChangeEvent](), ChangeCursor()
        while True:
            page = self._cloud.system.memories_of(self._cloud.namespace).changes(7, after=after)
            events += page.events
            if page.is_last:
                return events
            after = page.after

    def announce(self) -> None:
        announce_changes(Settings.from_environment(self.environment))

    def receive(self, count: int) -> list[dict[str, Any]]:
        """Receive events until the number of different events is `count`; return them without repeats."""

        def enough() -> bool:
            for event, attributes in pull_events(self._subscriber, SUBSCRIPTION):
                if event["namespace"] == self._cloud.namespace and "kind" in attributes:
                    self.messages.append(event | {"id": attributes["ce-id"]})
            return len({message["id"] for message in self.messages}) >= count

        wait_until(enough, f"{count} events are received", seconds=120)
        return list({message["id"]: message for message in self.messages}.values())


@pytest.fixture
def feed(cloud: Cloud) -> Iterator[Feed]:
    with SubscriberClient() as subscriber:
        subscriber_client: Any = subscriber
        subscriber_client.create_subscription(
            request={
                "name": SUBSCRIPTION,
                "topic": OUTCOMES,
                "enable_message_ordering": True,
                "ack_deadline_seconds": 60,
            }
        )
        opened = Feed(cloud, subscriber_client)
        opened.turn(enabled=True)
        yield opened
        opened.turn(enabled=False)
        subscriber_client.delete_subscription(subscription=SUBSCRIPTION)


def _kinds(events: Sequence[ChangeEvent]) -> dict[str, list[str]]:
    kinds = defaultdict[str, list[str]](list)
    for event in events:
        kinds[str(event.memory_id)].append(event.kind.value)
    return dict(kinds)


def _problems(kinds: dict[str, list[str]], stored_ids: set[str], present: set[str]) -> list[str]:
    """Return the memories with wrong events.

    The first event must be the only creation. If the memory is not present, the last event must be the only removal;
    otherwise no event may be a removal.
    """
    return [
        f"{memory_id}: {memory_kinds}"
        for memory_id in sorted(stored_ids | present | kinds.keys())
        if (memory_kinds := kinds.get(memory_id, []))[:1] != ["created"]
        or memory_kinds.count("created") != 1
        or [kind for kind in memory_kinds if kind in REMOVALS] != ([] if memory_id in present else memory_kinds[-1:])
    ]


@pytest.mark.exhaustive
def test_through_kills_and_redelivery_each_change_is_one_event_in_order(cloud: Cloud, feed: Feed) -> None:
    random = Random(7)
    with publishing(cloud) as publish:
        traffic, deadline = Traffic(random, publish), time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            for _ in range(10):
                traffic.publish_some()
            if cloud.ingest.instances:
                cloud.kill_ingest()
            if random.random() < 0.5:
                feed.announce()
    statuses = cloud.wait_final(
        [id_ for id_, states in traffic.allowed.items() if IngestState.DEAD_LETTERED not in states]
    )
    stored_ids = {str(status.memory_id) for status in statuses.values() if status.state is IngestState.STORED}
    with closing(connection_factory(cloud.postgres.url(postgres.OWNER))()) as owner:
        rows = owner.run("SELECT id, superseded_by FROM memories WHERE namespace = :ns", ns=cloud.namespace)
    events = feed.events()
    assert _problems(_kinds(events), stored_ids, {str(row["id"]) for row in rows}) == []
    last = {event.memory_id: event.superseded_by for event in events}
    assert {row["id"]: last[row["id"]] for row in rows} == {row["id"]: row["superseded_by"] for row in rows}
    assert sum(kind == "superseded" for kinds in _kinds(events).values() for kind in kinds) > 0
    feed.announce()
    received = feed.receive(len(events))
    assert len(received) == len(events)
    kinds = defaultdict[str, list[str]](list)
    for message in received:
        kinds[message["memory_id"]].append(message["kind"])
    assert kinds == _kinds(events)
