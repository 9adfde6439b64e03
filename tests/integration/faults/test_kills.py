"""Random messages are published while `ingest` is killed repeatedly; the result is compared with a simple model.

`KILL_SECONDS` sets the duration, and `KILL_SEED` selects other messages and moments; `.ci/run noise` takes 600 seconds.
"""

import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any
from uuid import UUID

import pytest
from google.cloud.pubsub_v1 import SubscriberClient

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.cli.local import postgres
from mnemosyne.domain.memory import IngestState
from tests.cloud_run.service import Service
from tests.fakes_wire.gemini import GeminiServer, error
from tests.integration.faults.conftest import OUTCOMES, UNUSABLE, Cloud, publishing, pull_events
from tests.integration.faults.traffic import (
    POISON,
    REFUSED,
    Traffic,
    problems_of_dead_letters,
    problems_of_states,
)
from tests.waiting import wait_until

pytestmark = [pytest.mark.exhaustive, pytest.mark.nightly]  # test_faults.py has fewer kills

KILL_SECONDS = float(os.environ.get("KILL_SECONDS", "8"))
KILL_SEED = int(os.environ.get("KILL_SEED", "1"))
DRAIN_SECONDS = 600.0
MAX_DELIVERY_ATTEMPTS = 5
"""The minimum of Pub/Sub, so that kills and faults bring many messages to `dead_letter`."""
MOST_UNDER_WAY = 300
FAULTS = (
    error(400, "User location is not supported for the API use."),
    error(403, "This API method requires billing to be enabled."),
    error(404, "models/m is not found for API version v1beta"),
    error(429, "Resource has been exhausted (e.g. check quota)."),
    error(500, "An internal error has occurred."),
    UNUSABLE,
)


class Disturbance:
    """Kills instances and makes the embedder fail, at random moments."""

    def __init__(self, cloud: Cloud, random: Random) -> None:
        self.done: Counter[str] = Counter()
        self._cloud = cloud
        self._random = random
        self._fault: tuple[int, Any] | None = None
        self._over = threading.Event()
        cloud.gemini.fault = self._answer

    def _answer(self, server: GeminiServer) -> tuple[int, Any] | None:
        if self._fault is not None:
            return self._fault
        if POISON in server.body:
            return UNUSABLE
        return error(400, "blocked") if REFUSED in server.body else None

    def _kill(self, name: str, service: Service) -> None:
        if service.instances:  # otherwise an instance is being started
            service.crash_instance()
            self.done[f"{name} killed"] += 1

    def _run(self) -> None:
        while not self._over.wait(self._random.uniform(0.3, 6)):
            match self._random.choices(["ingest", "dead_letter", "fault", "no_fault"], [6, 2, 2, 3])[0]:
                case "ingest":
                    self._kill("ingest", self._cloud.ingest)
                case "dead_letter":
                    self._kill("dead_letter", self._cloud.dead_letter)
                case "fault":
                    self._fault = self._random.choice(FAULTS)
                    self.done["embedder faults"] += 1
                case _:
                    self._fault = None
        self._fault = None

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Cause faults until the context ends; then the embedder works again."""
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()


@pytest.fixture
def owner(cloud: Cloud) -> Iterator[Connection]:
    connection = connection_factory(cloud.postgres.url(postgres.OWNER))()
    yield connection
    connection.close()


def _publish_until(cloud: Cloud, owner: Connection, traffic: Traffic, deadline: float) -> None:
    """Publish until the deadline; wait when too many requests are not final yet."""

    def under_way() -> int:
        ((final,),) = owner.run(
            "SELECT count(*) FROM ingest_requests WHERE namespace = :namespace AND state <> 'queued'",
            namespace=cloud.namespace,
        )
        return len(traffic.allowed) - int(final)

    while time.monotonic() < deadline:
        for _ in range(10):
            traffic.publish_some()
        wait_until(lambda: under_way() < MOST_UNDER_WAY, "most requests have an outcome", seconds=DRAIN_SECONDS)


def _announced(cloud: Cloud, request_ids: set[UUID]) -> dict[UUID, set[str]]:
    """Wait until each request has an outcome event, and return the states of the events."""
    subscription, states = OUTCOMES.replace("/topics/", "/subscriptions/"), defaultdict[UUID, set[str]](set)

    def all_are() -> bool:
        with SubscriberClient() as client:
            for event, _ in pull_events(client, subscription):
                if event["namespace"] == cloud.namespace and event["request_id"]:
                    states[UUID(event["request_id"])].add(event["state"])
        return request_ids <= states.keys()

    wait_until(all_are, "every outcome is announced", seconds=DRAIN_SECONDS)
    return dict(states)


def _dead_letters(cloud: Cloud) -> list[bytes]:
    return [letter.data for letter in cloud.system.memories_of(cloud.namespace).dead_letters(10_000)]


def test_each_request_has_one_outcome_and_each_key_its_latest_version_although_ingest_is_killed(
    cloud: Cloud, owner: Connection
) -> None:
    random = Random(KILL_SEED)
    cloud.subscribe(max_delivery_attempts=MAX_DELIVERY_ATTEMPTS)
    disturbance = Disturbance(cloud, Random(random.random()))
    with publishing(cloud) as publish, disturbance.going_on():
        traffic = Traffic(random, publish)
        _publish_until(cloud, owner, traffic, time.monotonic() + KILL_SECONDS)
    statuses = cloud.wait_final(list(traffic.allowed), seconds=DRAIN_SECONDS)
    count = len(traffic.dead_letters)
    wait_until(lambda: len(set(_dead_letters(cloud))) >= count, f"{count} dead letters are kept", seconds=DRAIN_SECONDS)
    announced = _announced(cloud, set(traffic.allowed))
    states = {request_id: status.state for request_id, status in statuses.items()}
    _report(cloud, disturbance, traffic, states)

    assert problems_of_states(traffic, states) == []
    assert problems_of_dead_letters(traffic, _dead_letters(cloud)) == []
    assert {key: events for key, events in announced.items() if len(events) > 1} == {}
    memories = owner.run(
        "SELECT content, superseded_by IS NULL AS is_current FROM memories WHERE namespace = :namespace",
        namespace=cloud.namespace,
    )
    assert [content for content, times in Counter(row["content"] for row in memories).items() if times > 1] == []
    assert traffic.problems_of_contents({row["content"] for row in memories if row["is_current"]}) == []
    by_content = Counter(
        traffic.contents[content] for content in traffic.contents if states[content] is IngestState.STORED
    )
    assert by_content == Counter(set(traffic.contents.values()))


def _report(cloud: Cloud, disturbance: Disturbance, traffic: Traffic, states: dict[UUID, IngestState]) -> None:
    """Print the figures, visible with -s."""
    deliveries = cloud.ingest.answers + cloud.dead_letter.answers
    print(f"seed {KILL_SEED}: {traffic.published} messages, {len(traffic.allowed)} requests, {dict(disturbance.done)}")
    print(f"deliveries {deliveries.total()}: {dict(Counter({s: n for (s, _), n in deliveries.items()}))}")
    print(f"outcomes {dict(Counter(states.values()))}, {len(traffic.dead_letters)} dead letters")
