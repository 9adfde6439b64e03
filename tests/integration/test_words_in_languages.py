"""In a namespace with memories in several languages, each word of a query counts once."""

from uuid import UUID

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from tests.fakes import FakeEmbedder
from tests.integration.test_spellings import OTHER_LANGUAGES
from tests.memories import store_contents
from tests.searching import candidates

FILLERS = ("tea at noon", "coffee in the morning")


def _share(store: MemoryStore, query: str, content: str) -> float:
    """Return the share of the query's words in the content, in a search by words and by meaning."""
    (share,) = (
        row.words_share
        for row in candidates(store, query, FakeEmbedder().embed_query(query)).rows
        if (memory := store.fetch(UUID(row.id))) and memory.content == content
    )
    return share or 0.0


@pytest.mark.parametrize(("query", "content"), [
    ("Stefan Kruger", "Stefan Kruger repairs our roof"),
    ("When is Mia's dentist appointment?", "Mia has her dentist appointments on Tuesdays"),
    ("shared buffers", "set shared_buffers to 4GB"),
    ("memory leak fix", "the memory leak was fixed by closing the pool"),
    ("INC-4821 status", "the status of INC-4821 is open"),
    ("how much flour for the pancakes", "Pancakes need 250 g of flour"),
    ("naïve café", "a naive cafe owner"),
])  # fmt: skip
def test_memories_in_other_languages_do_not_lower_the_share_of_an_english_memory(
    store: MemoryStore, query: str, content: str
) -> None:
    store_contents(store, content, *FILLERS, title="untold")
    alone = _share(store, query, content)
    for others in (OTHER_LANGUAGES[:1], OTHER_LANGUAGES[1:]):
        store_contents(store, *others, title="untold")
        assert _share(store, query, content) >= alone - 0.05


@pytest.mark.parametrize(("query", "content"), [
    ("Wann kommt der Klempner?", OTHER_LANGUAGES[0]),
    ("plombiers vendredi", OTHER_LANGUAGES[1]),
    ("fontaneros viernes", OTHER_LANGUAGES[2]),
])  # fmt: skip
def test_a_word_has_its_whole_share_in_the_language_of_the_memory(store: MemoryStore, query: str, content: str) -> None:
    store_contents(store, *FILLERS, *OTHER_LANGUAGES, title="untold")
    assert _share(store, query, content) > 0.9


def test_a_query_of_many_words_counts_words_and_not_their_variants(store: MemoryStore) -> None:
    words = " ".join(f"{letter}amps running {letter}ollings" for letter in "bcdfghklmnprst")
    store_contents(store, words, *FILLERS, title="untold")
    alone = _share(store, f"where are {words}", words)
    store_contents(store, *OTHER_LANGUAGES, title="untold")
    assert _share(store, f"where are {words}", words) >= alone - 0.05


@pytest.mark.parametrize("others", [(), OTHER_LANGUAGES], ids=["english", "several languages"])
@pytest.mark.parametrize("query", ["to be or not to be", "who are you", "it is what it is"])
def test_a_query_of_stop_words_has_no_share_among_english_memories(
    store: MemoryStore, query: str, others: tuple[str, ...]
) -> None:
    store_contents(store, f"{query}: a quote", *FILLERS, *others, title="untold")
    found = candidates(store, query, FakeEmbedder().embed_query(query))
    assert {row.words_share for row in found.rows} == {None}
