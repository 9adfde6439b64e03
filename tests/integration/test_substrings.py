"""Search mode `exact`: its results, and the rows that it reads.

The namespace has more memories than such a search compares without an index.
"""

import random
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery
from tests.fakes import NOW, FakeEmbedder, memories_in
from tests.searching import count_rows_read, find, insert

NEWEST = 1000
"""Number of memories that a search compares without the index."""
OLD = (
    "The Zeppelin LZ-127 flew in 1928",
    "ΟΔΥΣΣΕΥΣ went home",
    "ο δρόμος της πόλης",
    "東京で寿司を食べた",
    "100% sure_thing, back\\slash",
    "Straße, İstanbul, ÉTÉ",
    "ж",
    "ab",
    "a" * 300 + "b",
)
CONTAINING = """
SELECT content FROM memories WHERE namespace = :namespace
    AND position(replace(lower(CAST(:text AS text)), 'ς', 'σ') IN replace(lower(content), 'ς', 'σ')) > 0
ORDER BY "timestamp" DESC, id DESC LIMIT 10
"""


@pytest.fixture(scope="module")
def filled(cluster: postgres.EmbeddedPostgres, filled_database: str) -> Iterator[MemoryStore]:
    """A store with old memories and 1,100 newer ones, which these tests do not change. It has no index of words."""
    vector = FakeEmbedder().embed_query("tea")
    old = [{"content": content, "seconds": -777_600, "tags": ["old"], "vector": vector} for content in OLD]
    cups = (f"tea number {n} of many cups" for n in range(NEWEST + 100))
    newer = [{"content": content, "seconds": 60 * n, "vector": vector} for n, content in enumerate(cups)]
    with closing(connection_factory(cluster.url(postgres.OWNER, filled_database))()) as owner:
        owner.script("ALTER TABLE memories DISABLE TRIGGER collect_words")
        insert(owner, "ns", [*old, *newer])
    with closing(Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, filled_database)), 2)) as pool:
        yield memories_in(pool)


@pytest.fixture
def database(filled_database: str) -> str:
    """The database of the fixture `owner`."""
    return filled_database


def _search_exact(store: MemoryStore, text: str, **fields: object) -> list[str]:
    query = SearchQuery(query=text, mode=SearchMode.EXACT, **fields)  # type: ignore[arg-type]
    return [hit.content for hit in find(store, query, None).hits]


@pytest.mark.parametrize("text", ["οδυσσεύς", "οδυσσευς", "Οδυσσευσ", "ΔΡΌΜΟΣ ΤΗΣ", "ΌΜΟΣ", "δρόμοσ", "ΗΣ", "σ"])
def test_both_lower_case_letters_of_a_greek_sigma_are_equal(filled: MemoryStore, text: str) -> None:
    expected = [content for content in OLD if text.casefold() in content.casefold()]
    assert set(_search_exact(filled, text)) == set(expected)


def test_a_memory_that_contains_the_text_is_found_whatever_its_age_script_and_case(
    filled: MemoryStore, owner: Connection
) -> None:
    chance = random.Random(7)
    for content in OLD:
        for _ in range(12):
            start, end = sorted(chance.sample(range(len(content) + 1), 2))
            text = chance.choice((str, str.upper, str.lower))(content[start:end])
            if text.strip():
                expected = [row[0] for row in owner.run(CONTAINING, namespace="ns", text=text)]
                assert _search_exact(filled, text) == expected, text


def test_the_newest_memories_come_first_and_filters_apply_to_old_memories(filled: MemoryStore) -> None:
    assert _search_exact(filled, "tea number 7 ") == ["tea number 7 of many cups"]
    newest = ["tea number 1099 of many cups", "tea number 1098 of many cups"]
    assert _search_exact(filled, "number 10", limit=2) == newest
    assert _search_exact(filled, "zeppelin", filters=Filters(tags=("old",))) == [OLD[0]]
    assert _search_exact(filled, "zeppelin", filters=Filters(tags=("new",))) == []


def test_a_search_of_an_earlier_time_has_the_newest_memories_of_that_time(
    filled: MemoryStore, owner: Connection
) -> None:
    then = owner.one("SELECT clock_timestamp() AS now")["now"]
    move = "UPDATE memories SET timestamp = :at WHERE content = 'tea number 3 of many cups'"
    owner.run(move, at=NOW + timedelta(days=9))
    try:
        newest = [f"tea number {n} of many cups" for n in (1099, 1098, 1097)]
        earlier = Filters(as_of=then)
        assert _search_exact(filled, "tea number", limit=3, filters=earlier) == newest
        assert _search_exact(filled, "tea number 3 of", limit=1, filters=earlier) == ["tea number 3 of many cups"]
        assert _search_exact(filled, "number 31", limit=1, filters=earlier) == ["tea number 319 of many cups"]
        assert _search_exact(filled, "tea number", limit=2) == ["tea number 3 of many cups", newest[0]]
    finally:
        owner.run(move, at=NOW + timedelta(minutes=3))


@pytest.mark.parametrize("text", ["a zeppelin nobody saw", "teapot", "many zebras", "寿司店"])
def test_a_search_for_an_absent_text_reads_at_most_the_newest_thousand_memories(
    filled: MemoryStore, owner: Connection, text: str
) -> None:
    assert _search_exact(filled, text) == []
    assert count_rows_read(owner, SearchQuery(query=text, mode=SearchMode.EXACT), None) <= NEWEST
