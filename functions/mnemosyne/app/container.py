"""Build the adapters that the settings choose, each once, on first use, safely across threads."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from mnemosyne.domain.embedding_space import PROVIDERS, EmbeddingSpace
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.timeouts import SOCKET_TIMEOUT_SECONDS, STATEMENT_SECONDS
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog
from mnemosyne.ports.embedder import Embedder, Reranker
from mnemosyne.ports.imports import ObjectImports, ObjectStore
from mnemosyne.ports.memories import MemoryStore
from mnemosyne.ports.queue import ChangeTopic, IngestQueue, OutcomeTopic
from mnemosyne.ports.services import Clock
from mnemosyne.settings import Settings

if TYPE_CHECKING:
    from mnemosyne.adapters.database.connections import Connection
    from mnemosyne.adapters.database.memory_database import MemoryDatabase
    from mnemosyne.adapters.database.pool import Pool

log = EventLog(__name__)

BuiltT = TypeVar("BuiltT")


class _Once(Generic[BuiltT]):
    """A value that one thread builds on first use. A failed build is tried again on the next use."""

    def __init__(self, build: Callable[[], BuiltT]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._built: tuple[BuiltT] | None = None

    @property
    def built(self) -> bool:
        """Whether the value has been built."""
        return self._built is not None

    def __call__(self) -> BuiltT:
        if self._built is None:
            with self._lock:
                if self._built is None:
                    self._built = (self._build(),)
        return self._built[0]


class ConfiguredServices:
    """The adapters that the settings choose, as the ports that the services use.

    `any_space` accepts memories in another embedding space than the settings name, for operators.
    """

    def __init__(
        self, settings: Settings, *, statement_seconds: int = STATEMENT_SECONDS, any_space: bool = False
    ) -> None:
        self.settings = settings
        self._pool = _Once(lambda: _pool(settings, statement_seconds))
        # Only settings that name an embedder contradict the database.
        self.expected_space = (
            None if any_space and "embedder" not in settings.model_fields_set else embedding_space(settings)
        )
        expected = None if any_space else self.expected_space
        self._database = _Once(lambda: _database(settings, self._pool(), expected))
        self._queue = _Once(lambda: _queue(settings))
        self._outcome_topic = _Once(lambda: _outcome_topic(settings))
        self._reranker = _Once(lambda: _reranker(settings))
        self._embedders: dict[EmbeddingSpace, Embedder] = {}
        self._building = threading.Lock()

    @property
    def pool(self) -> "Pool":
        """The pool of connections to the database."""
        return self._pool()

    @property
    def embedding_space(self) -> EmbeddingSpace:
        """The embedding space of the memories."""
        return self._database().embedding_space

    def memories_of(self, namespace: str) -> MemoryStore:
        """Return the store of a namespace's memories, which uses the pool."""
        from mnemosyne.adapters.database.memories import PostgresMemories

        return PostgresMemories(self._database(), namespace)

    def known_quota(self, namespace: str) -> Quota | None:
        """Return a namespace's quota if it is cached; None before the first use of the database."""
        return self._database().known_quota(namespace) if self._pool.built else None

    @property
    def queue(self) -> IngestQueue:
        """The queue that `mcp` publishes to."""
        return self._queue()

    @property
    def outcome_topic(self) -> OutcomeTopic | None:
        """The topic for outcomes (final states) of requests; None if the settings name none."""
        return self._outcome_topic()

    @cached_property
    def objects(self) -> ObjectStore:
        """The objects in Cloud Storage buckets."""
        from mnemosyne.adapters.cloud_storage import CloudStorage

        return CloudStorage()

    def imports_of(self, namespace: str) -> ObjectImports:
        """Return the progress of imports into a namespace."""
        from mnemosyne.adapters.database.object_imports import PostgresObjectImports

        return PostgresObjectImports(self.pool, namespace)

    @property
    def embedder(self) -> Embedder:
        """The embedder of the memories' embedding space."""
        return self.embedder_of(self.embedding_space)

    @property
    def reranker(self) -> Reranker | None:
        """The ranking API; None if the settings name no model."""
        return self._reranker()

    def embedder_of(self, space: EmbeddingSpace) -> Embedder:
        """Return the embedder of a space; each is built once."""
        from mnemosyne.adapters.embedders.registry import build

        with self._building:
            if space not in self._embedders:
                self._embedders[space] = build(self.settings, space)
            return self._embedders[space]

    @property
    def clock(self) -> Clock:
        """The system's clock."""
        return _now

    def close(self) -> None:
        """Close the idle connections."""
        if self._pool.built:
            self._pool().close()

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
    """Return a function that opens connections to the database that the settings name.

    A statement may take `statement_seconds`. A read from the server times out after `socket_timeout` seconds, or never
    if it is None, as for migrations, which build indexes.
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


def _pool(settings: Settings, statement_seconds: int) -> "Pool":
    from mnemosyne.adapters.database.pool import Pool

    return Pool(connection_factory_for(settings, statement_seconds=statement_seconds), settings.db_pool_size)


def _database(settings: Settings, pool: "Pool", expected: EmbeddingSpace | None) -> "MemoryDatabase":
    from mnemosyne.adapters.database.memory_database import MemoryDatabase

    return MemoryDatabase(pool, expected, immutable_sources=settings.immutable_sources)


def _queue(settings: Settings) -> IngestQueue:
    if settings.topic.startswith("file://"):
        from mnemosyne.adapters.queues.local import LocalQueue

        return LocalQueue(Path(settings.topic.removeprefix("file://")))
    from mnemosyne.adapters.queues.pubsub import PubSubQueue

    return PubSubQueue(settings.topic)


def _outcome_topic(settings: Settings) -> OutcomeTopic | None:
    if not settings.outcome_topic:
        return None
    from mnemosyne.adapters.queues.pubsub import PubSubOutcomes

    return PubSubOutcomes(settings.outcome_topic)


def change_topic(settings: Settings) -> ChangeTopic | None:
    """Return the topic for changes of memories; None if the settings name none.

    It is the topic for outcomes.
    """
    if not settings.outcome_topic:
        return None
    from mnemosyne.adapters.queues.pubsub import PubSubChanges

    return PubSubChanges(settings.outcome_topic)


def _reranker(settings: Settings) -> Reranker | None:
    if not settings.reranking_model:
        return None
    from mnemosyne.adapters.vertex_reranker import VertexReranker

    return VertexReranker(settings.google_cloud_project, settings.reranking_model)


def embedding_space(settings: Settings) -> EmbeddingSpace:
    """Return the space that the settings name."""
    provider = PROVIDERS[settings.embedder]
    model = provider.model if provider.is_fixed else settings.embedding_model or provider.model
    return EmbeddingSpace(settings.embedder, model, settings.embedding_dimension)
