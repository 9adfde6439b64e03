"""A search merges near-duplicates into one hit, has as many hits as were asked for, and names superseded memories."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.candidates import Candidates
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.search import Filters, Hit, SearchMode
from tests.memories import search, store_content, store_contents
from tests.unit.domain.test_wording import FACTS, SAME


def _hits(store: MemoryStore, query: str, **fields: Any) -> Sequence[Hit]:
    return search(store, query, mode=SearchMode.HYBRID, **fields)


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.SEMANTIC])
def test_memories_that_state_different_facts_are_all_found(memories: MemoryStore, mode: SearchMode) -> None:
    for pair in FACTS:
        ids, fact = {*store_contents(memories, *pair)}, pair[0]
        assert len(ids) == 2, "no content is a duplicate of another one"
        assert ids <= {hit.id for hit in search(memories, fact, mode=mode, limit=100)}


def test_near_duplicates_are_one_hit_that_names_the_others(memories: MemoryStore) -> None:
    for pair in SAME:
        ids = {*store_contents(memories, *pair)}
        assert any(ids <= {hit.id, *hit.near_duplicates} for hit in _hits(memories, pair[0], limit=100))


@pytest.mark.parametrize("content", [
    "\u200fשלום לכולם, מה שלומכם היום", "\ufeffAda likes green tea", "Ada likes\u00ad the green tea",
    "\x1b[1mAda likes\x1b[0m tea", "Ada likes \ue000 green tea", "Ada 👩\u200d💻 likes green\u200b tea",
    "TITLE: green\u200b tea\nAda likes the green tea",
])  # fmt: skip
def test_near_duplicates_are_one_hit_if_their_titles_omit_invisible_characters(
    memories: MemoryStore, content: str
) -> None:
    ids = store_contents(memories, content, f"{content}.", content.replace(" ", "  "))
    (hit,) = _hits(memories, content)
    assert {hit.id, *hit.near_duplicates} == set(ids)


@pytest.mark.parametrize("fields", [
    {"title": "Brewing"}, {"title": "green"}, {"tags": ("kitchen",)}, {"metadata": {"price": 5}},
    {"metadata": {"price": "5"}},
])  # fmt: skip
def test_memories_with_the_same_wording_and_different_labels_are_all_found(
    memories: MemoryStore, fields: dict[str, Any]
) -> None:
    store_content(memories, "Ada likes the green tea")
    store_content(memories, "Ada likes the green tea.", **fields)
    assert len(_hits(memories, "green tea")) == 2


@pytest.mark.parametrize(("copies", "limit"), [(7, 5), (150, 5), (130, 10)])
def test_a_page_of_results_is_full_despite_merged_near_duplicates(
    memories: MemoryStore, copies: int, limit: int
) -> None:
    store_contents(memories, *(f"Ada likes the{' ' * n} green tea" for n in range(copies)))
    store_contents(memories, *(f"Bob likes the{' ' * n} green tea" for n in range(1, copies, 2)))
    other_ids = {*store_contents(memories, *(f"Cup {n} of green tea, with milk" for n in range(limit)))}
    for mode in (SearchMode.HYBRID, SearchMode.SEMANTIC):
        hits = search(memories, "Ada likes the green tea", mode=mode, limit=limit)
        assert len(hits) == limit
        assert len({hit.content for hit in hits}) == limit
        assert len(other_ids & {hit.id for hit in hits}) == limit - 2


@pytest.mark.slow
def test_a_page_of_sentences_that_each_occur_in_many_sessions_needs_few_look_ups(
    memories: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The more other words a sentence has, the less similar it is to the query.
    others = [chr(ord("a") + n) * 5 for n in range(10)]
    sentences = [f"Ada sends the report {' '.join(others[:n])}" for n in range(10)]
    for session in range(60):
        store_contents(memories, *sentences, session=f"day {session}")
    numbers: list[int] = []
    look_up = memories.find_candidates

    def count_look_up(*arguments: Any, count: int, **others: Any) -> Candidates:
        numbers.append(count)
        return look_up(*arguments, count=count, **others)

    monkeypatch.setattr(memories, "find_candidates", count_look_up)
    for mode in SearchMode.HYBRID, SearchMode.SEMANTIC:
        numbers.clear()
        hits = search(memories, sentences[0], mode=mode, limit=len(sentences))
        assert {hit.content for hit in hits} == set(sentences)
        assert len(numbers) <= 5, numbers


def test_a_memory_names_the_memories_that_it_superseded(memories: MemoryStore) -> None:
    shelves = store_contents(memories, *(f"The oolong is on shelf {n}" for n in (7, 8, 9)))
    other = store_content(memories, "The oolong was never on shelf 6")
    for old, new in itertools.pairwise(shelves):
        memories.update(old, MemoryChange(superseded_by=new))
    supersedes = {hit.id: hit.supersedes for hit in _hits(memories, "oolong shelf")}
    assert supersedes == {shelves[2]: (shelves[1], shelves[0]), other: ()}
    memory = memories.fetch(shelves[2])
    assert memory and memory.supersedes == (shelves[1], shelves[0])
    every = _hits(memories, "oolong shelf", filters=Filters(include_superseded=True))
    assert {hit.id: hit.superseded_by for hit in every if hit.superseded_by} == dict(itertools.pairwise(shelves))


def test_at_most_five_superseded_memories_are_named(memories: MemoryStore) -> None:
    newest = store_content(memories, "The oolong is on shelf 9")
    for n in range(8):
        memories.update(store_content(memories, f"The oolong is on shelf {n}"), MemoryChange(superseded_by=newest))
    (hit,) = _hits(memories, "oolong")
    assert len(hit.supersedes) == 5


def test_each_kind_of_white_space_is_ignored_in_near_duplicates(memories: MemoryStore) -> None:
    blanks = (" ", "  ", "\n", "\r\n", "\t", "\v", "\f", "\x85", "\u00a0", "\u2003", "\u2028", "\u3000")
    ids = {*store_contents(memories, *(f"Ada{blank}likes the green tea" for blank in blanks))}
    (hit,) = _hits(memories, "green tea")
    assert {hit.id, *hit.near_duplicates} == ids
