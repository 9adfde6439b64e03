"""Search among thousands of memories on PostgreSQL: recall under filters, query plans and limits."""

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.domain.metadata_filter import MetadataCondition, Operator, condition
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery, TagMatch
from mnemosyne.service.search import SearchResult
from tests.fakes import NOW, FakeEmbedder, memories_in
from tests.searching import VECTOR_INDEX, find, insert
from tests.waiting import wait_until

ROWS = int(os.environ.get("HAYSTACK_ROWS", "2400"))
"""With fewer than 12,000, a search for 100 memories without a filter compares all vectors."""
DIMENSION = FakeEmbedder.dimension
EXPECTED_INDEXES = {"memories_embedding", "memory_words_keys", "memories_tags", "memories_newest", "memories_metadata"}
QUERIES = 25


class Haystack:
    """Memories in clusters, with tags of known selectivity, and the vectors of the memories."""

    def __init__(self, cluster: postgres.EmbeddedPostgres, database: str) -> None:
        generator = np.random.default_rng(7)
        centres = generator.normal(size=(150, DIMENSION))
        noisy = centres[generator.integers(150, size=ROWS)] + 0.6 * generator.normal(size=(ROWS, DIMENSION))
        self.vectors = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float16).astype(np.float64)
        self.vectors /= np.linalg.norm(self.vectors, axis=1, keepdims=True)
        picks = generator.integers(QUERIES * 10, size=QUERIES)
        queries = centres[picks % 150] + 0.8 * generator.normal(size=(QUERIES, DIMENSION))
        self.queries = (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)
        self.tags = {
            "permille": generator.random(ROWS) < 0.001,
            "percent": generator.random(ROWS) < 0.01,
            "tenth": generator.random(ROWS) < 0.1,
            "frequent": generator.random(ROWS) < 0.9,
        }
        self.store = memories_in(Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, database)), 4))
        self._owner = connection_factory(cluster.url(postgres.OWNER, database))()
        self._fill(self._owner)

    def indexes_used(self) -> set[str]:
        """Wait until PostgreSQL has counted the expected index scans, and return the scanned indexes."""
        used: set[str] = set()
        # Make the idle connection report its statistics now. Otherwise it would report them up to 10 s later.
        with self.store.database.pool.connection() as connection:
            connection.run("SELECT pg_stat_force_next_flush()")

        def counted() -> bool:
            self._owner.script("SELECT pg_stat_clear_snapshot()")
            rows = self._owner.run("SELECT indexrelname FROM pg_stat_user_indexes WHERE idx_scan > 0")
            used.update(row[0] for row in rows)
            return used >= EXPECTED_INDEXES

        wait_until(counted, "scans are counted")
        return used

    def _fill(self, owner: Connection) -> None:
        owner.script("SET statement_timeout = 0")
        owner.script("DROP INDEX memories_embedding")
        memories = (
            {
                "id": str(UUID(int=n)),
                "content": f"memory {n}",
                "seconds": n,
                "tags": [name for name, mask in self.tags.items() if mask[n]],
                "metadata": {"project": {"number": n % 200}},
                "vector": vector,
            }
            for n, vector in enumerate(self.vectors.astype(np.float32))
        )
        insert(owner, "ns", memories)
        owner.script(VECTOR_INDEX.replace("200", "64"))  # built in a third of the time, with a lower recall
        owner.script("ANALYZE memories")

    def search(self, query: int, filters: Filters, limit: int = 10) -> SearchResult:
        search_query = SearchQuery(query="x", mode=SearchMode.SEMANTIC, filters=filters, limit=limit)
        return find(self.store, search_query, self.queries[query])

    def recall(self, filters: Filters, mask: Any, limit: int = 10) -> float:
        """Return the recall over all queries, compared with a brute-force search of the filtered memories."""
        allowed = np.flatnonzero(mask)
        found_count = expected_count = 0
        for number, query in enumerate(self.queries):
            scores = self.vectors[allowed] @ query.astype(np.float64)
            best = np.sort(scores)[::-1][:limit]
            hits = [int(hit.id) for hit in self.search(number, filters, limit).hits]
            assert mask[hits].all()
            assert len(set(hits)) == len(hits) == len(best)
            # Vectors are stored with half precision, so several memories can have the same distance. A result that is
            # as near as the last expected one is therefore also correct.
            found_count += int((self.vectors[hits] @ query.astype(np.float64) >= best[-1] - 1e-3).sum())
            expected_count += len(best)
        return found_count / expected_count


@pytest.fixture(scope="module")
def haystack(cluster: postgres.EmbeddedPostgres, filled_database: str) -> Iterator[Haystack]:
    new_haystack = Haystack(cluster, filled_database)
    yield new_haystack
    new_haystack.store.database.pool.close()
    new_haystack._owner.close()


@pytest.mark.parametrize("tag", ["permille", "tenth", "frequent"])
def test_a_search_with_a_tag_filter_finds_the_nearest_memories(haystack: Haystack, tag: str) -> None:
    assert haystack.recall(Filters(tags=(tag,)), haystack.tags[tag]) >= 0.99


@pytest.mark.parametrize("share", [0.01, 0.9])
def test_a_search_with_a_time_filter_finds_the_nearest_memories(haystack: Haystack, share: float) -> None:
    after = NOW + timedelta(seconds=ROWS * (1 - share))
    mask = np.arange(ROWS) >= ROWS * (1 - share)
    assert haystack.recall(Filters(after=after), mask) >= 0.99


@pytest.mark.parametrize(
    ("condition", "passing"),
    [
        (condition("project.number", Operator.EQUAL, ["7"]), lambda number: number == 7),
        (condition("project.number", Operator.LESS, ["180"]), lambda number: number < 180),
    ],
    ids=["equal", "range"],
)
def test_a_search_with_a_metadata_filter_finds_the_nearest_memories(
    haystack: Haystack, condition: MetadataCondition, passing: Callable[[Any], Any]
) -> None:
    assert haystack.recall(Filters(metadata=(condition,)), passing(np.arange(ROWS) % 200)) >= 0.99


def test_a_search_with_all_filters_finds_the_nearest_memories(haystack: Haystack) -> None:
    numbers = np.arange(ROWS)
    mask = haystack.tags["frequent"] & haystack.tags["tenth"] & (numbers >= ROWS / 4) & (numbers < ROWS * 3 / 4)
    filters = Filters(
        after=NOW + timedelta(seconds=ROWS / 4),
        before=NOW + timedelta(seconds=ROWS * 3 / 4),
        tags=("frequent", "tenth"),
        tag_match=TagMatch.ALL,
    )
    assert haystack.recall(filters, mask) >= 0.99


def test_a_search_without_a_filter_finds_the_nearest_memories(haystack: Haystack) -> None:
    assert haystack.recall(Filters(), np.ones(ROWS, dtype=bool)) >= 0.99


def test_a_search_with_a_limit_of_100_finds_the_nearest_memories(haystack: Haystack) -> None:
    assert haystack.recall(Filters(), np.ones(ROWS, dtype=bool), limit=100) >= 0.99


def test_the_strategy_fits_the_size_of_the_filtered_set(haystack: Haystack) -> None:
    wide = Filters(after=NOW + timedelta(seconds=ROWS / 10))
    strategies = [haystack.search(0, filters).strategy for filters in (Filters(), wide, Filters(tags=("percent",)))]
    assert strategies == ["hnsw", "hnsw", "exact"]


def test_a_filter_that_no_memory_passes_gives_no_results(haystack: Haystack) -> None:
    assert haystack.search(0, Filters(tags=("none",))).hits == []


def _words(haystack: Haystack, query: str, **fields: Any) -> SearchResult:
    search_query = SearchQuery(query=query, mode=SearchMode.HYBRID, **fields)
    return find(haystack.store, search_query, None)


def test_a_word_in_every_memory_does_not_add_results_to_a_rarer_word(haystack: Haystack) -> None:
    contents = _words(haystack, "the memory 777", limit=5)
    assert [hit.content for hit in contents.hits] == ["memory 777"]


def test_if_all_words_are_in_every_memory_the_newest_memories_are_found(haystack: Haystack) -> None:
    contents = _words(haystack, "memory", limit=3)
    # Memories with tags are not found first: they are longer, so each of their words counts less.
    tagged = np.logical_or.reduce(list(haystack.tags.values()))
    newest = [n for n in range(ROWS - 1, 0, -1) if not tagged[n]][:3]
    assert [hit.content for hit in contents.hits] == [f"memory {n}" for n in newest]


def test_the_number_of_scored_rows_is_bounded_even_if_the_estimated_frequencies_are_wrong(haystack: Haystack) -> None:
    ((scored,),) = haystack._owner.run(
        """
        SELECT count(*) FROM match_memories(
            'ns', parse_filters('{"include_superseded": true}'), ARRAY[term_key('ns', 'memori')],
            terms_vector(ARRAY[term_key('ns', 'memori')], ARRAY[1.0]), 2, 1000, 50)
        """
    )
    assert scored == 50


def test_each_index_is_used_under_row_level_security(haystack: Haystack) -> None:
    haystack.search(0, Filters())
    _words(haystack, "777")
    haystack.store.list(Filters(tags=("permille",)), 10)
    haystack.store.list(Filters(metadata=(condition("project.number", Operator.EQUAL, ["7"]),)), 10)
    haystack.store.list(Filters(), 10)
    used = haystack.indexes_used()
    assert used >= EXPECTED_INDEXES
