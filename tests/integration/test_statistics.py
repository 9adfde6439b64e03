"""The cost of memory_stats does not depend on the number of memories: it reads only open requests and new memories."""

import pytest

from mnemosyne.adapters.database import memories_sql
from mnemosyne.adapters.database.connections import Connection

pytestmark = pytest.mark.own_database

ROWS = 20_000


def test_counting_queued_requests_does_not_read_stored_requests(owner: Connection) -> None:
    owner.run(
        """
        INSERT INTO ingest_requests (namespace, request_id, state)
        SELECT 'ns', gen_random_uuid(), CASE WHEN n % 1000 = 0 THEN 'queued' ELSE 'stored' END
        FROM generate_series(1, CAST(:rows AS integer)) AS n
        """,
        rows=ROWS,
    )
    owner.script("VACUUM ANALYZE ingest_requests")
    assert owner.one(memories_sql.STATS, namespace="ns")["pending"] == ROWS // 1000
    plan = "\n".join(row[0] for row in owner.run(f"EXPLAIN {memories_sql.STATS}", namespace="ns"))
    assert "using ingest_requests_open" in plan and "Seq Scan on ingest_requests" not in plan, plan
