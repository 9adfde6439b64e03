"""The whole production path on real libraries: topic, push, google-genai, Connector with IAM, PostgreSQL, and back."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.local import emulator as local_emulator
from infra.local import functions, postgres
from infra.local.data_dir import DataDir
from infra.local.functions import FunctionProcess
from mnemosyne.adapters.connections import TRUSTED_SECONDS, opener
from mnemosyne.domain.embedding_space import EmbeddingSpace
from tests.fakes_wire.cloud_sql import INSTANCE, CloudSqlInstance
from tests.fakes_wire.gemini import GeminiServer
from tests.fakes_wire.metadata import EMAIL, MetadataServer
from tests.waiting import wait_until

SPACE = EmbeddingSpace("gemini-embedding-001", 768)


class Production:
    """The functions as they are deployed: what they talk to is on loopback, how they talk is not changed."""

    def __init__(self, mcp_url: str, database: postgres.EmbeddedPostgres, cloud_sql: CloudSqlInstance) -> None:
        self._url = f"{mcp_url}/mcp"
        self.database = database
        self.cloud_sql = cloud_sql

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        result: dict[str, Any] = httpx.post(self._url, json=body, timeout=90).json()["result"]
        return result

    def remember(self, content: str) -> str:
        """Ingest and wait until it is stored; the memory's id."""
        queued = self.call("ingest_memory", {"content": content, "timestamp": "2026-05-20T12:00:00Z"})
        request_id = queued["structuredContent"]["request_id"]
        status: dict[str, Any] = {}

        def stored() -> bool:
            answer = self.call("ingest_status", {"request_id": request_id})
            if not answer.get("isError"):
                status.update(answer["structuredContent"]["requests"][0])
            return status.get("state") == "stored"

        wait_until(stored, f"{content!r} is stored", seconds=60)
        return str(status["memory_id"])


@pytest.fixture(scope="module")
def production(emulator: str) -> Iterator[Production]:
    with (
        ExitStack() as exits,
        tempfile.TemporaryDirectory(prefix="mnemosyne-composed-") as home,
        GeminiServer().serving() as gemini,
        MetadataServer().serving() as metadata,
    ):
        directory = DataDir.at(home)
        server = postgres.start(directory)
        exits.callback(server.stop)
        postgres.prepare(server, SPACE)
        owner = opener(server.url(postgres.OWNER))()
        role = EMAIL.removesuffix(".gserviceaccount.com")
        owner.script(f'CREATE ROLE "{role}" LOGIN IN ROLE mnemosyne_runtime')
        owner.close()
        cloud_sql = exits.enter_context(
            CloudSqlInstance(server.socket_directory / ".s.PGSQL.5432", Path(home), address="127.0.0.2").serving()
        )
        environment = {
            "MNEMOSYNE_INSTANCE_CONNECTION_NAME": INSTANCE,
            "MNEMOSYNE_DB_NAME": postgres.DATABASE,
            "MNEMOSYNE_DB_USER": EMAIL,
            "MNEMOSYNE_SQLADMIN_ENDPOINT": cloud_sql.url,
            "MNEMOSYNE_TOPIC": local_emulator.TOPIC,
            "MNEMOSYNE_AUTH_MODE": "none",
            "MNEMOSYNE_EMBEDDER": "gemini",
            "PUBSUB_EMULATOR_HOST": emulator,
            "GOOGLE_GENAI_USE_VERTEXAI": "true",
            "GOOGLE_CLOUD_PROJECT": "test-project",
            "GOOGLE_CLOUD_LOCATION": "europe-west1",
            "GOOGLE_VERTEX_BASE_URL": gemini.url,
            **metadata.environment,
        }
        targets = [
            FunctionProcess(
                name, host="127.0.0.1", port=functions.free_port(), environment=environment, directory=directory
            )
            for name in ("mcp", "ingest", "dead_letter")
        ]
        for function in targets:
            exits.callback(function.stop)
            function.start()
        for function in targets:
            function.wait_ready()
        mcp, ingest, dead_letter = (function.url for function in targets)
        with pytest.MonkeyPatch.context() as patch:  # no longer than needed: whoever runs next has another queue
            patch.setenv("PUBSUB_EMULATOR_HOST", emulator)
            local_emulator.prepare(emulator, ingest, dead_letter, ack_deadline_seconds=10)
        yield Production(mcp, server, cloud_sql)
        for n in ("mcp", "ingest"):
            print(n, Path(directory.log(n)).read_text()[-3500:])


def test_a_memory_goes_in_and_comes_back(production: Production) -> None:
    memory_id = production.remember("Ada prefers tea to coffee.")
    found = production.call("memory_search", {"query": "does Ada prefer tea", "mode": "hybrid"})["structuredContent"]
    assert [hit["id"] for hit in found["memories"]] == [memory_id]
    assert "degraded" not in found
    stats = production.call("memory_stats", {})["structuredContent"]
    assert (stats["embedding_model"], stats["embedding_dimension"]) == (SPACE.model, SPACE.dimension)


def test_a_failover_is_survived_without_a_failed_read(production: Production) -> None:
    production.remember("before the failover")
    owner = opener(production.database.url(postgres.OWNER))()
    owner.script("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE '%@test-project.iam'")
    owner.close()
    killed = time.monotonic()
    wait_until(lambda: time.monotonic() > killed + TRUSTED_SECONDS, "idle sessions are asked before they are used")
    assert not production.call("memory_search", {"query": "failover"}).get("isError")
    production.remember("after the failover")
