"""Large messages are stored in many deliveries if the embedding service takes five seconds for a call.

`LARGE_MESSAGE_MEMORIES` says how many memories of 90 kB the largest has; `.ci/run noise` takes 98, which are 9 MB.

The tests use the real google-genai client, and the functions `ingest` and `dead_letter`. The five seconds of a call
pass on the test's clock only.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from mnemosyne.adapters.embedders.batching import MicroBatchingEmbedder
from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.domain.memory import IngestRequest, IngestState
from mnemosyne.domain.message import MESSAGE_BYTES, encode
from mnemosyne.service.deliveries import give_up, store
from mnemosyne.service.group_commit import SLICE_CHUNKS
from tests.fakes import FAKE_SPACE, FakeServices, request
from tests.fakes_wire.gemini import GeminiServer, error
from tests.pushes import function_client, push

pytestmark = pytest.mark.slow

CALL_SECONDS = 5.0
LARGE_MESSAGE_MEMORIES = int(os.environ.get("LARGE_MESSAGE_MEMORIES", "30"))
MAX_DELIVERY_ATTEMPTS = 5 if LARGE_MESSAGE_MEMORIES < 98 else 20
"""Maximum number of deliveries to `ingest`: Pub/Sub's minimum (5), or for large messages Terraform's default (20)."""
TIMEOUT_SECONDS = 120
"""Timeout in seconds of the function `ingest`."""
DELIVERIES_OF_INSTANCE = 25
RETENTION_SECONDS = 6 * 24 * 3600
LONGEST_PAUSE_SECONDS = 600
WORDS = ["kiln", "harbour", "Ada", "prefers", "tea", "to", "coffee", "since", "the", "flood", "of", "1987."]


@dataclass
class Clock:
    """Fake clock of the modules that limit the time of a delivery."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("service.ingest", "http.push", "adapters.embedders.gemini", "adapters.embedders.gemini_calls"):
        monkeypatch.setattr(f"mnemosyne.{module}.time", clock)
    return clock


def _english(random: Random, number: int) -> str:
    return f"{number} " + " ".join(random.choices(WORDS, k=17_000))[:90_000]


def _chinese(random: Random, number: int) -> str:
    return f"{number} " + "".join(random.choices("人生而自由在尊严和权利上一律平等", k=30_000))


def _short(random: Random, number: int) -> str:
    return f"{number} " + " ".join(random.choices(WORDS, k=20))


def _deliver(requests: list[IngestRequest], services: FakeServices, clock: Clock, restart: Callable[[], None]) -> int:
    """Deliver the message until it is acknowledged, and return the number of deliveries.

    After every 25 deliveries, the function starts in a new instance.
    """
    data, attributes = encode("ns", requests, "")
    assert len(data) < MESSAGE_BYTES
    clients = [function_client(handler, services) for handler in (store, give_up)]
    for delivery in range(1, RETENTION_SECONDS // (LONGEST_PAUSE_SECONDS + TIMEOUT_SECONDS)):
        if delivery % DELIVERIES_OF_INSTANCE == 1:
            restart()
        began = clock.now
        client = clients[0] if delivery <= MAX_DELIVERY_ATTEMPTS else clients[1]
        status = push(client, data, attributes)
        assert clock.now - began < TIMEOUT_SECONDS
        if status == 204:
            return delivery
    raise AssertionError("the message expires before it is stored")


@pytest.mark.parametrize(
    ("make", "count", "model", "texts_per_call", "least"),
    [
        pytest.param(
            _english,
            LARGE_MESSAGE_MEMORIES,
            "gemini-embedding-2",
            100,
            MAX_DELIVERY_ATTEMPTS + 1,
            marks=pytest.mark.nightly,
        ),
        (_english, 2, "gemini-embedding-001", 1, 8),
        pytest.param(_chinese, 1, "gemini-embedding-001", 1, 4, marks=pytest.mark.nightly),
        (_short, 100, "gemini-embedding-001", 1, 10),
    ],
    ids=["large", "long", "Chinese", "short"],
)
def test_a_message_with_a_slow_embedder_is_stored_over_several_deliveries(
    gemini: GeminiServer,
    clock: Clock,
    services: FakeServices,
    make: Callable[[Random, int], str],
    count: int,
    model: str,
    texts_per_call: int,
    least: int,
) -> None:
    bought = Counter[str]()

    def takes_its_time(server: GeminiServer) -> Any:
        clock.now += CALL_SECONDS
        requests = server.requests.pop()["requests"]
        if len(requests) > texts_per_call:
            return error(400, "one text at a time")
        bought.update(embed_request["content"]["parts"][0]["text"] for embed_request in requests)
        return 200, {"embeddings": [{"values": [1.0] * 64} for _ in requests]}

    def restart() -> None:
        embedder = MicroBatchingEmbedder(GeminiEmbedder(model, 64))
        embedder.model = FAKE_SPACE.model  # The store refuses vectors of another space.
        services.embedder = embedder  # type: ignore[assignment]

    gemini.fault = takes_its_time
    random = Random(1)
    requests = [request(make(random, number)) for number in range(count)]
    deliveries = _deliver(requests, services, clock, restart)
    assert deliveries >= least
    statuses = services.memories.statuses([request.request_id for request in requests])
    states = Counter(status.state for status in statuses.values())
    assert states == {IngestState.STORED: len(requests)}
    assert list(services.memories.dead_letters(10)) == []
    # Few texts were embedded twice: an instance that ends loses only the vectors of the slice that it was embedding.
    assert sum(bought.values()) <= len(bought) + SLICE_CHUNKS * (deliveries // DELIVERIES_OF_INSTANCE)
