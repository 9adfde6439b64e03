"""In a hybrid search, the score of a memory includes its neighbours in the session."""

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.search import SearchMode, SearchQuery
from tests.fakes import FakeEmbedder
from tests.memories import store_contents
from tests.searching import VECTOR_INDEX, count_rows_read

pytestmark = [pytest.mark.own_database, pytest.mark.slow]

SESSIONS, TURNS = 100, 40
QUESTION = SearchQuery(query="who watered the ferns in the greenhouse?", mode=SearchMode.HYBRID)


def test_no_search_reads_all_memories_whatever_the_planner_s_statistics(store: MemoryStore, owner: Connection) -> None:
    owner.script("DROP INDEX memories_embedding")
    for session in range(SESSIONS):
        turns = (f"turn {turn} of {session}: the ferns of house {turn * session % 97}" for turn in range(TURNS))
        store_contents(store, *turns, session=f"s{session}")
    owner.script(VECTOR_INDEX)
    vector = FakeEmbedder().embed_query(str(QUESTION.query))
    before = count_rows_read(owner, QUESTION, vector)
    owner.script("ANALYZE")
    owner.script("DISCARD PLANS")
    assert count_rows_read(owner, QUESTION, vector) < before + SESSIONS * TURNS / 2
