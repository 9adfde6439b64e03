"""Incidents of the embedding service, the reranker and the database."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from mnemosyne.adapters import service_error_tables, service_errors
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.cli.local import postgres
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import InvalidRequest
from mnemosyne.ids import new_id
from tests.database_errors import FAULTS
from tests.fakes import FAKE_SPACE, FakeReranker, FakeServices, memories_in
from tests.fakes_wire.gemini import GeminiServer, error
from tests.incidents import World

Check = Callable[..., None]


def _dimension(server: GeminiServer) -> tuple[int, Any]:
    return 200, {"embeddings": [{"values": [1.0] * 63} for _ in server.requests[-1]["requests"]]}


EMBEDDING: Mapping[str, tuple[Any, str]] = {
    "The embedding service is throttled": (error(429, "Resource exhausted"), "the quota of"),
    "The embedding service does not answer": (error(500), "the embedding service does not work"),
    "The billing of the project is off": (error(400, "Billing account for project 1 is not found."), "its billing"),
    "The API key of Gemini is refused": (error(400, "API key not valid."), "refuses the API key"),
    "The embedding model is retired": (error(404, "model not found"), "is not available"),
    "The functions may not use the embedding model": (error(403, "no permission"), "may not be used"),
    "The embedding dimension is wrong": (_dimension, "does not support dimension"),
}


@pytest.mark.parametrize("incident", EMBEDDING)
def test_a_fault_of_the_embedding_service(world: World, check: Check, gemini: GeminiServer, incident: str) -> None:
    answer, cause = EMBEDDING[incident]
    gemini.fault = answer if callable(answer) else lambda _: answer
    embedder: Any = GeminiEmbedder(FAKE_SPACE.model, FAKE_SPACE.dimension, pause_seconds=0.001)
    world.services.embedder = embedder
    world.search()
    assert world.deliver() == 503
    check(incident, world, cause=cause)
    assert "search_degraded" in world.events


def test_the_model_refuses_one_text(world: World, check: Check) -> None:
    world.services.embedder.fault = InvalidRequest("the model refuses this text")
    assert world.deliver() == 204
    check("The model refuses one text", world, "ingest_failed", "refuses the content")


def test_the_reranker_fails(world: World, check: Check) -> None:
    world.services.reranker = FakeReranker("tea")
    world.services.reranker.away = True
    assert world.deliver() == 204
    world.search()
    check("The reranker fails", world, "reranker_failed", "the reranker is away")


DATABASE = {
    "The database is read-only": "read-only",
    "A right in the database is missing": "a revoked right",
    "Migrations are pending": "a missing table",
}


@pytest.mark.own_database
@pytest.mark.parametrize("incident", DATABASE)
def test_a_fault_of_the_database(
    world: World, check: Check, pool: Pool, owner: Connection, database: str, incident: str
) -> None:
    begin, end, cause, _ = FAULTS[DATABASE[incident]]
    owner.script("SET default_transaction_read_only = off")
    owner.run_file(begin.format(database=database))
    owner.script("REVOKE DELETE ON memories FROM mnemosyne_runtime")
    pool.close()
    assert world.deliver() == 503
    world.call("delete_memory", id=str(new_id()))
    owner.run_file(end.format(database=database))
    check(incident, world, "operator_needed", cause)


@pytest.mark.own_database
def test_the_disk_is_full(world: World, check: Check, owner: Connection, instance: dict[str, str]) -> None:
    owner.run_file(FAULTS["a full disk"][0])
    assert world.deliver() == 503
    world.measure("cloudsql.googleapis.com/database/disk/bytes_used", 99 * 2**30, instance)
    check("The database's disk is full", world, "operator_needed", "disk is full")


@contextmanager
def _world_at(url: str, space: EmbeddingSpace = FAKE_SPACE) -> Iterator[World]:
    pool = Pool(connection_factory(url), 2)
    try:
        yield World(FakeServices(memories_in(pool, space=space)))
    finally:
        pool.close()


UNREACHABLE = {
    "The database is down": ("postgresql://u@/d?host=/nonexistent", "database_unreachable", "cannot be reached"),
    "The database refuses the log-in": ("nobody", "operator_needed", "refuses the connection"),
}


@pytest.mark.parametrize("incident", UNREACHABLE)
def test_no_connection_can_be_opened(
    check: Check, cluster: postgres.EmbeddedPostgres, database: str, incident: str
) -> None:
    url, event, cause = UNREACHABLE[incident]
    with _world_at(url if "://" in url else cluster.url(url, database)) as world:
        assert world.deliver() == 503
        world.search()
        check(incident, world, event, cause)


def test_the_settings_name_another_embedding_model(
    check: Check, cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    other = EmbeddingSpace("gemini", "gemini-embedding-2", FAKE_SPACE.dimension)
    with _world_at(cluster.url(postgres.RUNTIME_USER, database), other) as world:
        assert world.deliver() == 503
        world.search()
        check("The settings name another embedding model", world, "operator_needed", "the database holds embeddings of")


def test_the_database_has_no_free_connection(
    check: Check, cluster: postgres.EmbeddedPostgres, database: str, owner: Connection, instance: dict[str, str]
) -> None:
    owner.run_file("CREATE ROLE crowd LOGIN CONNECTION LIMIT 0 IN ROLE mnemosyne_runtime")
    try:
        with _world_at(cluster.url("crowd", database)) as world:
            assert world.deliver() == 503
            world.search()
    finally:
        owner.run_file("DROP ROLE crowd")
    world.measure("cloudsql.googleapis.com/database/postgresql/num_backends", 10_000.0, instance)
    check("The database has no free connection", world, "tool_unavailable", "no free connection")


@pytest.mark.own_database
def test_statements_are_cancelled(world: World, check: Check, owner: Connection) -> None:
    owner.run_file(
        """
        CREATE FUNCTION time_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE query_canceled; END $$;
        CREATE TRIGGER time_out BEFORE DELETE ON memories FOR EACH STATEMENT EXECUTE FUNCTION time_out();
        """
    )
    world.call("delete_memory", id=str(new_id()))
    check("Statements are cancelled", world, "tool_unavailable", "reached its time limit")


@pytest.mark.parametrize(("status", "raised"), [(403, "may not read"), (429, "quota is exhausted"), (500, "does not")])
def test_a_cause_contains_no_names_of_database_objects(status: int, raised: str) -> None:
    """A cause is a label of a metric, so the number of different causes must stay small."""
    exc: Any = service_errors.error(service_error_tables.BUCKET, status, "no", object="gs://acme/a-name.jsonl")
    assert raised in exc.cause
    assert "a-name" not in exc.cause
