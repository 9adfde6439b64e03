"""The database's arithmetic against the oracle's: quality, fusion and score, from the same raw scores."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.domain.memory import Memory
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery
from mnemosyne.ids import new_id
from mnemosyne.service import ingest
from mnemosyne_cli.local import postgres
from tests import oracle
from tests.fakes import FakeEmbedder, request

QUESTION = "green tea with lemon"
CONTENTS = [
    "green tea", "tea with lemon and honey", "lemon cake", "green cars drive fast", "nothing of the kind",
    "tea tea tea", "she drinks green tea with lemon on Sundays", "a very long story about a house and its garden",
]  # fmt: skip
HALF_PRECISION = 2e-3
"""Vectors are stored with eleven bits of mantissa, and both ends of a normalised list may be off by that."""

WORDS = """
SELECT m.content, w.lexeme, cardinality(w.positions) AS n
FROM memories m CROSS JOIN unnest(words_of(searched_text(m.title, m.content))) AS w WHERE m.namespace = 'ns'
"""
ASKED = "SELECT unnest(tsvector_to_array(words_of(:query))) AS word"


def _words_of_each(owner: Connection) -> dict[str, dict[str, int]]:
    texts: dict[str, dict[str, int]] = {}
    for row in owner.run(WORDS):
        texts.setdefault(row["content"], {})[row["lexeme"]] = row["n"]
    return texts


@pytest.fixture
def owner(cluster: postgres.EmbeddedPostgres, database: str) -> Iterator[Connection]:
    connection = connection_factory(cluster.url(postgres.OWNER, database))()
    yield connection
    connection.close()


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


@pytest.mark.parametrize(
    ("ratings", "fetches"), [((), 0), ((1,), 0), ((-1, -1), 3), ((1, 0, 1), 10), ((1,) * 30, 120)], ids=str
)
def test_quality_is_the_oracle_s(store: PostgresMemories, ratings: tuple[int, ...], fetches: int) -> None:
    one = request(f"rated {new_id()}")
    ingest.store(IngestMessage("ns", (one,)), memories=store, embedder=FakeEmbedder())
    memory_id = store.statuses("ns", [one.request_id])[one.request_id].memory_id
    assert memory_id is not None
    for rating in ratings:
        store.rate("ns", memory_id, rating, None)
    for _ in range(fetches):
        store.fetch("ns", memory_id)
    memory = store.fetch("ns", memory_id, counted=False)
    assert isinstance(memory, Memory)
    assert memory.quality == pytest.approx(oracle.quality(len(ratings), sum(ratings), fetches))
