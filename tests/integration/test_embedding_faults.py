"""During a long fault of the embedding service the reports name the cause; after it each memory is stored.

The real google-genai client, PostgreSQL, `ingest` and `dead_letter`, each as its own database user. FAULT_SECONDS makes
each fault last longer than a few deliveries, for example 600.
"""

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.embedders.batching import MicroBatchingEmbedder
from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.app import doctor
from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli.local import postgres
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.health import Check
from mnemosyne.domain.memory import IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.message import encode
from mnemosyne.domain.search import SearchQuery
from mnemosyne.ports.embedder import Embedder
from mnemosyne.service import search
from mnemosyne.service.deliveries import give_up, store
from mnemosyne.settings import Settings
from tests.fakes import request
from tests.fakes_wire.gemini import GeminiServer, count_tokens, error
from tests.pushes import function_client, push
from tests.texts import SHAPES, Shape

pytestmark = [pytest.mark.own_database, pytest.mark.slow]

FAULT_SECONDS = float(os.environ.get("FAULT_SECONDS", "0"))
ROUNDS = 3
DELIVERY_ATTEMPTS = 2
"""Maximum number of deliveries before `dead_letter` gets a message, as in Pub/Sub's dead-letter policy."""
SPACE = EmbeddingSpace("gemini", "gemini-embedding-2", 64)
PREFIX = "title: none | text: "
POISON = "the poison"


class Services(ConfiguredServices):
    """The services of a function, with a shorter timeout of the embedder than in production."""

    longest_seconds = 5.0

    def embedder_of(self, space: EmbeddingSpace) -> Embedder:
        with self._building:
            if space not in self._embedders:
                gemini = GeminiEmbedder(
                    space.model, space.dimension, longest_seconds=self.longest_seconds, pause_seconds=0.01
                )
                self._embedders[space] = MicroBatchingEmbedder(gemini)
            return self._embedders[space]


@dataclass
class Message:
    """A message of the topic with the number of its deliveries."""

    number: int
    requests: list[IngestRequest]
    deliveries: int = 0


class System:
    """The functions that store memories, with a topic that delivers messages again until they are acknowledged."""

    def __init__(self, gemini: GeminiServer, url: Callable[[str], str], directory: Path) -> None:
        self.gemini = gemini
        self.functions = {name: self._services(url(name), directory) for name in ("mcp", "ingest", "dead_letter")}
        self.topic: deque[Message] = deque()
        self.answers: Counter[int] = Counter()
        self._clients = {
            name: function_client(handler, self.functions[name])
            for name, handler in (("ingest", store), ("dead_letter", give_up))
        }

    def _services(self, url: str, directory: Path) -> Services:
        environment = {
            "MNEMOSYNE_DATABASE_URL": url,
            "MNEMOSYNE_TOPIC": f"file://{directory}/queue.db",
            "MNEMOSYNE_EMBEDDER": SPACE.provider,
            "MNEMOSYNE_EMBEDDING_MODEL": SPACE.model,
            "MNEMOSYNE_EMBEDDING_DIMENSION": str(SPACE.dimension),
            "GEMINI_API_KEY": "key",
        }
        return Services(Settings.from_environment(environment))

    def wait_longest(self, seconds: float) -> None:
        """Limit each call of the embedder to this time."""
        for services in self.functions.values():
            services.longest_seconds = seconds
            services._embedders.clear()

    def close(self) -> None:
        for services in self.functions.values():
            services.close()

    def publish(self, *contents: str) -> list[IngestRequest]:
        requests = [request(content) for content in contents]
        self.topic.append(Message(len(self.topic), requests))
        return list(requests)

    def deliver_once(self) -> None:
        """Deliver each waiting message once. Messages that are not acknowledged wait for the next call."""
        for _ in range(len(self.topic)):
            message = self.topic.popleft()
            function = "ingest" if message.deliveries < DELIVERY_ATTEMPTS else "dead_letter"
            encoded = encode("ns", message.requests, "")
            status = push(self._clients[function], *encoded, message_id=str(message.number))
            self.answers[status] += 1
            message.deliveries += 1
            if status != 204:
                self.topic.append(message)

    def deliver(self, fault: Any) -> None:
        """Deliver the waiting messages repeatedly during a fault."""
        self.gemini.fault = fault
        until = time.monotonic() + FAULT_SECONDS
        rounds = 0
        while rounds < ROUNDS or time.monotonic() < until:
            self.deliver_once()
            rounds += 1

    def statuses(self, requests: list[IngestRequest]) -> list[IngestStatus]:
        statuses = self.functions["mcp"].memories_of("ns").statuses([request.request_id for request in requests])
        return [statuses[request.request_id] for request in requests]

    def search(self, text: str) -> search.SearchResult:
        mcp = self.functions["mcp"]
        return search.search(SearchQuery(query=text), memories=mcp.memories_of("ns"), embedder=mcp.embedder)

    def check(self) -> Check:
        """Return what `mnemosyne doctor` and `/health?deep=1` say about the embedder."""
        checks = doctor.examine_dependencies(self.functions["mcp"])
        return next(check for check in checks if check.name == "embedder")

    def bought(self) -> Counter[str]:
        """Return how many times each text of a memory was embedded."""
        return Counter(text.removeprefix(PREFIX) for text in self.gemini.embedded if text.startswith(PREFIX))


@pytest.fixture
def system(
    cluster: postgres.EmbeddedPostgres,
    database: str,
    owner: Connection,
    gemini: GeminiServer,
    tmp_path: Path,
) -> Iterator[System]:
    owner.script("UPDATE embedding_space SET provider = 'gemini', model = 'gemini-embedding-2'")
    # Load the tokenizer now, so that the time limits of the tests do not include its loading.
    count_tokens(["a long text"] * 100)
    new_system = System(gemini, lambda user: cluster.url(user, database), tmp_path)
    yield new_system
    new_system.close()


def _answers(status: int, message: str) -> Any:
    return lambda server: error(status, message)


def _hangs(server: GeminiServer) -> tuple[int, Any]:
    server.released.wait(20)
    return error(503)


def _wrong_dimension(server: GeminiServer) -> tuple[int, Any]:
    return 200, {"embeddings": [{"values": [1.0] * 63} for _ in server.requests[-1]["requests"]]}


# One fault of each kind. `test_gemini.py` tests every status of an answer.
FAULTS: Mapping[str, tuple[Any, str, str]] = {
    "400 unknown": (_answers(400, "Request contains an invalid argument."), "refuses every text", "check the project"),
    "403": (_answers(403, "The caller does not have permission"), "may not be used", "let the key call the Gemini API"),
    "429": (_answers(429, "Resource has been exhausted (e.g. check quota)."), "is exhausted", "request a higher quota"),
    "500": (_answers(500, "An internal error has occurred."), "does not work", ""),
    "message": (_answers(503, "in \x00 text \ud83d " + "x" * 10_000), "does not work", ""),
    "hang": (_hangs, "cannot be reached", ""),
    "dimension": (_wrong_dimension, "does not support dimension 64", "first run `mnemosyne reembed"),
}
PASSING = ("429", "500", "message", "hang")
NIGHTLY = ("403", "500")  # handled like "dimension" and "429"; only the texts of the reports differ


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] if name in NIGHTLY else []) for name in FAULTS]
)
def test_a_fault_for_every_text_is_reported_with_its_fix_and_loses_no_memory(
    system: System, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    fault, cause, fix = FAULTS[name]
    system.publish("stored before the fault")
    system.deliver_once()
    published = system.publish("one memory")
    if name == "hang":
        system.wait_longest(0.3)
    else:
        published += [
            *system.publish(*(f"one of several, number {number}" for number in range(5))),
            *system.publish(" ".join(f"word{number}" for number in range(1_000))),  # several chunks
        ]
    system.deliver(fault)

    assert set(system.answers) == {204, 503}
    assert system.answers[204] == 1
    for status in system.statuses(published):
        assert (status.state, status.attempts >= ROUNDS) == (IngestState.QUEUED, True)
        assert cause in (status.error or "")
        assert fix in (status.error or "")
    hits = system.search("stored before the fault")
    assert [hit.content for hit in hits.hits] == ["stored before the fault"]
    assert hits.degraded
    assert cause in hits.degraded
    assert "answered" not in hits.degraded
    check = system.check()
    assert cause in check.seen
    assert fix in (check.remedy or "")
    assert check.remedy
    needed = [record.fields for record in caplog.records if record.msg == "operator_needed"]  # type: ignore[attr-defined]
    assert bool(needed) == (name not in PASSING)
    assert all(cause in letter["error"] and fix in letter["next_step"] for letter in needed)
    assert {"push_postponed", "embedder_failed"} <= {record.msg for record in caplog.records}

    system.gemini.fault = None
    if name == "hang":
        system.wait_longest(Services.longest_seconds)
    system.deliver_once()
    assert not system.topic
    assert {status.state for status in system.statuses(published)} == {IngestState.STORED}
    assert list(system.functions["mcp"].memories_of("ns").dead_letters(10)) == []
    assert set(system.bought().values()) == {1}
    assert system.check().ok
    assert system.search("one memory").degraded is None


@pytest.mark.parametrize("shape", [shape for _, _, shape in SHAPES[:: len(SHAPES) - 1]])
def test_a_400_for_one_text_fails_only_this_text(system: System, shape: Shape) -> None:
    other_requests = [
        *system.publish("before it", "and another"),
        *system.publish("alone"),
    ]
    poisoned = f"{POISON} {shape(Random(1), 500)}"
    neighbour, bad, another = system.publish("a neighbour", poisoned, "another neighbour")
    system.deliver(lambda server: error(400, "blocked") if POISON in str(server.requests[-1]) else None)

    assert not system.topic
    assert {status.state for status in system.statuses([*other_requests, neighbour, another])} == {IngestState.STORED}
    (failed,) = system.statuses([bad])
    assert (failed.state, "answered 400: blocked" in (failed.error or "")) == (IngestState.FAILED, True)
    assert system.check().ok
    system.gemini.fault = None
    (again,) = system.publish(poisoned)
    system.deliver_once()
    assert system.statuses([again])[0].state is IngestState.STORED
    assert all(system.bought()[other.embedded_text] == 1 for other in other_requests)
    # These texts may have been embedded twice. They were in one call with a text that the service refused. The texts of
    # such a call are then sent again in smaller calls.
    assert all(system.bought()[ingest_request.embedded_text] <= 2 for ingest_request in (neighbour, another))
