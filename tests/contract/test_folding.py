"""Which memories a search folds into one, and that a page is full all the same."""

from collections.abc import Sequence
from typing import Any

import pytest

from mnemosyne.domain.search import Hit, SearchMode
from mnemosyne.ports import MemoryStore
from tests.contract.test_memory_store import _search, _stored, memories  # noqa: F401
from tests.unit.domain.test_wording import FACTS, SAME


def _hits(store: MemoryStore, query: str, **fields: Any) -> Sequence[Hit]:
    return _search(store, query, mode=SearchMode.HYBRID, **fields)


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.SEMANTIC])
def test_memories_that_state_different_facts_are_all_found(memories: MemoryStore, mode: SearchMode) -> None:  # noqa: F811
    for one, other in FACTS:
        stored = {_stored(memories, one), _stored(memories, other)}
        assert stored <= {hit.id for hit in _search(memories, one, mode=mode, limit=100)}


def test_memories_that_say_the_same_are_one_hit_that_names_the_others(memories: MemoryStore) -> None:  # noqa: F811
    for one, other in SAME:
        stored = {_stored(memories, one), _stored(memories, other)}
        assert any(stored <= {hit.id, *hit.near_duplicates} for hit in _hits(memories, one, limit=100))


@pytest.mark.parametrize("fields", [
    {"title": "Brewing"}, {"tags": ("kitchen",)}, {"metadata": {"price": 5}}, {"metadata": {"price": "5"}},
])  # fmt: skip
def test_memories_of_one_wording_and_other_labels_are_all_found(memories: MemoryStore, fields: dict[str, Any]) -> None:  # noqa: F811
    _stored(memories, "Ada likes the green tea")
    _stored(memories, "Ada likes the green tea.", **fields)
    assert len(_hits(memories, "green tea")) == 2


@pytest.mark.parametrize(("copies", "limit"), [(7, 5), (150, 5), (130, 10)])
def test_a_page_is_full_however_many_say_the_same(memories: MemoryStore, copies: int, limit: int) -> None:  # noqa: F811
    for n in range(copies):
        _stored(memories, f"Ada likes the{' ' * n} green tea")
        if n % 2:
            _stored(memories, f"Bob likes the{' ' * n} green tea")
    others = {_stored(memories, f"Cup {n} of green tea, with milk") for n in range(limit)}
    for mode in (SearchMode.HYBRID, SearchMode.SEMANTIC):
        found = _search(memories, "Ada likes the green tea", mode=mode, limit=limit)
        assert len(found) == limit
        assert len({hit.content for hit in found}) == limit
        assert len(others & {hit.id for hit in found}) == limit - 2


def test_a_literal_search_folds_nothing(memories: MemoryStore) -> None:  # noqa: F811
    for content in ("Ada likes green tea.", "Ada likes green tea", "Ada likes  green tea"):
        _stored(memories, content)
    assert len(_search(memories, "Ada likes", mode=SearchMode.EXACT)) == 3
