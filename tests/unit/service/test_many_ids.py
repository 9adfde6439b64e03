"""A message that cannot be parsed is kept even if it names very many requests."""

import json
from uuid import UUID

import pytest

from mnemosyne.domain import message
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import StatementTimeout
from mnemosyne.service import deliveries
from mnemosyne.service.deliveries import Push
from tests.fakes import FakeServices

OUTCOMES = 120
BATCH = f"memories must have at most 100 items, got {OUTCOMES + 5}"
CUT = "message data must be JSON"


@pytest.fixture(autouse=True)
def _few_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give outcomes to fewer requests of a message than in production."""
    monkeypatch.setattr(message, "MAX_OUTCOMES", OUTCOMES)


def _push(cut: int | None = None) -> Push:
    records = [{"request_id": str(UUID(int=number + 1)), "content": "x"} for number in range(OUTCOMES + 5)]
    data = json.dumps({"memories": records}).encode()[:cut]
    return Push(Published(message_id="1", data=data, attributes={"namespace": "ns"}), 1)


@pytest.mark.parametrize(("cut", "reason"), [(None, BATCH), (-2, CUT)], ids=["too many", "cut off"])
def test_a_limited_number_of_requests_gets_an_outcome_and_the_letter_counts_the_others(
    services: FakeServices, caplog: pytest.LogCaptureFixture, cut: int | None, reason: str
) -> None:
    deliveries.store(_push(cut), services)
    (letter,) = services.memories.dead_letters(10)
    assert letter.cause.startswith(reason)
    assert letter.cause.endswith("; 5 of its 125 request ids have no outcome")
    assert services.memories.statuses([UUID(int=1), UUID(int=OUTCOMES + 1)]).keys() == {UUID(int=1)}
    (failed,) = [vars(record)["fields"] for record in caplog.records if record.msg == "ingest_failed"]
    assert (failed["count"], failed["request_id"]) == (OUTCOMES, UUID(int=1))


def test_the_letter_is_kept_if_the_outcomes_cannot_be_recorded(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    def time_out(*_: object) -> None:
        raise StatementTimeout("the statement took too long")

    monkeypatch.setattr(type(services.memories), "record_failures", time_out)
    for _ in range(2):
        with pytest.raises(StatementTimeout):
            deliveries.store(_push(-2), services)
    assert [letter.message_id for letter in services.memories.dead_letters(10)] == ["1"]
