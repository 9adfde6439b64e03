"""After a crash, the model takes the state of the database, even if no request and no memory shows the difference."""

from typing import Any

import orjson
import pytest

from tests.fakes import NOW
from tests.model.machine import Machine
from tests.model.messages import IDS

USED = {"request_id": IDS[0], "content": "a"}
"""A memory whose id is also given to a deletion, which is refused and has no outcome."""
SOURCES = ("crm", "ledger")
"""Two sources with one memory. It is deleted when the records of both are."""
COMMITTING = range(3, 7)
"""Statements of the delivery of a deletion, before and after its commit."""


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("statement", COMMITTING)
@pytest.mark.parametrize("source", SOURCES)
def test_the_model_follows_a_crash_during_a_refused_deletion(
    machine: type[Machine], source: str, statement: int, *, is_after: bool
) -> None:
    state = machine()
    try:
        _publish(state, USED, *({"source": source_name, "key": "l", "content": "poison"} for source_name in SOURCES))
        state.deliver(index=1, give_up=False, late=False, keep=False)
        _publish(state, {"source": source, "key": "l", "op": "delete", "request_id": IDS[0]})
        state.deliver_and_crash(index=1, give_up=False, at=statement, after=is_after)
        _publish(
            state,
            *({"source": source_name, "key": "l", "op": "delete"} for source_name in SOURCES if source_name != source),
        )
        state.deliver(index=1, give_up=False, late=False, keep=False)
    finally:
        state.world.close()


def _publish(state: Machine, *records: dict[str, Any]) -> None:
    data = orjson.dumps(
        {"memories": [{"timestamp": NOW.isoformat(), **record} for record in records], "schema_version": 1}
    )
    state.publish(message=(data, {"first_published": NOW.isoformat()}))
