"""In a hybrid search, the score of a memory includes its neighbours in the session."""

import pytest

from mnemosyne.adapters.database import memories_sql, rows
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.service import ingest
from tests.fakes import FAKE_SPACE, FakeEmbedder, request
from tests.searching import VECTOR_INDEX

pytestmark = [pytest.mark.own_database, pytest.mark.slow]

SESSIONS, TURNS = 100, 40
QUESTION = "who watered the ferns in the greenhouse?"
ROWS_READ = """
SELECT CAST(seq_tup_read + idx_tup_fetch AS integer) AS n FROM pg_stat_xact_user_tables WHERE relname = 'memories'
"""


def _rows_read(owner: Connection) -> int:
    search_query = SearchQuery(query=QUESTION, mode=SearchMode.HYBRID)
    with owner.transaction():
        owner.run(
            memories_sql.FIND_CANDIDATES,
            names="{}",
            namespace="ns",
            mode=search_query.mode.value,
            query=search_query.query,
            vector=rows.vector_text(FakeEmbedder().embed_query(QUESTION)),
            model=FAKE_SPACE.model,
            filters=rows.filters_json(search_query.filters),
            limit=search_query.limit,
            candidates=100,
        )
        read: int = owner.one(ROWS_READ)["n"]
    return read


def test_no_search_reads_all_memories_whatever_the_planner_s_statistics(store: MemoryStore, owner: Connection) -> None:
    owner.script("DROP INDEX memories_embedding")
    for session in range(SESSIONS):
        turns = (
            request(f"turn {turn} of {session}: the ferns of house {turn * session % 97}", session=f"s{session}")
            for turn in range(TURNS)
        )
        ingest.store(IngestMessage("ns", tuple(turns)), memories=store, embedder=FakeEmbedder())
    owner.script(VECTOR_INDEX)
    before = _rows_read(owner)
    owner.script("ANALYZE")
    owner.script("DISCARD PLANS")
    assert _rows_read(owner) < before + SESSIONS * TURNS / 2
