"""The database work of each function on each server, as the function's own database user."""

import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.api_keys import ApiKeyStore, find_api_key
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.oauth import OAuthStore, find_valid_grant
from mnemosyne.adapters.database.object_imports import ObjectImports
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.reembedding import Reembedding
from mnemosyne.cli.local import postgres
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import FailedRequest, IngestState
from mnemosyne.domain.message import IngestMessage, encode
from mnemosyne.domain.oauth import Grant, ValidGrant
from mnemosyne.domain.object_import import ObjectImport
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.ids import new_id
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from mnemosyne.service import ingest
from mnemosyne.service.api_keys import new_key
from tests.fakes import FAKE_SPACE, NOW, FakeEmbedder, FakeServices, memories_in, request
from tests.searching import find
from tests.servers.server import Server
from tests.words_found import FOUND, FOUND_LITERALLY, INFLECTED

ADA = Principal(id="ada", namespace="ada", scopes=frozenset({Scope.READ, Scope.WRITE, Scope.OPERATE}))
LONG = "a violin plays at dawn. " * 30  # in several chunks


class Functions:
    """The functions on one database."""

    def __init__(self, server: Server, database: str) -> None:
        self._server = server
        self._database = database
        self._pools: dict[str, Pool] = {}
        self._services = FakeServices(self.memories("mcp"))

    def pool(self, function: str) -> Pool:
        """Connections under that function's user."""
        if function not in self._pools:
            self._pools[function] = Pool(connection_factory(self._server.url(function, self._database)), 2)
        return self._pools[function]

    def memories(self, function: str) -> MemoryStore:
        return memories_in(self.pool(function), "ada")

    def ingest(self, *requests: Any) -> dict[UUID, Any]:
        """Store memories as `ingest` does, and return the outcomes by their requests."""
        message = IngestMessage("ada", tuple(requests))
        return ingest.store(message, memories=self.memories("ingest"), embedder=FakeEmbedder()).outcomes

    def stored(self, content: str, **fields: Any) -> str:
        """Store a memory and return its id."""
        (outcome,) = self.ingest(request(content, **fields)).values()
        assert outcome.state is IngestState.STORED
        return str(outcome.memory_id)

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool as `mcp` does, and return the structured result."""
        result = call(by_name()[name], arguments, ADA, self._services)
        assert not result.is_error, result.content
        return dict(result.structured_content or {})

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()


@pytest.fixture
def functions_on(cluster: Server) -> Iterator[Callable[[str], Functions]]:
    started: list[Functions] = []

    def make(database: str) -> Functions:
        started.append(Functions(cluster, database))
        return started[-1]

    yield make
    for instance in started:
        instance.close()


@pytest.fixture
def functions(functions_on: Callable[[str], Functions], database: str) -> Functions:
    return functions_on(database)


@pytest.mark.parametrize("mode", SearchMode)
def test_a_memory_stored_by_ingest_is_found_in_each_search_mode(functions: Functions, mode: SearchMode) -> None:
    violin = functions.stored(LONG, title="Lakehurst", tags=["Airship"], metadata={"year": 1937})
    functions.stored("black coffee")
    answer = functions.tool("memory_search", query="violin", mode=mode.value, limit=1)
    assert [hit["id"] for hit in answer["memories"]] == [violin]
    assert "degraded" not in answer
    narrowed = functions.tool("memory_search", query="violin", mode=mode.value, tags=["airship"], after="2000-01-01")
    assert [hit["id"] for hit in narrowed["memories"]] == [violin]


def test_words_are_found_in_each_script_normal_form_compound_and_language(functions: Functions) -> None:
    # The inflected texts are stored first, because the last few memories do not change the statistics of languages.
    pairs = [*INFLECTED, *FOUND, *FOUND_LITERALLY]
    functions.ingest(*(request(content, title="untold") for content in dict.fromkeys(content for _, content in pairs)))

    def finds(query: str, content: str, mode: SearchMode) -> bool:
        search_query = SearchQuery(query=query, mode=mode, limit=100)
        hits = find(functions.memories("mcp"), search_query, None, model=FAKE_SPACE.model, lexical_weight=0.5)
        return content in {hit.content for hit in hits.hits}

    assert [case for case in [*FOUND, *INFLECTED] if not finds(*case, SearchMode.HYBRID)] == []
    assert [case for case in FOUND_LITERALLY if not finds(*case, SearchMode.EXACT)] == []


def test_ingest_recognizes_a_duplicate(functions: Functions) -> None:
    first, again, long_again = request("tea"), request("tea"), request(LONG)
    (first_outcome,) = functions.ingest(first).values()
    functions.ingest(request(LONG))
    outcomes = functions.ingest(again, long_again)
    assert {outcome.state for outcome in outcomes.values()} == {IngestState.DUPLICATE}
    assert outcomes[again.request_id].memory_id == first_outcome.memory_id


def test_a_claim_excludes_other_deliveries_until_it_ends(functions: Functions) -> None:
    mine, theirs = request("tea"), request("tea")
    with functions.memories("ingest").claim([mine]) as claim:
        assert claim.new == [mine]
        with functions.memories("ingest").claim([theirs]) as other:
            assert other.busy == [theirs]
    with functions.memories("ingest").claim([theirs]) as claim:
        assert claim.new == [theirs]


def test_each_tool_of_mcp_works_with_the_rights_of_its_database_user(functions: Functions) -> None:
    memory_id = functions.stored("green tea", tags=["tea"])
    functions.stored("black tea")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_memories", {"tags": ["tea"]}),
        ("memory_stats", {}),
        ("memory_timeline", {}),
        ("memory_facets", {}),
        ("get_memory", {"id": memory_id}),
        ("fetch", {"id": memory_id}),
        ("memory_history", {"id": memory_id}),
        ("search", {"query": "tea"}),
        ("exact_match_retrieve", {"content": "tea"}),
        ("recall_by_timeframe", {"start_date": "2000-01-01"}),
        ("retrieve_with_quality_boost", {"query": "tea"}),
        ("export_memories", {}),
        ("update_memory", {"id": memory_id, "title": "Tea", "tags": ["green"], "metadata": {"cups": 2}}),
        ("rate_memory", {"id": memory_id, "rating": 1, "reason": "tea"}),
        ("list_requests", {}),
        ("list_dead_letters", {}),
        ("list_audit", {}),
        ("delete_memory", {"id": memory_id}),
    ]
    for tool, arguments in calls:
        assert functions.tool(tool, **arguments), tool


def test_a_dead_letter_is_kept_by_its_function_and_redriven_by_mcp(functions: Functions) -> None:
    ingest_request = request("tea")
    data, attributes = encode("ada", [ingest_request], traceparent="")
    dead_letter = DeadLetter(message_id="7", data=data, attributes=attributes, cause="lost", dead_lettered_at=NOW)
    waiting = [FailedRequest(request_id=ingest_request.request_id, error="lost")]
    assert functions.memories("dead_letter").give_up(dead_letter, waiting, contents={})
    states = functions.tool("list_dead_letters")
    assert [letter["message_id"] for letter in states["dead_letters"]] == ["7"]
    functions.tool("redrive", message_id="7")
    assert functions.tool("list_dead_letters")["causes"][0]["in_flight"] == 1
    (outcome,) = functions.ingest(ingest_request).values()
    assert outcome.state is IngestState.STORED
    assert functions.tool("drop_dead_letters", message_ids=["7"])["dropped"] == 1


def test_import_object_records_its_position_in_an_object(functions: Functions) -> None:
    imports = ObjectImports(functions.pool("import_object").connection, "ada")
    for progress in (ObjectImport(source="gs://b/o#1", memories=3), ObjectImport(source="gs://b/o#1", memories=5)):
        imports.record(progress)
        assert imports.progress("gs://b/o#1") == progress


def test_import_object_lists_the_lines_of_an_object_until_it_deletes_them(functions: Functions) -> None:
    imports = ObjectImports(functions.pool("import_object").connection, "ada")
    progress = ObjectImport(source="gs://b/o#1", memories=2)
    imports.record(progress, {"0000000002": new_id(), "0000000001": new_id()})
    first, second = imports.lines("gs://b/o#1", 10)
    assert (first.line, second.line, first.status) == ("0000000001", "0000000002", None)
    assert imports.lines("gs://b/o#1", 10, after=first.line) == [second]
    imports.delete_lines("gs://b/o#1")
    assert imports.lines("gs://b/o#1", 10) == []


def test_mcp_finds_the_api_keys_that_the_owner_creates(functions: Functions, cluster: Server, database: str) -> None:
    key, _ = new_key(name="n", namespace="ada", scopes=frozenset({Scope.READ}), created_at=NOW, expires_at=None)
    keeper = ApiKeyStore(connection_factory(cluster.url(postgres.OWNER, database)))
    keeper.create(key)
    pool = functions.pool("mcp")
    assert find_api_key(pool, key.id) == key
    keeper.revoke(key.id)
    revoked = find_api_key(pool, key.id)
    assert revoked is not None
    assert revoked.revoked_at is not None


def test_mcp_can_check_a_grant_created_by_auth(functions: Functions) -> None:
    grant = Grant(
        id=new_id(), subject="ada", person="ada@example.com", namespace="ada", client_id="client",
        client_name="Claude", scopes=frozenset({Scope.READ}), resource="r",
        expires_at=datetime.now(UTC) + timedelta(hours=1),
    )  # fmt: skip
    auth, pool = OAuthStore(functions.pool("auth")), functions.pool("mcp")
    with auth.transaction() as rows:
        rows.add_grant(grant, 3600)
    restored_grant = find_valid_grant(pool, grant.id)
    assert restored_grant and restored_grant == ValidGrant(
        subject="ada", namespace="ada", client_id="client", client_name="Claude", scopes=frozenset({Scope.READ}),
        expires_at=restored_grant.expires_at,
    )  # fmt: skip
    with auth.transaction() as rows:
        rows.revoke(grant.id, "asked")
    assert find_valid_grant(pool, grant.id) is None


def test_the_owner_can_vacuum_and_reindex_what_the_functions_have_stored(
    functions: Functions, cluster: Server, database: str
) -> None:
    """Since PostgreSQL 17, maintenance commands run with a search path that does not contain the schema's functions."""
    violin = functions.stored(LONG, tags=["Airship"], metadata={"year": 1937})
    with cluster.connection(postgres.OWNER, database) as owner:
        owner.run_file("VACUUM ANALYZE memories, memory_chunks, memory_words, ingest_requests")
        owner.run_file("REINDEX SCHEMA public")
    for mode in SearchMode:
        memories = functions.tool("memory_search", query="violin", mode=mode.value)["memories"]
        assert [hit["id"] for hit in memories] == [violin]


def test_the_owner_can_move_stored_memories_to_another_embedding_space(
    functions_on: Callable[[str], Functions], cluster: Server, new_database: Callable[..., str]
) -> None:
    database = new_database()
    functions = functions_on(database)
    violin, embedder = functions.stored(LONG), FakeEmbedder()
    embedder.model, embedder.dimension = "other", 96
    space = EmbeddingSpace(FAKE_SPACE.provider, embedder.model, embedder.dimension)
    with cluster.connection(postgres.OWNER, database) as owner:
        move = Reembedding(owner, embedder, space)
        move.begin()
        functions.stored("black coffee")  # `ingest` can write while the maintenance runs
        while move.fill(10):
            pass
        move.index()
        assert move.switch()
    moved = memories_in(functions.pool("mcp"), "ada", space)
    query = SearchQuery(query="violin", mode=SearchMode.SEMANTIC, limit=1)
    (hit,) = find(moved, query, embedder.embed_query("violin"), model="other", lexical_weight=0.5).hits
    assert str(hit.id) == violin


def test_the_functions_work_on_a_dump_restored_by_the_owner(
    functions_on: Callable[[str], Functions], cluster: Server, new_database: Callable[..., str]
) -> None:
    database = new_database()
    functions = functions_on(database)
    violin, restored = functions.stored(LONG, tags=["Airship"]), new_database(empty=True)
    urls = cluster.url(postgres.OWNER, database), cluster.url(postgres.OWNER, restored)
    dump = subprocess.run([cluster.programs / "pg_dump", "--no-owner", urls[0]], check=True, capture_output=True)
    psql = [str(cluster.programs / "psql"), "--quiet", "--set=ON_ERROR_STOP=1"]
    subprocess.run([*psql, urls[1]], input=dump.stdout, check=True, capture_output=True)
    restored_functions = functions_on(restored)
    coffee = restored_functions.stored("black coffee")
    for mode in SearchMode:
        memories = restored_functions.tool("memory_search", query="violin", mode=mode.value, limit=1)["memories"]
        assert [hit["id"] for hit in memories] == [violin]
    assert {memory["id"] for memory in restored_functions.tool("list_memories")["memories"]} == {violin, coffee}
    with cluster.connection(postgres.OWNER, restored) as owner:
        assert migrations.migrate(owner, migrations.schema_files(), space=FAKE_SPACE) == []
