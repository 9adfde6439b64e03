"""Build the adapters that the settings choose.

Each adapter is built at its first use, and only once, even if several threads use it.
"""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mnemosyne.domain.embedding_space import PROVIDERS, EmbeddingSpace
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.timeouts import SOCKET_TIMEOUT_SECONDS, STATEMENT_SECONDS
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog
from mnemosyne.once import once
from mnemosyne.ports.embedder import Embedder, Reranker
from mnemosyne.ports.queue import IngestQueue
from mnemosyne.ports.services import Clock
from mnemosyne.settings import Settings

if TYPE_CHECKING:
    from mnemosyne.adapters.cloud_storage import CloudStorage
    from mnemosyne.adapters.database.connections import Connection
    from mnemosyne.adapters.database.memories import MemoryStore
    from mnemosyne.adapters.database.memory_database import MemoryDatabase
    from mnemosyne.adapters.database.object_imports import ObjectImports
    from mnemosyne.adapters.database.pool import Pool
    from mnemosyne.adapters.queues.pubsub import PubSubTopic

log = EventLog(__name__)


class ConfiguredServices:
    """The adapters that the settings choose. Implements the protocols in `ports.services`.

    Without `any_space`, Misconfigured is raised if the memories are in another embedding space than the space in the
    settings. Operators' commands set `any_space`, so that they also work if the embedder is not in their settings.
    """

    def __init__(
        self, settings: Settings, *, statement_seconds: int = STATEMENT_SECONDS, any_space: bool = False
    ) -> None:
        self.settings = settings
        self._statement_seconds = statement_seconds
        self._any_space = any_space
        # `doctor` compares this space with the space of the memories. With `any_space` and no embedder in the settings,
        # there is nothing to compare: the settings have only the default model, and the memories may have another one.
        self.expected_space = (
            None if any_space and "embedder" not in settings.model_fields_set else embedding_space(settings)
        )
        self._embedders: dict[EmbeddingSpace, Embedder] = {}
        self._building = threading.Lock()

    @once
    def pool(self) -> "Pool":
        """The pool of connections to the database."""
        from mnemosyne.adapters.database.pool import Pool

        connect = connection_factory_for(self.settings, statement_seconds=self._statement_seconds)
        return Pool(connect, self.settings.db_pool_size)

    @once
    def _database(self) -> "MemoryDatabase":
        from mnemosyne.adapters.database.memory_database import MemoryDatabase

        expected = None if self._any_space else self.expected_space
        return MemoryDatabase(self.pool, expected, immutable_sources=self.settings.immutable_sources)

    @property
    def embedding_space(self) -> EmbeddingSpace:
        return self._database.embedding_space

    def memories_of(self, namespace: str) -> "MemoryStore":
        from mnemosyne.adapters.database.memories import MemoryStore

        return MemoryStore(self._database, namespace)

    def known_quota(self, namespace: str) -> Quota | None:
        """Return a namespace's quota if it is cached, otherwise None. Opens no connection to the database."""
        return self._database.known_quota(namespace) if "pool" in vars(self) else None

    @once
    def queue(self) -> IngestQueue:
        if self.settings.topic.startswith("file://"):
            from mnemosyne.adapters.queues.local import LocalQueue

            return LocalQueue(Path(self.settings.topic.removeprefix("file://")))
        from mnemosyne.adapters.queues.pubsub import PubSubQueue

        return PubSubQueue(self.settings.topic)

    @once
    def outcome_topic(self) -> "PubSubTopic | None":
        return outcome_topic(self.settings)

    @once
    def objects(self) -> "CloudStorage":
        from mnemosyne.adapters.cloud_storage import CloudStorage

        return CloudStorage()

    def imports_of(self, namespace: str) -> "ObjectImports":
        from mnemosyne.adapters.database.object_imports import ObjectImports

        return ObjectImports(self.pool.connection, namespace)

    @property
    def embedder(self) -> Embedder:
        return self.embedder_of(self.embedding_space)

    @once
    def reranker(self) -> Reranker | None:
        if not self.settings.reranking_model:
            return None
        from mnemosyne.adapters.vertex_reranker import VertexReranker

        return VertexReranker(self.settings.google_cloud_project, self.settings.reranking_model)

    def embedder_of(self, space: EmbeddingSpace) -> Embedder:
        """Return the embedder of an embedding space. Each embedder is built once."""
        from mnemosyne.adapters.embedders.registry import build

        with self._building:
            if space not in self._embedders:
                self._embedders[space] = build(self.settings, space)
            return self._embedders[space]

    @property
    def clock(self) -> Clock:
        return _now

    def close(self) -> None:
        """Close the idle connections."""
        if "pool" in vars(self):
            self.pool.close()

    def warm(self) -> None:
        """Load a local embedder and the reranker in the background, so that no search waits for them."""
        _ = self.reranker
        if not PROVIDERS[self.settings.embedder].is_local:
            return

        def load() -> None:
            try:
                self.embedder_of(embedding_space(self.settings)).embed_query("warm")
            except Misconfigured as exc:
                log.fault("embedder_failed", exc)

        threading.Thread(target=load, name="warm", daemon=True).start()


def _now() -> datetime:
    return datetime.now(UTC)


def connection_factory_for(
    settings: Settings,
    *,
    statement_seconds: int = STATEMENT_SECONDS,
    socket_timeout: float | None = SOCKET_TIMEOUT_SECONDS,
) -> "Callable[[], Connection]":
    """Return a function that opens connections to the database in the settings.

    A statement times out after `statement_seconds`, and a read from the server after `socket_timeout` seconds.
    Migrations pass None as `socket_timeout`, because building an index may take long.
    """
    if settings.database_url:
        from mnemosyne.adapters.database.connections import connection_factory

        return connection_factory(
            settings.database_url, socket_timeout=socket_timeout, statement_seconds=statement_seconds
        )
    from mnemosyne.adapters.database.cloud_sql import CloudSql

    return CloudSql(
        settings.instance_connection_name,
        user=settings.db_user,
        database=settings.db_name,
        password=settings.db_password.get_secret_value() if settings.db_password else None,
        ip_type=settings.db_ip_type,
        admin_endpoint=settings.sqladmin_endpoint or None,
        socket_timeout=socket_timeout,
        statement_seconds=statement_seconds,
    )


def outcome_topic(settings: Settings) -> "PubSubTopic | None":
    """Return the topic for outcomes of requests and changes of memories, or None if the settings have no topic."""
    if not settings.outcome_topic:
        return None
    from mnemosyne.adapters.queues.pubsub import PubSubTopic

    return PubSubTopic(settings.outcome_topic)


def embedding_space(settings: Settings) -> EmbeddingSpace:
    """Return the embedding space (provider, model and dimension) that the settings choose."""
    provider = PROVIDERS[settings.embedder]
    model = provider.model if provider.is_fixed else settings.embedding_model or provider.model
    return EmbeddingSpace(settings.embedder, model, settings.embedding_dimension)
