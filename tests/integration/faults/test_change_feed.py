"""Versions and deletions of records and their change feed, while `ingest` is killed and messages are redelivered.

FEED_SECONDS sets the duration of the publishing, and FEED_SEED selects other messages. `.ci/run noise` publishes for
120 seconds.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from google.cloud.pubsub_v1 import SubscriberClient

from mnemosyne.adapters.database.change_feed import ChangeFeeds
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.app.operator import announce_changes
from mnemosyne.cli.local import emulator as local_emulator
from mnemosyne.cli.local import postgres
from mnemosyne.domain.change_feed import ChangeCursor, ChangeEvent, ChangeFeed
from mnemosyne.domain.memory import content_hash
from mnemosyne.ids import deletion_id, version_id
from mnemosyne.settings import Settings
from tests.fakes import NOW
from tests.integration.faults.conftest import OUTCOMES, Cloud, publishing, pull_events
from tests.waiting import wait_until

SUBSCRIPTION = f"projects/{local_emulator.PROJECT}/subscriptions/changes"
SECONDS = float(os.environ.get("FEED_SECONDS", "2"))
SEED = int(os.environ.get("FEED_SEED", "7"))
REMOVALS = ("expired", "deleted", "forgotten")


class RecordTraffic:
    """Publishes random versions and deletions of records, and keeps the current content of each record."""

    def __init__(self, random: Random, publish: Callable[[bytes], object]) -> None:
        self._random, self._publish = random, publish
        self._second = 0
        self.current: dict[str, str] = {}
        self.request_ids: list[UUID] = []

    def publish_message(self) -> None:
        keys = self._random.sample([f"key {number}" for number in range(40)], self._random.randint(1, 3))
        self._publish(json.dumps({"memories": [self._item(key) for key in keys]}).encode())

    def _item(self, key: str) -> dict[str, str]:
        self._second += 1
        at = NOW + timedelta(seconds=self._second)
        item = {"source": "crm", "key": key, "timestamp": at.isoformat()}
        if self._random.random() < 0.2:
            self.request_ids.append(deletion_id("crm", key, at))
            self.current.pop(key, None)
            return item | {"op": "delete"}
        content = f"{key} at {self._second}"
        self.request_ids.append(version_id("crm", key, content_hash(content, None), at))
        self.current[key] = content
        return item | {"content": content}


class Feed:
    """The change feed of the test's namespace, and a subscription that gets its events in order."""

    def __init__(self, cloud: Cloud, subscriber: Any) -> None:
        self._cloud, self._subscriber = cloud, subscriber
        self._settings = cloud.environment | {"MNEMOSYNE_DATABASE_URL": cloud.postgres.url(postgres.OWNER)}

    def listed(self) -> list[ChangeEvent]:
        """All events, as `mnemosyne changes` lists them."""
        events, after, is_last = list[ChangeEvent](), ChangeCursor(), False
        while not is_last:
            page = self._cloud.system.memories_of(self._cloud.namespace).changes(7, after=after)
            events += page.events
            after, is_last = page.after, page.is_last
        return events

    def announce(self) -> None:
        announce_changes(Settings.from_environment(self._settings))

    def received(self, count: int) -> list[dict[str, Any]]:
        """Receive events until the number of different events is `count`; return them without repeats."""
        messages: dict[str, dict[str, Any]] = {}

        def enough() -> bool:
            for event, attributes in pull_events(self._subscriber, SUBSCRIPTION):
                if event["namespace"] == self._cloud.namespace and "kind" in attributes:
                    messages.setdefault(attributes["ce-id"], event)
            return len(messages) >= count

        wait_until(enough, f"{count} events are received", seconds=120)
        return list(messages.values())


@pytest.fixture
def owner(cloud: Cloud) -> Iterator[Connection]:
    with closing(connection_factory(cloud.postgres.url(postgres.OWNER))()) as connection:
        yield connection


@pytest.fixture
def feed(cloud: Cloud) -> Iterator[Feed]:
    feeds = ChangeFeeds(connection_factory(cloud.postgres.url(postgres.OWNER)))
    request = {"name": SUBSCRIPTION, "topic": OUTCOMES, "enable_message_ordering": True, "ack_deadline_seconds": 60}
    with SubscriberClient() as subscriber:
        client: Any = subscriber
        client.create_subscription(request=request)
        feeds.set(ChangeFeed(namespace=cloud.namespace, enabled=True, contents=False))
        yield Feed(cloud, client)
        feeds.set(ChangeFeed(namespace=cloud.namespace, enabled=False, contents=False))
        client.delete_subscription(subscription=SUBSCRIPTION)


def _kinds(events: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the kinds of each memory's events, in the order of the events."""
    kinds = defaultdict[str, list[str]](list)
    for memory_id, kind in events:
        kinds[memory_id].append(kind)
    return kinds


@pytest.mark.exhaustive
def test_through_kills_and_redelivery_records_have_their_latest_versions_and_each_change_is_one_event_in_order(
    cloud: Cloud, owner: Connection, feed: Feed
) -> None:
    print(f"FEED_SEED={SEED}")
    random = Random(SEED)
    with publishing(cloud) as publish:
        traffic, deadline = RecordTraffic(random, publish), time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            for _ in range(10):
                traffic.publish_message()
            if cloud.ingest.instances:
                cloud.kill_ingest()
            if random.random() < 0.5:
                feed.announce()
    cloud.wait_final(traffic.request_ids, seconds=600)
    rows = owner.run("SELECT id, content, superseded_by FROM memories WHERE namespace = :ns", ns=cloud.namespace)
    current = [row["content"] for row in rows if row["superseded_by"] is None]
    assert sorted(current) == sorted(traffic.current.values())
    events = feed.listed()
    last = {event.memory_id: event.superseded_by for event in events}
    assert {row["id"]: last[row["id"]] for row in rows} == {row["id"]: row["superseded_by"] for row in rows}
    kinds = _kinds((str(event.memory_id), event.kind.value) for event in events)
    present = {str(row["id"]) for row in rows}
    assert present <= kinds.keys()
    for memory_id, memory_kinds in kinds.items():
        assert memory_kinds[0] == "created" and memory_kinds.count("created") == 1, memory_kinds
        removals = [kind for kind in memory_kinds if kind in REMOVALS]
        assert removals == ([] if memory_id in present else memory_kinds[-1:])
    feed.announce()
    received = feed.received(len(events))
    assert len(received) == len(events)
    assert _kinds((message["memory_id"], message["kind"]) for message in received) == kinds
