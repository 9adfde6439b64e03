"""The expiry of restored memories: lifetimes of the namespace, legal holds, and expiries that publishers gave."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mnemosyne.adapters.database.owner_store import Holds
from mnemosyne.adapters.database.retention import Retention
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.search import Filters
from tests.integration.test_archive import Archives, archive, empty, restored
from tests.memories import store_content
from tests.shared_database import SharedDatabase
from tests.waiting import wait_until

__all__ = ["archive", "empty", "restored"]

DAYS = 86_400
IN_A_MONTH = datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)


@pytest.fixture
def retention(shared_database: SharedDatabase) -> Retention:
    return Retention(shared_database.connect_as_owner)


def _expiry(archive: Archives, memory_id: UUID) -> datetime | None:
    memory = archive.store.fetch(memory_id)
    assert memory
    return memory.expires_at


def _place_hold(shared_database: SharedDatabase, tag: str) -> None:
    holds = Holds(shared_database.connect_as_owner)
    selection = Selection.of(None, Filters(tags=(tag,)), everything=False)
    hold = holds.place("ns", selection, "case 7", "me")
    while holds.suspend("ns", hold):
        pass


@pytest.mark.parametrize("given", [None, IN_A_MONTH])
def test_a_lifetime_of_the_namespace_does_not_become_the_expiry_of_a_memory(
    archive: Archives, restored: Callable[[], list[str]], retention: Retention, given: datetime | None
) -> None:
    retention.set("ns", {"default": 90 * DAYS, "maximum": 20 * DAYS})
    memory_id = store_content(archive.store, "tea", expires_at=given)
    restored()
    assert _expiry(archive, memory_id) == given
    retention.set("ns", {"default": 90 * DAYS, "maximum": None})
    retention.apply("ns")
    pinned = archive.store.update(memory_id, MemoryChange(pinned=True))
    assert pinned
    assert pinned.expires_at == given


def test_a_lifetime_of_the_new_system_begins_when_the_content_was_last_sent(
    archive: Archives, empty: Callable[[], None], retention: Retention
) -> None:
    retention.set("ns", {"default": 90 * DAYS, "maximum": None})
    memory_id = store_content(archive.store, "tea")
    expires_at, exported = _expiry(archive, memory_id), archive.export()
    empty()
    retention.set("ns", {"default": 90 * DAYS, "maximum": None})
    archive.bring_back(exported)
    assert _expiry(archive, memory_id) == expires_at


def test_a_memory_that_was_exported_under_a_hold_keeps_the_expiry_that_its_publisher_gave(
    archive: Archives, restored: Callable[[], list[str]], shared_database: SharedDatabase
) -> None:
    memory_id = store_content(archive.store, "tea", tags=("case",), expires_at=IN_A_MONTH)
    _place_hold(shared_database, "case")
    assert _expiry(archive, memory_id) is None
    restored()
    assert _expiry(archive, memory_id) == IN_A_MONTH


def test_a_held_memory_whose_expiry_has_passed_is_restored(
    archive: Archives, restored: Callable[[], list[str]], shared_database: SharedDatabase
) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=0.5)
    memory_id = store_content(archive.store, "tea", tags=("case",), expires_at=soon)
    _place_hold(shared_database, "case")
    wait_until(lambda: datetime.now(UTC) > soon, "the expiry passes")
    restored()
    assert _expiry(archive, memory_id) is None


def test_an_ordinary_export_has_the_expiry_that_the_publisher_gave(archive: Archives, retention: Retention) -> None:
    retention.set("ns", {"default": 90 * DAYS, "maximum": 20 * DAYS})
    store_content(archive.store, "tea")
    store_content(archive.store, "coffee", expires_at=IN_A_MONTH)
    lines = [json.loads(line) for line in archive.export()]
    expiries = {line["content"]: line.get("expires_at") for line in lines if "content" in line}
    assert expiries == {"tea": None, "coffee": IN_A_MONTH.strftime("%Y-%m-%dT%H:%M:%SZ")}
