"""A deployment on loopback that has the parts of the deployment that Terraform creates.

The functions are unchanged. Google's services are replaced by local ones.

The parts are the Pub/Sub emulator, PostgreSQL behind the protocol of the Cloud SQL Connector, fakes of Vertex AI and of
a metadata server, and each function behind Cloud Run's front end.
"""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemosyne.adapters.database.api_keys import ApiKeyStore
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.cli.local import emulator as local_emulator
from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.principal import Scope
from mnemosyne.service import api_keys
from tests.cloud_run.identity import ALL_USERS, Google
from tests.cloud_run.pubsub import PUSH_ACCOUNT, Push
from tests.cloud_run.service import Deployment, Service, deterministic_url
from tests.fakes_wire.cloud_sql import INSTANCE, CloudSqlInstance
from tests.fakes_wire.collector import Collector
from tests.fakes_wire.gemini import GeminiServer
from tests.fakes_wire.metadata import EMAIL, MetadataServer
from tests.mcp_client import ToolClient

SPACE = EmbeddingSpace("gemini", "gemini-embedding-2", 768)
USER = "ada@example.com"
OIDC_AUDIENCE = "https://memory.example/mcp"
HOUR = 3600


class Production:
    """The complete deployment, which runs until `close` is called.

    A function `mcp` with another way of authentication is started when a test first uses it.
    """

    def __init__(self, home: Path, emulator: str) -> None:
        self._exits = ExitStack()
        enter = self._exits.enter_context
        self.directory = DataDir.at(str(home))
        self.gemini, self.google = enter(GeminiServer().serving()), enter(Google().serving())
        self.collector, self._metadata = enter(Collector().serving()), enter(MetadataServer().serving())
        self.postgres = postgres.start(self.directory)
        self._exits.callback(self.postgres.stop)
        self.clock = home / "clock"
        self.clock.write_text("0")
        self.cloud_sql = enter(self._database(home).serving())
        self._emulator = emulator
        self._mcps: dict[tuple[str, bool], Service] = {}
        push = {
            "MNEMOSYNE_PUSH_ISSUER": self.google.url,
            "MNEMOSYNE_PUSH_SERVICE_ACCOUNT": PUSH_ACCOUNT,
        }
        self.ingest, self.dead_letter = (
            self.service(target, {**push, "MNEMOSYNE_PUSH_AUDIENCE": deterministic_url(target)}, [PUSH_ACCOUNT])
            for target in ("ingest", "dead_letter")
        )
        self.push = enter(Push(self.ingest).serving())
        with pytest.MonkeyPatch.context() as patch:  # not longer: later processes use other queues
            patch.setenv("PUBSUB_EMULATOR_HOST", emulator)
            local_emulator.prepare(
                emulator, self.push.url, enter(Push(self.dead_letter).serving()).url, ack_deadline_seconds=30
            )

    def _database(self, home: Path) -> CloudSqlInstance:
        postgres.prepare(self.postgres, SPACE)
        role = EMAIL.removesuffix(".gserviceaccount.com")
        self.as_owner(f'CREATE ROLE "{role}" LOGIN IN ROLE mnemosyne_runtime')
        return CloudSqlInstance(self.postgres.socket_directory / ".s.PGSQL.5432", home)

    def as_owner(self, statement: str) -> list[list[Any]]:
        """Run a statement as the schema's owner."""
        connection = connection_factory(self.postgres.url(postgres.OWNER))()
        try:
            return connection.script(statement)
        finally:
            connection.close()

    def service(self, target: str, settings: dict[str, str], invokers: list[str], **deployed: Any) -> Service:
        """Return a function behind Cloud Run's front end. It has the common settings and `settings`."""
        environment = {
            "MNEMOSYNE_INSTANCE_CONNECTION_NAME": INSTANCE,
            "MNEMOSYNE_DB_NAME": postgres.DATABASE,
            "MNEMOSYNE_DB_USER": EMAIL,
            "MNEMOSYNE_SQLADMIN_ENDPOINT": self.cloud_sql.url,
            "MNEMOSYNE_TOPIC": local_emulator.TOPIC,
            "MNEMOSYNE_EMBEDDER": "gemini",
            "PUBSUB_EMULATOR_HOST": self._emulator,
            "GOOGLE_GENAI_USE_VERTEXAI": "true",
            "GOOGLE_CLOUD_PROJECT": "test-project",
            "GOOGLE_CLOUD_LOCATION": "europe-west1",
            "GOOGLE_VERTEX_BASE_URL": self.gemini.url,
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.collector.url,
            "OTEL_METRIC_EXPORT_INTERVAL": "500",  # milliseconds; the default of a minute is too long for a test
            **self._metadata.environment,
            **settings,
        }
        deployment = Deployment(
            target, environment, self.directory, self.google, invokers, clock=self.clock, **deployed
        )
        return self._exits.enter_context(Service(deployment).serving())

    def mcp(self, mode: str = "iam", *, iap: bool = False) -> Service:
        """Return the function `mcp` with this way of authentication, if `iap` is true behind Identity-Aware Proxy."""
        if (mode, iap) not in self._mcps:
            settings = {
                "MNEMOSYNE_AUTH_MODE": mode,
                "MNEMOSYNE_ALLOWED_HOSTS": deterministic_url("mcp").removeprefix("https://"),
            }
            if mode == "oidc":
                settings |= {"MNEMOSYNE_OIDC_ISSUER": self.google.url, "MNEMOSYNE_OIDC_AUDIENCE": OIDC_AUDIENCE}
            self._mcps[mode, iap] = self.service(
                "mcp", settings, [USER] if mode == "iam" else [ALL_USERS], iap_user=USER if iap else ""
            )
        return self._mcps[mode, iap]

    def client(self, mode: str = "iam", *, iap: bool = False) -> "Client":
        """Return a client of `mcp(mode, iap=iap)` with a credential that this mode accepts."""
        return Client(self.mcp(mode, iap=iap), self._credential(mode))

    def _credential(self, mode: str) -> Callable[[], str]:
        if mode == "iam":
            return lambda: self.google.identity_token(USER, deterministic_url("mcp"))
        if mode == "oidc":
            return lambda: self.google.token(aud=OIDC_AUDIENCE, sub="ada", scope="read write")
        key, token = api_keys.new_key(
            name="test",
            namespace=f"key-{len(self._mcps)}",
            scopes=frozenset({Scope.READ, Scope.WRITE}),
            created_at=datetime.now(UTC),
            expires_at=None,
        )
        ApiKeyStore(connection_factory(self.postgres.url(postgres.OWNER))).create(key)
        return lambda: token

    def an_hour_passes(self) -> None:
        """Move the time forward by an hour for instances, the token issuer and the certificate authority."""
        ahead = int(self.clock.read_text()) + HOUR
        self.clock.write_text(str(ahead))
        self.google.ahead = ahead
        self.cloud_sql.ahead = timedelta(seconds=ahead)

    def printed(self, target: str) -> str:
        """Return the log of a function."""
        return self.directory.log(target).read_text()

    def close(self) -> None:
        """End all processes and servers."""
        self._exits.close()


class Client(ToolClient):
    """Calls tools through the front end."""

    def __init__(self, service: Service, credential: Callable[[], str]) -> None:
        self.service = service
        self._credential = credential

    def post(self, body: Any, **headers: str) -> httpx.Response:
        """Post JSON, and return the answer with any status."""
        headers = {"Authorization": f"Bearer {self._credential()}", **headers}
        return httpx.post(f"{self.service.url}/mcp", json=body, headers=headers, timeout=120)
