"""Candidates from PostgreSQL: their neighbours, their pairwise cosines, and their scores, compared with formulas."""

import math
from collections.abc import Collection, Mapping
from datetime import timedelta
from uuid import UUID

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.candidates import Candidate, RankedCandidate
from mnemosyne.domain.memory import Memory
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery
from mnemosyne.domain.time.window import TimeWindow
from mnemosyne.ids import new_id
from tests.fakes import NOW, FakeEmbedder, store_of
from tests.memories import rate, store_content, store_contents
from tests.searching import candidates, find

QUESTION = "green tea with lemon"
VECTOR = FakeEmbedder().embed_query("tea")
CONTENTS = [
    "green tea", "tea with lemon and honey", "lemon cake", "green cars drive fast", "nothing of the kind",
    "tea tea tea", "she drinks green tea with lemon on Sundays", "a very long story about a house and its garden",
]  # fmt: skip
HALF_PRECISION = 2e-3
"""Tolerance of scores: vectors are stored with eleven bits of mantissa, so both ends of a normalised list may be
inexact."""

WORDS = """
SELECT m.content, w.lexeme, cardinality(w.positions) AS n
FROM memories m CROSS JOIN unnest(words_of(searched_text(m.title, m.tags, m.content))) AS w WHERE m.namespace = 'ns'
"""
ASKED = "SELECT unnest(tsvector_to_array(words_of(:query))) AS word"


def bm25(texts: Mapping[str, Mapping[str, int]], query_words: Collection[str]) -> dict[str, float]:
    """Return the BM25 score of each text for the words of a query. `texts` has the frequency of each word in each text.

    k1 is 1.2, and b is 0.6 m / (m + 40), where m is the mean length of the texts. The length of a text is the number of
    its different words, or four times m if this is less. The weight of a word is the square root of its inverse
    document frequency. For a word that is in no text, the number of texts is taken as one half. Source: Robertson,
    Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond".
    """
    mean_length = max(1.0, sum(map(len, texts.values())) / len(texts))
    b = 0.6 * mean_length / (mean_length + 40)
    counts = {word: sum(word in words for words in texts.values()) for word in query_words}
    weights = {word: math.sqrt(math.log(1 + len(texts) / (count or 0.5))) for word, count in counts.items()}
    return {
        text: sum(weights[word] * 2.2 * words[word] / (words[word] + 1.2) for word in query_words if word in words)
        * (2.2 / (1 + 1.2 * (1 - b + b * min(4.0, len(words) / mean_length))))
        for text, words in texts.items()
    }


def _words_of_each(owner: Connection) -> dict[str, dict[str, int]]:
    texts: dict[str, dict[str, int]] = {}
    for row in owner.run(WORDS):
        texts.setdefault(row["content"], {})[row["lexeme"]] = row["n"]
    return texts


@pytest.fixture
def stored_ids(store: MemoryStore) -> dict[str, UUID]:
    """The ids of the memories, by content. Some of the memories have been rated and read."""
    ids = dict(zip(CONTENTS, store_contents(store, *CONTENTS), strict=True))
    for content, rating in (("lemon cake", 1), ("lemon cake", 1), ("green tea", -1), ("tea tea tea", 0)):
        rate(store, ids[content], rating)
    for _ in range(30):
        store.fetch(ids["green cars drive fast"])
    return ids


def test_the_scores_of_candidates_equal_cosine_and_bm25_computed_in_python(
    store: MemoryStore, owner: Connection, stored_ids: dict[str, UUID]
) -> None:
    embedder = FakeEmbedder()
    vector = embedder.embed_query(QUESTION)
    cosines = {
        cosine: float(document_vector @ vector)
        for cosine, document_vector in zip(CONTENTS, embedder.embed_documents(CONTENTS), strict=True)
    }
    words = bm25(_words_of_each(owner), [row["word"] for row in owner.run(ASKED, query=QUESTION)])
    found = candidates(store, QUESTION, vector, limit=100)
    contents = {str(memory_id): content for content, memory_id in stored_ids.items()}
    assert {contents[row.id]: row.vector_score for row in found.rows} == pytest.approx(cosines, abs=HALF_PRECISION)
    assert {contents[row.id]: row.lexical_score for row in found.rows} == pytest.approx(words, abs=HALF_PRECISION)


@pytest.mark.parametrize(
    ("sizes", "b"), [((2, 8), 0.067), ((200, 800), 0.556)], ids=["short memories", "long memories"]
)
def test_the_length_of_a_memory_counts_less_among_short_memories(
    store: MemoryStore, sizes: tuple[int, int], b: float
) -> None:
    texts = [" ".join(["tea", *(f"{size}x{number}" for number in range(size - 1))]) for size in sizes]
    store_contents(store, *texts)
    scores = sorted(row.lexical_score or 0 for row in candidates(store, "tea", VECTOR).rows)
    shortest, longest = (1 + 1.2 * (1 - b + b * length) for length in (0.4, 1.6))  # of the mean length
    assert scores[0] / scores[1] == pytest.approx(shortest / longest, abs=0.01)


CHAT = [
    "Ada: Do you still drink coffee?", "Bo: No, green tea now.", "Ada: With lemon?", "Bo: Of course.",
    "Ada: My garden is full of weeds.", "Bo: Rent a goat.", "Cy: Green cars drive fast.", "nobody said lemon",
]  # fmt: skip
SESSIONS = {"morning": CHAT[:4], "evening": CHAT[4:6], "alone": CHAT[6:7]}


@pytest.fixture
def chat(store: MemoryStore) -> MemoryStore:
    """The store with three conversations, ingested last turn first."""
    session_of = {turn: name for name, turns in SESSIONS.items() for turn in turns}
    for n, content in reversed([*enumerate(CHAT)]):
        store_content(store, content, timestamp=NOW + timedelta(minutes=n), session=session_of.get(content))
    return store


def test_candidates_come_with_their_neighbours_in_the_session(chat: MemoryStore) -> None:
    found = candidates(chat, "Which tea does Bo drink?", FakeEmbedder().embed_query("Which tea does Bo drink?"))
    minute = [(row.timestamp - found.rows[0].timestamp) // 60_000_000 for row in found.rows]
    distances = {(minute[row] - minute[head], place) for head, place, row in found.neighbours}
    assert distances == {(n, n) for n in (-2, -1, 1, 2)}
    heads = {found.rows[head].session for head, _, _ in found.neighbours}
    assert heads == {row.session for row in found.rows if row.session and row.speaker != "Cy"}


def test_a_neighbour_outside_the_filters_adds_to_scores_and_is_not_a_candidate(chat: MemoryStore) -> None:
    filters = Filters(after=NOW + timedelta(minutes=2))
    outside = [row for row in candidates(chat, "tea", VECTOR, filters=filters).rows if not row.eligible]
    assert outside and all(row.vector_score is not None and row.lexical_score is not None for row in outside)
    ranked = find(chat, SearchQuery(query="tea", filters=filters), VECTOR)
    assert {hit.content for hit in ranked.hits} <= set(CHAT[2:])


def test_the_cosine_of_two_memories_is_the_cosine_of_their_vectors(
    store: MemoryStore, stored_ids: dict[str, UUID]
) -> None:
    vectors = FakeEmbedder().embed_documents(CONTENTS)
    cosines = store.pairwise_cosines([str(stored_ids[content]) for content in CONTENTS] + [str(new_id())])
    expected = [[float(a @ b) for b in vectors] for a in vectors]
    for row, expected_row in zip(cosines[:-1], expected, strict=True):
        assert row[:-1] == pytest.approx(expected_row, abs=HALF_PRECISION) and row[-1] is None


def test_an_explained_hit_lists_the_contributions_of_neighbours_time_and_speaker(
    store: MemoryStore,
) -> None:
    question = "What did Ada say yesterday about tea?"
    store_content(store, "Which tea?", session="s", timestamp=NOW)
    store_content(store, "Ada: the green one", session="s", timestamp=NOW + timedelta(seconds=1))
    store_content(store, "Bob: rain", session="other")
    store_content(store, "Ada: snow")
    preferred = (TimeWindow(after=NOW, before=NOW + timedelta(hours=1)),)
    query = SearchQuery(query=question, mode=SearchMode.HYBRID, preferred=preferred, explain=True)
    why = {hit.content: hit.why for hit in find(store, query, FakeEmbedder().embed_query(question)).hits}
    which_tea, green, rain = (why[content] for content in ("Which tea?", "Ada: the green one", "Bob: rain"))
    assert which_tea and green and rain
    assert which_tea.matched_words == ("tea",) and (which_tea.lexical_score or 0) > 0
    assert (green.neighbours or 0) > 0 and (green.speaker, green.time) == (0.2, 0.2)
    assert (rain.matched_words, rain.neighbours, rain.speaker, rain.lexical_score) == ((), 0, 0, 0)


@pytest.mark.parametrize("ratings", [(), (1, 0, 1), (-1,) * 30], ids=str)
def test_quality_is_the_mean_rating_with_two_neutral_votes(store: MemoryStore, ratings: tuple[int, ...]) -> None:
    memory_id = store_content(store, "rated")
    for rating in ratings:
        rate(store, memory_id, rating)
    memory = store.fetch(memory_id)
    assert isinstance(memory, Memory)
    assert memory.quality == pytest.approx((1 + sum((rating + 1) / 2 for rating in ratings)) / (2 + len(ratings)))


def test_hits_keep_the_given_order_and_leave_out_deleted_memories_and_other_namespaces(
    store: MemoryStore, stored_ids: dict[str, UUID]
) -> None:
    ids = stored_ids | {"deleted later": store_content(store, "deleted later")}
    ids["somebody else's"] = store_content(store_of(store, "other"), "somebody else's")
    store.delete(ids["deleted later"])
    expected_contents = ["tea tea tea", "somebody else's", "deleted later", "lemon cake", "green tea"]
    ranked = [RankedCandidate(_row(str(ids[content])), 0.5) for content in expected_contents]
    assert [hit.content for hit in store.read_hits(SearchQuery(query=None), ranked)] == [
        "tea tea tea",
        "lemon cake",
        "green tea",
    ]


@pytest.mark.parametrize("mode", [SearchMode.SEMANTIC, SearchMode.EXACT])
def test_a_list_without_context_has_no_neighbours(
    store: MemoryStore, stored_ids: dict[str, UUID], mode: SearchMode
) -> None:
    found = candidates(store, "tea", VECTOR if mode is SearchMode.SEMANTIC else None, mode=mode)
    assert found.listed == len(found.rows) > 0
    assert found.neighbours == []


def _row(memory_id: str) -> Candidate:
    return Candidate(memory_id, 0, None, 0.5, None, None, None, None, eligible=True)
