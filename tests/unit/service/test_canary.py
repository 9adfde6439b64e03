"""The canary memory is stored, found and deleted, and each failed step is named with its cause and next step."""

from collections.abc import Mapping
from typing import Any

import pytest

from mnemosyne.domain.message import decode
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import Broken
from mnemosyne.service import ingest
from mnemosyne.service.canary import NAMESPACE, check_canary
from tests.fakes import FakeEmbedder, FakeQueue, FakeReranker, FakeServices
from tests.memories import list_memories


class DeliveringQueue(FakeQueue):
    """A queue whose messages are stored at once."""

    def __init__(self, services: FakeServices) -> None:
        super().__init__()
        self._services = services
        self.storing: FakeEmbedder = services.embedder

    def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        super().republish(data, attributes)
        message = decode(Published(message_id="1", data=data, attributes=attributes))
        ingest.store(message, memories=self._services.memories_of(message.namespace), embedder=self.storing)


@pytest.fixture
def system(services: FakeServices) -> FakeServices:
    services.queue = DeliveringQueue(services)
    return services


def logged(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    return [record.fields for record in caplog.records if record.msg == event]  # type: ignore[attr-defined]


def test_the_canary_is_stored_found_and_deleted(system: FakeServices, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    check = check_canary(system)
    assert check.ok
    assert "found and deleted" in check.seen
    assert list_memories(system.memories_of(NAMESPACE)) == []
    assert list_memories(system.memories) == []
    assert len(logged(caplog, "canary_passed")) == 1


def test_a_refusal_of_the_topic_is_named(system: FakeServices, caplog: pytest.LogCaptureFixture) -> None:
    system.queue.away = True
    check = check_canary(system)
    assert not check.ok
    assert check.seen == "publish: the queue is away: nothing was stored"
    assert logged(caplog, "canary_failed")[0]["step"] == "publish"


def test_a_memory_that_is_not_stored_in_time_is_named_with_the_last_error(services: FakeServices) -> None:
    check = check_canary(services, wait=0.0)
    assert check.seen == "store: still queued: no delivery has reached the database"
    assert check.remedy
    assert "push_postponed" in check.remedy


def test_a_degraded_search_fails_the_check(system: FakeServices) -> None:
    queue = system.queue
    assert isinstance(queue, DeliveringQueue)
    system.embedder = FakeEmbedder()  # `ingest` has kept the earlier embedder, so only the search fails
    system.embedder.fault = Broken("the model may not be used", next_step="grant the role")
    assert check_canary(system).seen == "search: searched by words only: the model may not be used"


def test_a_reranker_that_does_not_answer_in_time_does_not_fail_the_check(system: FakeServices) -> None:
    system.reranker = FakeReranker("canary")
    system.reranker.away = True
    assert check_canary(system).ok


def test_a_memory_that_no_search_finds_fails_the_check(system: FakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(system.memories), "read_hits", lambda *_: ())
    assert check_canary(system).seen == "search: a search does not find a stored memory"
