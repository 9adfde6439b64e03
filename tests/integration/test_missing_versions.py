"""Versions of a record whose current version has expired, was forgotten, or is missing after a restore."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import IngestState
from mnemosyne.domain.search import Filters
from mnemosyne.errors import Unavailable
from mnemosyne.service import forgetting
from tests.integration.test_archive import Archives, _ingest, archive, empty
from tests.memories import EMBEDDER, embed, status_of
from tests.records import Records, deletion, records_in, version
from tests.waiting import wait_until

__all__ = ["archive", "empty"]


@pytest.fixture
def records(pool: Pool) -> Records:
    """The records of one namespace."""
    return records_in(pool)


def _soon() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=1)


def _wait_for(moment: datetime) -> None:
    wait_until(lambda: datetime.now(UTC) > moment + timedelta(seconds=0.2), "the expiry passes")


def _forget(store: MemoryStore, content: str) -> None:
    (memory_id,) = (memory.id for memory in store.export(500) if memory.content == content)
    selection = Selection.of([memory_id], Filters(), everything=False)
    token = store.preview_forgetting(selection, 1).token
    begun = forgetting.begin(selection, token, "", memories=store)
    forgetting.proceed(begun, memories=store, deadline=time.monotonic() + 60)


def _titles(store: MemoryStore) -> set[str]:
    return {memory.title for memory in store.list(Filters(), 100)}


def test_an_older_version_is_not_stored_if_the_current_one_expires_while_it_is_embedded(records: Records) -> None:
    expires_at, store = _soon(), records.store
    records.deliver(version("1", "shelf 8", 20, expires_at=expires_at))
    older = version("1", "shelf 7", 10)
    with store.claim([older]) as claim:
        assert claim.new == [older]
        _wait_for(expires_at)
        with pytest.raises(Unavailable):
            claim.store(claim.new, [embed(older.content)], EMBEDDER.model)
    (outcome,) = records.deliver(older)
    assert (outcome.state, records.stored()) == (IngestState.DELETED, set())


def test_a_version_after_a_restore_counts_as_newer_only_than_the_version_that_has_expired(
    archive: Archives, empty: Callable[[], None]
) -> None:
    expires_at, keys = _soon(), ("older", "equal", "newer")
    _ingest(archive.store, *(version(key, f"shelf 8, {key}", 20, expires_at=expires_at) for key in keys))
    exported = archive.export()
    _wait_for(expires_at)
    sent = [version(key, f"shelf 7, {key}", second) for key, second in zip(keys, (10, 20, 30), strict=True)]
    outcomes = []
    for restored in (False, True):
        if restored:
            empty()
            archive.bring_back(exported)
        _ingest(archive.store, *sent)
        states = [status_of(archive.store, request.request_id).state for request in sent]
        outcomes.append((states, _titles(archive.store)))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][1] == {"shelf 7, newer"}


def test_a_restore_of_lines_in_another_order_keeps_the_current_version(
    archive: Archives, empty: Callable[[], None]
) -> None:
    _ingest(archive.store, version("1", "shelf 7", 10))
    exported = archive.export()
    for lines in permutations(exported):
        empty()
        for line in lines:
            archive.bring_back([line])
        _ingest(archive.store, version("1", "shelf 8", 20))
        assert _titles(archive.store) == {"shelf 8"}


def test_a_version_older_than_a_forgotten_version_is_stored_as_superseded(records: Records) -> None:
    records.deliver(version("1", "shelf 7", 10))
    records.deliver(version("1", "shelf 8", 20))
    _forget(records.store, "shelf 8")
    assert records.visible() == set()
    (outcome,) = records.deliver(version("1", "shelf 6", 5))
    assert outcome.state is IngestState.STORED
    assert outcome.note and outcome.note.startswith("a newer version of the record was forgotten")
    assert (records.visible(), records.stored()) == (set(), {"shelf 6", "shelf 7"})
    records.deliver(version("1", "shelf 9", 30))
    assert records.visible() == {"shelf 9"}


def test_a_memory_without_a_key_stays_visible_if_it_is_also_an_older_version(records: Records) -> None:
    records.deliver(version("1", "shelf 8", 20))
    records.deliver(version("2", "shelf 7", 20))
    _forget(records.store, "shelf 8")
    records.deliver(version("1", "shelf 7", 10))
    assert records.visible() == {"shelf 7"}


def test_a_version_with_the_timestamp_of_a_forgotten_version_is_current_if_it_was_published_later(
    records: Records,
) -> None:
    records.deliver(version("1", "shelf 8", 20))
    _forget(records.store, "shelf 8")
    records.deliver(version("1", "shelf 7", 20, published=30))
    assert records.visible() == {"shelf 7"}


def test_a_deletion_that_covers_a_forgotten_version_makes_room_for_versions_published_later(records: Records) -> None:
    records.deliver(version("1", "shelf 8", 20))
    _forget(records.store, "shelf 8")
    records.deliver(deletion("1", 5, published=30))
    records.deliver(version("1", "shelf 7", 10, published=40))
    assert records.visible() == {"shelf 7"}
