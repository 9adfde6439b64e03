"""Two namespaces on one database: neither can see, change or infer memories of the other."""

import re
from typing import Any
from uuid import UUID

import pytest

from mnemosyne.adapters.database import api_keys
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import FailedRequest
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.ids import new_id
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from mnemosyne.service import ingest
from mnemosyne.service.api_keys import new_key
from tests.database_errors import permission_denied
from tests.fakes import NOW, FakeServices, request, store_of
from tests.memories import rate

SCOPES = frozenset({Scope.READ, Scope.WRITE, Scope.OPERATE})
ADA = Principal(id="ada", namespace="ada", scopes=SCOPES)
BOB = Principal(id="bob", namespace="bob", scopes=SCOPES)
SECRET = "the zeppelin leaves at dawn"
LETTER = "7001"
"""The message id of Ada's dead letter."""
TABLES = ["memories", "memory_chunks", "memory_ratings", "ingest_requests", "dead_letters", "memory_changes"]


class Two:
    """Two callers: Ada has a rated memory with chunks, a request and a dead letter; Bob has one memory."""

    def __init__(self, store: MemoryStore) -> None:
        self.services = FakeServices(store)
        ingest_request = request(SECRET + " " + "and so on. " * 60, title="Lakehurst", tags=["airship"])
        (self.ada,) = self._store("ada", ingest_request)
        self.request_id = ingest_request.request_id
        (self.bob,) = self._store("bob", request("green tea"))
        rate(store_of(store, "ada"), self.ada, 1, "useful")
        dead_letter = DeadLetter(message_id=LETTER, data=b"x", attributes={}, cause="c", dead_lettered_at=NOW)
        self.forgetting = new_id()
        nothing = Selection(ids=(new_id(),))
        token = store_of(store, "ada").preview_forgetting(nothing, 1).token
        store_of(store, "ada").begin_forgetting(self.forgetting, nothing, token, "")
        failed = FailedRequest(request_id=new_id(), error="c")
        store_of(store, "ada").give_up(dead_letter, [failed], contents={}, forgettings=1)

    def _store(self, namespace: str, *requests: Any) -> list[UUID]:
        message = IngestMessage(namespace, tuple(requests))
        result = ingest.store(message, memories=self.services.memories_of(namespace), embedder=self.services.embedder)
        return [id_ for request in requests if (id_ := result.outcomes[request.request_id].memory_id)]

    def call(self, caller: Principal, tool: str, **arguments: Any) -> Any:
        return call(by_name()[tool], arguments, caller, self.services)


@pytest.fixture
def two(store: MemoryStore) -> Two:
    return Two(store)


def _text_of(result: Any) -> str:
    return str([block.text for block in result.content]) + str(result.structured_content)


BY_ID: list[tuple[str, dict[str, Any]]] = [
    ("get_memory", {"id": "MEMORY"}),
    ("fetch", {"id": "MEMORY"}),
    ("delete_memory", {"id": "MEMORY"}),
    ("update_memory", {"id": "MEMORY", "title": "mine now"}),
    ("update_memory", {"id": "OWN", "superseded_by": "MEMORY"}),
    ("rate_memory", {"id": "MEMORY", "rating": -1}),
    ("memory_history", {"id": "MEMORY"}),
    ("delete_memory", {"ids": ["MEMORY"]}),
    ("update_memory", {"ids": ["MEMORY"], "add_tags": ["mine"]}),
    ("export_memories", {"ids": ["MEMORY"]}),
    ("redrive", {"message_id": "LETTER"}),
    ("forget_memories", {"ids": ["MEMORY"]}),
    ("forget_memories", {"forgetting_id": "FORGETTING"}),
    ("ingest_status", {"request_id": "REQUEST"}),
    ("ingest_status", {"request_ids": ["REQUEST", "MEMORY"]}),
]


def test_an_id_of_another_namespace_is_answered_like_an_unknown_id(two: Two) -> None:
    own = {"OWN": str(two.bob)}
    unknown = own | {"MEMORY": str(new_id()), "REQUEST": str(new_id()), "LETTER": "never", "FORGETTING": str(new_id())}
    other = own | {
        "MEMORY": str(two.ada), "REQUEST": str(two.request_id), "LETTER": LETTER, "FORGETTING": str(two.forgetting),
    }  # fmt: skip

    def answer(tool: str, arguments: dict[str, Any], ids: dict[str, str]) -> str:
        filled = {
            name: [ids.get(element, element) for element in value] if isinstance(value, list) else ids.get(value, value)
            for name, value in arguments.items()
        }
        text = _text_of(two.call(BOB, tool, **filled))
        for placeholder, real_id in ids.items():
            text = text.replace(real_id, placeholder)
        return re.sub("begins with [0-9a-f]+|[0-9a-f]{64}", "", text)  # digests of the ids

    for tool, arguments in BY_ID:
        assert answer(tool, arguments, other) == answer(tool, arguments, unknown), (tool, arguments)
        assert SECRET in _text_of(two.call(ADA, "get_memory", id=str(two.ada))), (tool, arguments)


def test_no_search_finds_memories_of_another_namespace(two: Two) -> None:
    for tool in ("memory_search", "retrieve_memories", "retrieve_memory", "debug_retrieve"):
        for query in (SECRET, "zeppelin", "airship", "%"):
            assert "and so on" not in _text_of(two.call(BOB, tool, query=query)), (tool, query)
        assert "and so on" in _text_of(two.call(ADA, tool, query=SECRET)), tool


WITHOUT_ID: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {"tags": ["airship"]}),
    ("memory_search", {"query": SECRET, "mode": "exact"}),
    ("memory_search", {"query": SECRET, "mode": "hybrid", "include_superseded": True, "include_debug": True}),
    ("memory_search", {"after": "2000-01-01"}),
    ("exact_match_retrieve", {"content": SECRET}),
    ("recall_by_timeframe", {"start_date": "2000-01-01"}),
    ("recall_memory", {"query": SECRET}),
    ("retrieve_with_quality_boost", {"query": SECRET}),
    ("list_memories", {}),
    ("list_memories", {"tags": ["airship"]}),
    ("memory_stats", {}),
    ("search", {"query": SECRET}),
    ("recall_for_hook", {"prompt": SECRET}),
    ("memory_timeline", {}),
    ("memory_facets", {}),
    ("list_requests", {}),
    ("list_dead_letters", {}),
    ("list_audit", {}),
    ("export_memories", {}),
    ("export_memories", {"tags": ["airship"], "format": "markdown"}),
    ("change_tag", {"tag": "airship", "delete": True}),
    ("similar_memories", {"content": SECRET}),
    ("who_am_i", {}),
]


def test_no_answer_contains_data_of_another_namespace(two: Two) -> None:
    secrets = (str(two.ada), str(two.request_id), LETTER, "Lakehurst", "airship", "and so on")
    for tool, arguments in WITHOUT_ID:
        text = _text_of(two.call(BOB, tool, **arguments))
        # Secrets in the arguments do not count, because an empty answer repeats the caller's filters.
        unknown = [secret for secret in secrets if secret not in str(arguments)]
        assert [secret for secret in unknown if secret in text] == [], (tool, arguments)


def test_a_cursor_of_another_namespace_shows_only_the_caller_s_memories(two: Two) -> None:
    two._store("ada", *(request(f"zeppelin {n}") for n in range(3)))
    cursor = two.call(ADA, "list_memories", limit=1).structured_content["next_cursor"]
    assert "zeppelin" not in _text_of(two.call(BOB, "list_memories", cursor=cursor))


def test_the_same_content_in_another_namespace_is_not_a_duplicate(two: Two) -> None:
    for namespace in ("ada", "bob"):
        message = IngestMessage(namespace, (request(SECRET),))
        result = ingest.store(message, memories=two.services.memories_of(namespace), embedder=two.services.embedder)
        assert [outcome.state for outcome in result.outcomes.values()] == ["stored"]


def test_a_query_without_a_namespace_condition_sees_only_the_session_s_namespace(two: Two, pool: Pool) -> None:
    with pool.connection() as connection, connection.transaction():
        connection.run("SELECT set_config('mnemosyne.namespace', 'bob', true)")
        for table in TABLES:
            assert connection.run_file(f"SELECT DISTINCT namespace FROM {table}") in ([], [["bob"]]), table


def test_a_statement_that_names_another_namespace_changes_nothing_there(
    two: Two, pool: Pool, owner: Connection
) -> None:
    for statement in (
        "UPDATE memories SET title = 'mine' WHERE namespace = 'ada' OR true",
        "DELETE FROM memories WHERE namespace = 'ada'",
        "UPDATE ingest_requests SET state = 'failed' WHERE namespace = 'ada'",
        "DELETE FROM dead_letters WHERE namespace = 'ada'",
    ):
        with pool.connection() as connection, connection.transaction():
            connection.run("SELECT set_config('mnemosyne.namespace', 'bob', true)")
            connection.run_file(statement)
        assert "zeppelin" in _text_of(two.call(ADA, "get_memory", id=str(two.ada))), statement
        unchanged = (
            "SELECT (SELECT count(*) FROM ingest_requests WHERE namespace = 'ada' AND state = 'stored'),"
            " (SELECT count(*) FROM dead_letters WHERE namespace = 'ada'),"
            " (SELECT count(*) FROM memories WHERE namespace = 'ada' AND title = 'Lakehurst')"
        )
        assert owner.run(unchanged) == [[1, 1, 1]], statement


def test_a_row_cannot_be_inserted_into_another_namespace(two: Two, pool: Pool) -> None:
    with (
        permission_denied("row-level security"),
        pool.connection() as connection,
        connection.transaction(),
    ):
        connection.run("SELECT set_config('mnemosyne.namespace', 'bob', true)")
        connection.script(
            "INSERT INTO ingest_requests (namespace, request_id, state) VALUES ('ada', gen_random_uuid(), 'failed')"
        )


def test_a_session_without_a_namespace_sees_no_rows(two: Two, pool: Pool) -> None:
    with pool.connection() as connection:
        for table in TABLES:
            assert connection.run_file(f"SELECT * FROM {table}") == [], table


def test_each_table_with_rows_of_namespaces_has_row_level_security(owner: Connection) -> None:
    open_tables = owner.run(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = CAST('public' AS regnamespace)"
        " AND NOT relrowsecurity ORDER BY 1"
    )
    assert open_tables == [["embedding_space"], ["schema_migrations"], ["schema_repeatables"]]


def test_functions_that_bypass_row_level_security_have_a_fixed_search_path(
    owner: Connection,
) -> None:
    definers = owner.run(
        "SELECT proname, proconfig::text FROM pg_proc"
        " WHERE prosecdef AND pronamespace = CAST('public' AS regnamespace) ORDER BY 1"
    )
    assert [row[0] for row in definers] == [
        "all_languages", "audit_page", "begin_forgetting", "change_tag", "collect_changed_words",
        "collect_metadata_keys", "collect_words", "complete_word", "conclude_dead_letter", "count_chunks",
        "count_deleted", "count_earlier_states", "count_stored", "count_updated", "delete_records",
        "differing_labels", "drop_dead_letters", "export_memories", "extend_expiry",
        "fail_dead_letter_again", "find_api_key", "find_candidates", "finish_forgetting", "forget_for",
        "forget_in_letter", "forget_requests", "forget_some", "forget_versions", "forgotten_ids",
        "forgotten_requests", "hold_on", "keep_earlier_state", "keep_held_rows", "list_forgettings",
        "list_memories", "lock_dead_letter", "mark_query_words", "mark_redriven", "memory_expiry",
        "memory_facets", "memory_languages", "memory_timeline", "neighbours", "note_created_memories",
        "note_missing_memories", "note_rated_memory", "note_removed_memories", "note_updated_memory",
        "pairwise_cosines", "preview_forgetting", "read_forgetting", "read_hits", "read_memory_as_of",
        "record_audit", "record_checked_letter", "record_versions", "refresh_statistics",
        "remove_expired_for", "standing_grant", "summarize_forgettings", "unmark_redriven",
        "usage_and_quota",
    ]  # fmt: skip
    assert all("search_path=public, pg_temp" in row[1] for row in definers)


def test_a_function_may_be_called_only_by_roles_with_a_grant(owner: Connection) -> None:
    public = owner.run(
        "SELECT proname FROM pg_proc p WHERE pronamespace = CAST('public' AS regnamespace)"
        " AND has_function_privilege('public', oid, 'EXECUTE')"
        " AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
    )
    assert public == []


def test_the_functions_can_look_up_an_api_key_and_cannot_list_or_change_keys(
    pool: Pool, cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    key, _ = new_key(name="n", namespace="ada", scopes=SCOPES, created_at=NOW, expires_at=None)
    keeper = api_keys.ApiKeyStore(connection_factory(cluster.url(postgres.OWNER, database)))
    keeper.create(key)
    read_key = api_keys.find_api_key(pool, key.id)
    assert read_key == key
    for statement in ("SELECT * FROM api_keys", "DELETE FROM api_keys", "UPDATE api_keys SET namespace = 'bob'"):
        with permission_denied(), pool.connection() as connection:
            connection.script(statement)
    keeper.revoke(key.id)
    revoked = api_keys.find_api_key(pool, key.id)
    assert revoked is not None and revoked.revoked_at is not None


def test_every_tool_was_tried(request: pytest.FixtureRequest) -> None:
    source = request.path.read_text()
    assert all(f'"{name}"' in source for name in by_name() if not _publishes(name))


def _publishes(name: str) -> bool:
    """Return whether a tool only publishes memories to Pub/Sub.

    The tests of this file pass ids of another namespace, but such a tool takes no id of a memory. Other tests check
    the namespace of the published messages.
    """
    return name in ("ingest_memory", "ingest_memories", "import_memories")
