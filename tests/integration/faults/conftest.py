"""Fixtures: the parts of the ingestion (Pub/Sub emulator, PostgreSQL, functions, embedder), and faults of each."""

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from google.api_core.exceptions import AlreadyExists, NotFound
from google.cloud.pubsub_v1 import PublisherClient, SubscriberClient

from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli.local import emulator as local_emulator
from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import IngestState, IngestStatus
from mnemosyne.errors import Unavailable
from mnemosyne.settings import Settings
from tests.cloud_run.identity import Google
from tests.cloud_run.pubsub import PUSH_ACCOUNT, Push
from tests.cloud_run.service import Deployment, Service, deterministic_url
from tests.directories import server_directory
from tests.fakes_wire.cloud_storage import CloudStorage
from tests.fakes_wire.gemini import Fault, GeminiServer
from tests.waiting import wait_until

OUTCOMES = f"projects/{local_emulator.PROJECT}/topics/outcomes"
OBJECTS = f"projects/{local_emulator.PROJECT}/topics/objects"
SPACE = EmbeddingSpace("gemini", "gemini-embedding-2", 64)
UNUSABLE: tuple[int, Any] = (200, {"embeddings": []})
"""A faulty answer of the embedding API after which the client does not repeat the call. After 429 and 500, the client
repeats it, which takes seconds."""


class Cloud:
    """The path of a message in production, from the topic to the database.

    Pub/Sub is the emulator, and the functions are behind Cloud Run's front end. The real google-genai client calls a
    fake of the embedding service.
    """

    def __init__(self, emulator: str, directory: Path, gemini: GeminiServer) -> None:
        self.gemini = gemini
        self.namespace = ""
        self._numbers = itertools.count(1)
        self._directory = DataDir.at(str(directory))
        self.postgres = postgres.start(self._directory)
        postgres.prepare(self.postgres, SPACE)
        self.environment = {
            "MNEMOSYNE_DATABASE_URL": self.postgres.url(postgres.RUNTIME_USER),
            "MNEMOSYNE_TOPIC": local_emulator.TOPIC,
            "MNEMOSYNE_EMBEDDER": "gemini",
            "MNEMOSYNE_EMBEDDING_DIMENSION": str(SPACE.dimension),
            "MNEMOSYNE_OUTCOME_TOPIC": OUTCOMES,
            "PUBSUB_EMULATOR_HOST": emulator,
            "GEMINI_API_KEY": "key",
            "GOOGLE_GEMINI_BASE_URL": gemini.url,
        }
        self._exits = ExitStack()
        self._google = self._exits.enter_context(Google().serving())
        self.storage = self._exits.enter_context(CloudStorage(self._notify).serving())
        self.environment |= {"STORAGE_EMULATOR_HOST": self.storage.url}
        self.ingest, self.dead_letter, self.reader = (
            self._pushed_to(target) for target in ("ingest", "dead_letter", "import_object")
        )
        services = (self.ingest, self.dead_letter, self.reader)
        self.push, self._dead_letters, self._objects = (
            self._exits.enter_context(Push(service).serving()) for service in services
        )
        self._emulator = emulator
        self.system = ConfiguredServices(Settings.from_environment(self.environment))

    def _pushed_to(self, target: str) -> Service:
        environment = {
            **self.environment,
            "MNEMOSYNE_PUSH_ISSUER": self._google.url,
            "MNEMOSYNE_PUSH_AUDIENCE": deterministic_url(target),
            "MNEMOSYNE_PUSH_SERVICE_ACCOUNT": PUSH_ACCOUNT,
        }
        deployment = Deployment(target, environment, self._directory, self._google, [PUSH_ACCOUNT])
        return self._exits.enter_context(Service(deployment).serving())

    def subscribe(self, *, max_delivery_attempts: int = local_emulator.MAX_DELIVERY_ATTEMPTS) -> None:
        """Create the push subscription to the functions, with its dead-letter policy and a short deadline."""
        with suppress(NotFound), SubscriberClient() as client:
            client.delete_subscription(subscription=local_emulator.SUBSCRIPTION)
        local_emulator.prepare(
            self._emulator,
            self.push.url,
            self._dead_letters.url,
            max_delivery_attempts=max_delivery_attempts,
            ack_deadline_seconds=10,
        )

    def watch_bucket(self) -> None:
        """Deliver notifications of Cloud Storage to the function that reads objects, for the test's namespace."""
        self._entry(OBJECTS, f"{self._objects.url}/objects/{self.namespace}", deadline=600)

    def _entry(self, topic: str, url: str, *, deadline: int) -> None:
        with suppress(AlreadyExists), PublisherClient() as publisher:
            publisher.create_topic(name=topic)
        name = topic.replace("/topics/", "/subscriptions/")
        with SubscriberClient() as client:
            with suppress(NotFound):
                client.delete_subscription(subscription=name)
            request = {
                "name": name,
                "topic": topic,
                "ack_deadline_seconds": deadline,
                **({"push_config": {"push_endpoint": url}} if url else {}),
            }
            client.create_subscription(request=request)

    def told(self, count: int) -> list[dict[str, Any]]:
        """Wait for this number of outcome events of the test's namespace, and return them without repeated ids."""
        name, events = OUTCOMES.replace("/topics/", "/subscriptions/"), {}

        def enough() -> bool:
            with SubscriberClient() as client:
                for event, attributes in pull_events(client, name):
                    if event["namespace"] == self.namespace:
                        events[attributes["ce-id"]] = event
            return len(events) >= count

        wait_until(enough, f"{count} outcomes are told")
        return list(events.values())

    def _notify(self, data: bytes, attributes: dict[str, str]) -> None:
        client: Any = PublisherClient()
        with client:
            client.publish(OBJECTS, data, **attributes).result(120)

    def reset(self) -> None:
        """Remove all faults, and use a new namespace and new subscriptions.

        No message of an earlier test then arrives.
        """
        self.namespace = f"test-{next(self._numbers)}"
        self._entry(OUTCOMES, "", deadline=60)
        self.subscribe()
        self.gemini.fault = None
        self.gemini.calls = self.gemini.texts = 0
        self.gemini.requests.clear()

    def close(self) -> None:
        self.system.close()
        self._exits.close()
        self.postgres.stop()

    def fail_during_embedding(
        self, faults: list[tuple[int, Callable[[], None]]], then: Fault = lambda server: None
    ) -> None:
        """Cause faults while memories are embedded, and remove each fault from the list when it has struck.

        Each fault has a number. It strikes when the embedder has received more than this number of memories, before the
        embedder answers. `then` may answer instead of the embedder.
        """
        received: set[str] = set()
        one_call = threading.Lock()

        def strike(server: GeminiServer) -> tuple[int, Any] | None:
            with one_call:
                received.update(re.findall(r"memory \d+", server.body))
                while faults and len(received) > faults[0][0]:
                    faults.pop(0)[1]()
                return then(server)

        self.gemini.fault = strike

    def kill_ingest(self) -> None:
        """Kill the processes of an instance of `ingest` (master and worker) with SIGKILL.

        The next push starts an instance.
        """
        self.ingest.crash_instance()

    def restart_postgres(self) -> None:
        """Restart PostgreSQL with a fast shutdown: it closes each connection and keeps committed data."""
        self.postgres.server._stop()
        postgres.restart(self.postgres, self._directory)

    def statuses(self, request_ids: Sequence[UUID]) -> dict[UUID, IngestStatus]:
        statuses: dict[UUID, IngestStatus] = {}
        for start in range(0, len(request_ids), 100):
            try:
                statuses |= self.system.memories_of(self.namespace).statuses(request_ids[start : start + 100])
            except Unavailable:
                continue
        return statuses

    def wait_final(self, request_ids: Sequence[UUID], *, seconds: float = 90) -> dict[UUID, IngestStatus]:
        """Wait until each request has a final status, and return them."""
        final: dict[UUID, IngestStatus] = {}

        def are_final() -> bool:
            statuses = self.statuses([request_id for request_id in request_ids if request_id not in final])
            final.update({key: status for key, status in statuses.items() if status.state is not IngestState.QUEUED})
            return len(final) == len(request_ids)

        wait_until(are_final, "every request has its outcome", seconds=seconds)
        return final

    def count(self) -> int:
        return self.system.memories_of(self.namespace).stats().memories


def pull_events(client: Any, subscription: str) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Receive and acknowledge messages of a subscription, and return the event and the attributes of each."""
    received = client.pull(subscription=subscription, max_messages=1000, timeout=10).received_messages
    if received:
        client.acknowledge(subscription=subscription, ack_ids=[message.ack_id for message in received])
    return [(json.loads(message.message.data), dict(message.message.attributes)) for message in received]


@contextmanager
def publishing(cloud: Cloud) -> Iterator[Callable[[bytes], None]]:
    """Function that publishes a message for the test's namespace.

    It then waits a moment, so that the next message gets a later publish time.
    """
    publisher: Any = PublisherClient()

    def publish(data: bytes) -> None:
        before = time.time()
        publisher.publish(local_emulator.TOPIC, data, namespace=cloud.namespace).result(20)
        # Mnemosyne orders the messages by publish time, which the emulator stores in milliseconds.
        wait_until(lambda: time.time() > before + 0.003, "the clock has gone on")

    with publisher:
        yield publish


@pytest.fixture(scope="package")
def _cloud(emulator: str) -> Iterator[Cloud]:
    with server_directory() as home, GeminiServer().serving() as gemini:
        new_cloud = Cloud(emulator, home, gemini)
        try:
            yield new_cloud
        finally:
            new_cloud.close()


@pytest.fixture
def cloud(_cloud: Cloud, emulator: str, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """The production path without messages and faults.

    During the test, this process also uses the emulator as Pub/Sub.
    """
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", emulator)
    _cloud.reset()
    return _cloud
