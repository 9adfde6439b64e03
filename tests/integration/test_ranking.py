"""The database's arithmetic against the oracle's: quality, fusion and score, from the same raw scores."""

from datetime import timedelta
from uuid import UUID

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.domain.memory import Memory
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery
from mnemosyne.domain.time.window import TimeWindow
from mnemosyne.ids import new_id
from mnemosyne.service import ingest
from tests import oracle
from tests.fakes import NOW, FakeEmbedder, request

QUESTION = "green tea with lemon"
CONTENTS = [
    "green tea", "tea with lemon and honey", "lemon cake", "green cars drive fast", "nothing of the kind",
    "tea tea tea", "she drinks green tea with lemon on Sundays", "a very long story about a house and its garden",
]  # fmt: skip
HALF_PRECISION = 2e-3
"""Vectors are stored with eleven bits of mantissa, and both ends of a normalised list may be off by that."""

WORDS = """
SELECT m.content, w.lexeme, cardinality(w.positions) AS n
FROM memories m CROSS JOIN unnest(words_of(searched_text(m.title, m.tags, m.content))) AS w WHERE m.namespace = 'ns'
"""
ASKED = "SELECT unnest(tsvector_to_array(words_of(:query))) AS word"


def _words_of_each(owner: Connection) -> dict[str, dict[str, int]]:
    texts: dict[str, dict[str, int]] = {}
    for row in owner.run(WORDS):
        texts.setdefault(row["content"], {})[row["lexeme"]] = row["n"]
    return texts


@pytest.fixture
def stored(store: PostgresMemories) -> dict[str, UUID]:
    """The memories by their contents; some are rated and read."""
    message = IngestMessage("ns", tuple(request(content) for content in CONTENTS))
    ingest.store(message, memories=store, embedder=FakeEmbedder())
    hits = store.search("ns", SearchQuery(query=None, limit=100, filters=Filters()), None, model="", lexical_weight=0)
    ids = {hit.content: hit.id for hit in hits.hits}
    for content, rating in (("lemon cake", 1), ("lemon cake", 1), ("green tea", -1), ("tea tea tea", 0)):
        store.rate("ns", ids[content], rating, None)
    for _ in range(30):
        store.fetch("ns", ids["green cars drive fast"])
    return ids


@pytest.mark.parametrize("quality_weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("lexical_weight", [0.0, 0.3, 0.5, 1.0])
def test_fusion_and_score_are_the_oracle_s(
    store: PostgresMemories, owner: Connection, stored: dict[str, UUID], lexical_weight: float, quality_weight: float
) -> None:
    embedder = FakeEmbedder()
    vector = embedder.embed_query(QUESTION)
    near = {one: float(made @ vector) for one, made in zip(CONTENTS, embedder.embed_documents(CONTENTS), strict=True)}
    words = oracle.lexical(_words_of_each(owner), [row["word"] for row in owner.run(ASKED, query=QUESTION)])
    query = SearchQuery(query=QUESTION, mode=SearchMode.HYBRID, limit=100, quality_weight=quality_weight)
    found = store.search("ns", query, vector, model=embedder.model, lexical_weight=lexical_weight)
    expected = oracle.fused(near, words, lexical_weight)
    assert {hit.content: hit.relevance for hit in found.hits} == pytest.approx(expected, abs=HALF_PRECISION)
    scores = {hit.content: oracle.score(expected[hit.content], hit.quality, quality_weight) for hit in found.hits}
    assert {hit.content: hit.score for hit in found.hits} == pytest.approx(scores, abs=HALF_PRECISION)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


CHAT = [
    "Ada: Do you still drink coffee?", "Bo: No, green tea now.", "Ada: With lemon?", "Bo: Of course.",
    "Ada: My garden is full of weeds.", "Bo: Rent a goat.", "Cy: Green cars drive fast.", "nobody said lemon",
]  # fmt: skip
SESSIONS = {"morning": CHAT[:4], "evening": CHAT[4:6], "alone": CHAT[6:7]}


def test_what_stands_around_a_memory_and_who_said_it_and_when_count_as_the_oracle_says(
    store: PostgresMemories, owner: Connection
) -> None:
    question = "Which tea does Bo drink?"
    embedder, session_of = FakeEmbedder(), {one: name for name, said in SESSIONS.items() for one in said}
    requests = [
        request(content, timestamp=NOW + timedelta(minutes=n), session=session_of.get(content))
        for n, content in enumerate(CHAT)
    ]
    ingest.store(IngestMessage("ns", tuple(reversed(requests))), memories=store, embedder=embedder)
    vector = embedder.embed_query(question)
    near = {one: float(made @ vector) for one, made in zip(CHAT, embedder.embed_documents(CHAT), strict=True)}
    words = oracle.lexical(_words_of_each(owner), [row["word"] for row in owner.run(ASKED, query=question)])
    preferred = (TimeWindow(after=NOW, before=NOW + timedelta(minutes=2)), TimeWindow(after=NOW + timedelta(minutes=7)))
    query = SearchQuery(query=question, mode=SearchMode.HYBRID, limit=100, preferred=preferred)
    found = store.search("ns", query, vector, model=embedder.model, lexical_weight=0.5)
    related = oracle.relevance(
        oracle.fused(near, words, 0.5),
        question=question,
        sessions=SESSIONS.values(),
        preferred=[*CHAT[:2], CHAT[7]],
    )
    vectors = dict(zip(CHAT, embedder.embed_documents(CHAT), strict=True))
    expected = oracle.diversified(related, vectors, SESSIONS.values())
    assert {hit.content: hit.relevance for hit in found.hits} == pytest.approx(expected, abs=HALF_PRECISION)
    assert max(hit.relevance or 0 for hit in found.hits) == 1.0


def test_what_stands_beside_a_find_is_found_unless_the_filters_leave_it_out(store: PostgresMemories) -> None:
    question, answer = "which tea do you drink in the garden", "none of those, rooibos"
    others = [f"tea {n}" for n in range(150)]  # which leave no room among the candidates
    stored = [
        request(f"Ada: {question}", timestamp=NOW, session="s"),
        request(answer, timestamp=NOW + timedelta(seconds=1), session="s", tags=["answer"]),
        *(request(one) for one in others),
    ]
    for part in (stored[:100], stored[100:]):
        ingest.store(IngestMessage("ns", tuple(part)), memories=store, embedder=FakeEmbedder())

    def found(filters: Filters) -> list[str]:
        query = SearchQuery(query=question, mode=SearchMode.HYBRID, filters=filters, limit=5)
        vector = FakeEmbedder().embed_query(question)
        return [hit.content for hit in store.search("ns", query, vector, model="fake", lexical_weight=0.5).hits]

    assert answer in found(Filters())
    assert answer not in found(Filters(before=NOW + timedelta(seconds=1)))


def test_why_something_was_found_names_what_its_neighbours_its_time_and_its_speaker_added(
    store: PostgresMemories,
) -> None:
    question = "What did Ada say yesterday about tea?"
    stored = [
        request("Which tea?", session="s", timestamp=NOW),
        request("Ada: the green one", session="s", timestamp=NOW + timedelta(seconds=1)),
        request("Bob: rain"),
    ]
    ingest.store(IngestMessage("ns", tuple(stored)), memories=store, embedder=FakeEmbedder())
    preferred = (TimeWindow(after=NOW, before=NOW + timedelta(hours=1)),)
    query = SearchQuery(query=question, mode=SearchMode.HYBRID, preferred=preferred, explain=True)
    vector = FakeEmbedder().embed_query(question)
    hits = store.search("ns", query, vector, model="fake", lexical_weight=0.5).hits
    why = {hit.content: hit.why for hit in hits}
    asked, said, rain = (why[one.content] for one in stored)
    assert asked and said and rain
    assert asked.matched_words == ("tea",) and (asked.lexical_score or 0) > 0
    assert (said.neighbours or 0) > 0 and (said.speaker, said.time) == (0.2, 0.2)
    assert (rain.matched_words, rain.neighbours, rain.speaker, rain.lexical_score) == ((), 0, 0, 0)


@pytest.mark.parametrize("ratings", [(), (1,), (-1, -1), (1, 0, 1), (1,) * 30], ids=str)
def test_quality_is_the_oracle_s(store: PostgresMemories, ratings: tuple[int, ...]) -> None:
    one = request(f"rated {new_id()}")
    ingest.store(IngestMessage("ns", (one,)), memories=store, embedder=FakeEmbedder())
    memory_id = store.statuses("ns", [one.request_id])[one.request_id].memory_id
    assert memory_id is not None
    for rating in ratings:
        store.rate("ns", memory_id, rating, None)
    memory = store.fetch("ns", memory_id)
    assert isinstance(memory, Memory)
    assert memory.quality == pytest.approx(oracle.quality(len(ratings), sum(ratings)))
