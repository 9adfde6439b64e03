"""Consumers tell outcome events apart by their ids, and recognise repeated events by equal ids."""

import orjson
import pytest

from mnemosyne.domain.memory import FailedRequest, IngestState
from mnemosyne.domain.pubsub_message import LETTER_ID, Published
from mnemosyne.errors import InvalidRequest, ItemUnavailable
from mnemosyne.ids import new_id
from mnemosyne.service import redrives
from mnemosyne.service.deliveries import Push, give_up, store
from tests.fakes import FakeOutcomes, FakeServices
from tests.memories import make_dead_letter


@pytest.fixture
def topic(services: FakeServices) -> FakeOutcomes:
    services.outcome_topic = FakeOutcomes()
    return services.outcome_topic


def _deliver(services: FakeServices, data: object, message_id: str = "1", **attributes: str) -> None:
    raw = data if isinstance(data, bytes) else orjson.dumps(data)
    message = Published(message_id=message_id, data=raw, attributes={"namespace": "ns", **attributes})
    store(Push(message, 1), services)


def _ids(topic: FakeOutcomes) -> list[str]:
    return [outcome.encode()[1]["ce-id"] for outcome in topic.told]


def test_the_same_record_in_two_namespaces_has_two_event_ids(services: FakeServices, topic: FakeOutcomes) -> None:
    memory = {"content": "Ada prefers tea.", "timestamp": "2026-05-20T14:30:00Z", "source": "crm", "key": "4711"}
    for namespace in ("support", "sales"):
        _deliver(services, memory, namespace=namespace)
    first, second = topic.told
    assert first.status and second.status and first.status.request_id == second.status.request_id
    assert len(set(_ids(topic))) == 2


def test_a_later_failure_with_another_error_has_another_event_id(services: FakeServices, topic: FakeOutcomes) -> None:
    request_id = str(new_id())
    for number, content in enumerate(["", " "]):
        _deliver(services, {"request_id": request_id, "content": content}, str(number))
    assert len({outcome.status.error for outcome in topic.told if outcome.status}) == 2
    assert len(set(_ids(topic))) == 2


def test_a_failure_with_the_first_error_after_another_one_has_another_event_id(
    services: FakeServices, topic: FakeOutcomes
) -> None:
    request_id = str(new_id())
    for number, content in enumerate(["", " ", "", ""]):  # the last failure repeats an outcome, so it causes no event
        _deliver(services, {"request_id": request_id, "content": content}, str(number))
    assert len(_ids(topic)) == len(set(_ids(topic))) == 3


def test_a_dead_lettered_request_that_is_published_again_and_fails_is_announced_with_its_new_error(
    services: FakeServices, topic: FakeOutcomes
) -> None:
    request_id = new_id()
    services.memories.give_up(make_dead_letter("1"), [FailedRequest(request_id=request_id, error="slow")], contents={})
    services.memories.mark_announced(services.memories.unannounced_outcomes([request_id]))
    services.embedder.fault = InvalidRequest("the model refuses it")
    _deliver(services, {"request_id": str(request_id), "content": "tea", "timestamp": "2026-05-20"}, "2")
    (outcome,) = topic.told
    assert outcome.status
    assert (outcome.state, outcome.status.error) == (IngestState.DEAD_LETTERED, "the model refuses it")


def test_a_letter_that_fails_with_its_first_cause_after_another_one_has_another_event_id(
    services: FakeServices, topic: FakeOutcomes
) -> None:
    letter: dict[str, str] = {}
    for number, attributes in enumerate([{}, {"ce-specversion": "9.9"}, {}]):
        _deliver(services, b"no JSON", str(number), **attributes, **letter)
        letter = {LETTER_ID: str(services.memories.mark_redriven("0", [], into="ns", now=True))}
    assert [outcome.message_id for outcome in topic.told] == ["0", "0", "0"]
    assert len(set(_ids(topic))) == 3


def test_an_event_that_is_published_again_has_the_same_id(
    services: FakeServices, topic: FakeOutcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(services.memories), "mark_announced", lambda self, announced: None)
    for _ in range(2):
        _deliver(services, {"request_id": "0192f3a4-643f-7f9f-8bdd-01b104fff04f", "content": ""})
    assert len(_ids(topic)) == 2
    assert len(set(_ids(topic))) == 1


def test_a_message_that_is_lost_again_after_a_redrive_is_announced_under_its_first_id(
    services: FakeServices, topic: FakeOutcomes
) -> None:
    _deliver(services, b"no JSON", "first")
    redrives.redrive("first", memories=services.memories_of("ns"), queue=services.queue)
    ((data, attributes),) = services.queue.messages
    _deliver(services, data, "second", **attributes)
    assert [outcome.message_id for outcome in topic.told] == ["first", "first"]


def test_a_message_that_is_given_up_is_announced_if_a_part_of_it_has_no_outcome(
    services: FakeServices, topic: FakeOutcomes
) -> None:
    memory = {"request_id": str(new_id()), "content": "oolong", "timestamp": "2026-05-20"}
    _deliver(services, memory)
    services.embedder.fault = ItemUnavailable("the model cannot embed it")
    data = orjson.dumps({"memories": [memory | {"content": ""}, {"content": "tea", "timestamp": "2026-05-20"}]})
    give_up(Push(Published(message_id="2", data=data, attributes={"namespace": "ns"}), 5), services)
    assert [outcome.message_id for outcome in topic.told if not outcome.status] == ["2"]
