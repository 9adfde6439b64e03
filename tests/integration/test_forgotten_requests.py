"""Removal of the rows of old requests that no message can deliver again."""

from dataclasses import replace

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.memory import IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.message import IngestMessage
from mnemosyne.service import ingest
from tests.fakes import FakeEmbedder, memories_in, request

STATES = [state for state in IngestState if state is not IngestState.UNKNOWN]
REQUESTS = """
INSERT INTO ingest_requests (namespace, request_id, state, source, key, updated_at)
SELECT 'ns', gen_random_uuid(), :state, CAST(:source AS text), CAST(:source AS text),
    now() - CAST(:days AS integer) * interval '1 day'
FROM generate_series(1, CAST(:count AS integer))
"""
DEAD_LETTER = """
INSERT INTO dead_letters (namespace, message_id, data, attributes, cause, dead_lettered_at)
VALUES (:namespace, '1', '', '{}', 'given up', now() - CAST(:days AS integer) * interval '1 day')
"""


def _deliver(store: MemoryStore, ingest_request: IngestRequest) -> IngestStatus:
    message = IngestMessage("ns", (ingest_request,))
    return ingest.store(message, memories=store, embedder=FakeEmbedder()).outcomes[ingest_request.request_id]


def _count_requests(owner: Connection) -> int:
    ((count,),) = owner.run("SELECT count(*) FROM ingest_requests WHERE updated_at < now() - interval '1 day'")
    return int(count)


@pytest.mark.parametrize(
    ("days", "source", "letter", "forgotten"),
    [
        (89, None, None, False),
        (91, None, None, True),
        (91, "crm", None, False),
        (91, None, ("ns", 80), False),
        (110, None, ("ns", 80), False),
        (112, None, ("ns", 80), True),
        (91, None, ("ns", 1), True),
        (91, None, ("another", 80), True),
    ],
)
def test_requests_are_removed_after_90_days_unless_a_record_or_a_dead_letter_refers_to_them(
    store: MemoryStore,
    owner: Connection,
    days: int,
    source: str | None,
    letter: tuple[str, int] | None,
    forgotten: bool,
) -> None:
    for state in STATES:
        owner.run(REQUESTS, state=state.value, source=source, days=days, count=1)
    if letter:
        owner.run(DEAD_LETTER, namespace=letter[0], days=letter[1])
    _deliver(store, request("another"))
    assert _count_requests(owner) == (0 if forgotten else len(STATES))


def test_a_delivery_removes_a_bounded_number_of_old_requests(store: MemoryStore, owner: Connection) -> None:
    owner.run(REQUESTS, state="duplicate", source=None, days=100, count=250)
    remaining = []
    for n in range(3):
        _deliver(store, request(f"another {n}"))
        remaining.append(_count_requests(owner))
    assert remaining == [150, 50, 0]


def test_deliveries_of_duplicates_also_remove_old_requests(store: MemoryStore, owner: Connection) -> None:
    _deliver(store, request("a"))
    owner.run(REQUESTS, state="duplicate", source=None, days=100, count=1)
    assert _deliver(store, request("a")).state is IngestState.DUPLICATE
    assert _count_requests(owner) == 0


def test_requests_of_another_namespace_are_not_removed(store: MemoryStore, owner: Connection) -> None:
    owner.run(REQUESTS, state="stored", source=None, days=100, count=1)
    owner.script("UPDATE ingest_requests SET namespace = 'another'")
    _deliver(store, request("a"))
    assert _count_requests(owner) == 1


@pytest.mark.parametrize("is_known", [False, True], ids=["a new process", "a process that knows a content"])
def test_an_old_outcome_counts_for_all_requests_of_a_delivery(
    store: MemoryStore, owner: Connection, is_known: bool
) -> None:
    earlier = request("earlier")
    _deliver(store, request("known"))
    _deliver(store, earlier)
    owner.script("UPDATE ingest_requests SET updated_at = now() - interval '91 days'")
    process = store if is_known else memories_in(store.database.pool)
    message = IngestMessage("ns", (request("known"), replace(request("another"), request_id=earlier.request_id)))
    assert ingest.store(message, memories=process, embedder=FakeEmbedder()).conflicting == [earlier.request_id]
