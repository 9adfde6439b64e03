"""Changes of the tags of many memories although the database needs a long time for each, and concurrent changes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.errors import StatementTimeout
from mnemosyne.mcp.tools.update import TAGGED_AT_ONCE
from tests.memories import list_memories, store_content, store_contents
from tests.waiting import wait_until

MANY = 15
CONTENTS = [f"memory {number}" for number in range(MANY)]


@pytest.mark.parametrize("largest", [1, 7, 1_000])
def test_a_call_renames_a_tag_in_as_many_memories_as_its_time_allows(
    store: MemoryStore, fails: Callable[..., None], largest: int
) -> None:
    store_contents(store, *CONTENTS, tags=("tea",))
    fails(f"count(*) > {largest}", change="UPDATE")
    result = store.change_tag("tea", "Tee", TAGGED_AT_ONCE)
    assert 1 <= result.changed <= largest
    assert result.changed + result.remaining == MANY
    while result.remaining:
        result = store.change_tag("tea", "Tee", TAGGED_AT_ONCE)
    assert {memory.tags for memory in list_memories(store)} == {("Tee",)}


def test_a_single_memory_that_times_out_is_reported(store: MemoryStore, fails: Callable[..., None]) -> None:
    store_content(store, "memory", tags=("tea",))
    fails("count(*) > 0", change="UPDATE")
    with pytest.raises(StatementTimeout):
        store.change_tag("tea", "Tee", TAGGED_AT_ONCE)


def test_tags_of_many_memories_are_added_by_several_statements(store: MemoryStore, fails: Callable[..., None]) -> None:
    ids = store_contents(store, *CONTENTS)
    fails("count(*) > 10", change="UPDATE")
    assert store.change_tags(ids, added=["new"], removed=[]).changed == MANY


@pytest.mark.parametrize(
    ("change", "tags"),
    [
        (lambda store, memory_id: store.change_tags([memory_id], added=["new"], removed=[]), ("tea", "other", "new")),
        (lambda store, memory_id: store.change_tags([memory_id], added=[], removed=["tea"]), ("other",)),
        (lambda store, memory_id: store.change_tag("tea", "Kaffee", TAGGED_AT_ONCE), ("other", "Kaffee")),
        (lambda store, memory_id: store.change_tag("tea", None, TAGGED_AT_ONCE), ("other",)),
    ],
)
def test_a_change_keeps_the_tags_of_a_concurrent_change(
    store: MemoryStore, owner: Connection, change: Callable[..., object], tags: tuple[str, ...]
) -> None:
    memory_id = store_content(store, "memory", tags=("tea",))
    owner.script("BEGIN")
    owner.run("UPDATE memories SET tags = '{tea,other}', tag_keys = '{tea,other}' WHERE id = :id", id=memory_id)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(change, store, memory_id)
        wait_until(lambda: bool(owner.run("SELECT FROM pg_locks WHERE NOT granted")), "the change waits for the lock")
        owner.script("COMMIT")
        waiting.result()
    assert [memory.tags for memory in list_memories(store)] == [tags]
