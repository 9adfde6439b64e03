"""Changes of the tags of many memories although the database needs a long time for each."""

from collections.abc import Callable

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.domain.chronicle import TAG_COUNT
from mnemosyne.errors import InvalidRequest, StatementTimeout
from mnemosyne.service import manage
from tests.integration.test_slices import FAILS
from tests.memories import list_memories, store_content, store_contents

MANY = 25


@pytest.fixture
def updates_that_time_out(owner: Connection) -> Callable[[str], object]:
    """Function that takes a condition on the updated rows (`NEWs`).

    Later updates that meet it fail like statement_timeout.
    """
    return lambda condition: owner.run_file(
        FAILS.format(state="57014", change="UPDATE", rows="NEW", condition=condition)
    )


def _contents(count: int) -> list[str]:
    return [f"memory {number}" for number in range(count)]


@pytest.mark.parametrize("largest", [1, 7, 20, 1_000])
def test_a_call_renames_a_tag_in_as_many_memories_as_its_time_allows(
    store: PostgresMemories, updates_that_time_out: Callable[[str], object], largest: int
) -> None:
    store_contents(store, *_contents(MANY), tags=("tea",))
    updates_that_time_out(f"count(*) > {largest}")
    result = manage.change_tag("tea", "Tee", memories=store)
    assert 1 <= result.changed <= largest
    assert result.changed + result.remaining == MANY
    while result.remaining:
        result = manage.change_tag("tea", "Tee", memories=store)
    assert {memory.tags for memory in list_memories(store)} == {("Tee",)}


def test_a_single_memory_that_times_out_is_reported(
    store: PostgresMemories, updates_that_time_out: Callable[[str], object]
) -> None:
    store_content(store, "memory", tags=("tea",))
    updates_that_time_out("count(*) > 0")
    with pytest.raises(StatementTimeout):
        manage.change_tag("tea", "Tee", memories=store)


def test_tags_of_many_memories_are_added_by_several_statements(
    store: PostgresMemories, updates_that_time_out: Callable[[str], object]
) -> None:
    ids = store_contents(store, *_contents(MANY))
    updates_that_time_out("count(*) > 10")
    assert manage.change_tags(ids, added=["new"], removed=[], memories=store).changed == MANY


def test_no_memory_is_changed_if_one_of_them_cannot_be(store: PostgresMemories) -> None:
    ids = store_contents(store, *_contents(MANY))
    ids.append(store_content(store, "full", tags=tuple(f"tag {number}" for number in range(TAG_COUNT))))
    with pytest.raises(InvalidRequest):
        manage.change_tags(ids, added=["new"], removed=[], memories=store)
    assert not any("new" in memory.tags for memory in list_memories(store))
