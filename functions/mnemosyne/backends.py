"""Choose the adapters that the settings ask for and build them: each on first use, once, whatever the threads."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.quota import Quota
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog
from mnemosyne.ports import Clock, Embedder, IngestQueue, MemoryStore, ObjectImports, ObjectStore, OutcomeTopic
from mnemosyne.settings import Settings

if TYPE_CHECKING:
    from mnemosyne.adapters.connections import Pool, Session

log = EventLog(__name__)

BuiltT = TypeVar("BuiltT")

STATEMENT_SECONDS = 30


class _Once(Generic[BuiltT]):
    """A value built by the first thread that asks; a failed build is tried again by the next."""

    def __init__(self, build: Callable[[], BuiltT]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._built: tuple[BuiltT] | None = None

    @property
    def built(self) -> bool:
        """Whether it has been asked for."""
        return self._built is not None

    def __call__(self) -> BuiltT:
        if self._built is None:
            with self._lock:
                if self._built is None:
                    self._built = (self._build(),)
        return self._built[0]


class Backends:
    """The adapters that the settings ask for, as the ports the services see."""

    def __init__(self, settings: Settings, *, statement_seconds: int = STATEMENT_SECONDS) -> None:
        self.settings = settings
        self._pool = _Once(lambda: _pool(settings, statement_seconds))
        self._memories = _Once(lambda: _memories(settings, self._pool()))
        self._queue = _Once(lambda: _queue(settings))
        self._outcome_topic = _Once(lambda: _outcome_topic(settings))
        self._embedders: dict[EmbeddingSpace, Embedder] = {}
        self._building = threading.Lock()

    @property
    def pool(self) -> "Pool":
        """The connections that the store uses."""
        return self._pool()

    @property
    def memories(self) -> MemoryStore:
        """The store, on the pool."""
        return self._memories()

    def known_quota(self, namespace: str) -> Quota | None:
        """What is known of a namespace's quota; nothing before this process has had to do with the database."""
        return self.memories.known_quota(namespace) if self._pool.built else None

    @property
    def queue(self) -> IngestQueue:
        """Where `mcp` publishes."""
        return self._queue()

    @property
    def outcome_topic(self) -> OutcomeTopic | None:
        """Where outcomes are told; None where the settings name no topic for them."""
        return self._outcome_topic()

    @cached_property
    def objects(self) -> ObjectStore:
        """Buckets."""
        from mnemosyne.adapters.cloud_storage import CloudStorage

        return CloudStorage()

    @cached_property
    def imports(self) -> ObjectImports:
        """How far objects of buckets have been read."""
        from mnemosyne.adapters.object_imports import PostgresObjectImports

        return PostgresObjectImports(self.pool)

    @property
    def embedder(self) -> Embedder:
        """The embedder of the space that the memories are in."""
        return self.embedder_of(self.memories.space)

    def embedder_of(self, space: EmbeddingSpace) -> Embedder:
        """The embedder of that space; each is built once."""
        with self._building:
            if space not in self._embedders:
                self._embedders[space] = _embedder(self.settings, space)
            return self._embedders[space]

    @property
    def clock(self) -> Clock:
        """The system's clock."""
        return _now

    def warm(self) -> None:
        """Load the offline embedder in the background, so that the first search does not wait for it."""
        if self.settings.embedder != "offline":
            return

        def load() -> None:
            try:
                self.embedder_of(embedding_space(self.settings)).embed_query("warm")
            except Misconfigured as exc:
                log.error("embedder_misconfigured", error=str(exc))

        threading.Thread(target=load, name="warm", daemon=True).start()


def _now() -> datetime:
    return datetime.now(UTC)


def session_opener(
    settings: Settings, *, patient: bool = False, statement_seconds: int = STATEMENT_SECONDS
) -> "Callable[[], Session]":
    """What opens a session to the database that the settings name; a statement may take so long there.

    `patient` sessions wait for an answer as long as it takes: migrations build indexes.
    """
    from mnemosyne.adapters.connections import SOCKET_TIMEOUT_SECONDS, opener

    socket_timeout = None if patient else SOCKET_TIMEOUT_SECONDS
    if settings.database_url:
        return opener(settings.database_url, socket_timeout=socket_timeout, statement_seconds=statement_seconds)
    from mnemosyne.adapters.cloud_sql import CloudSql

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
    from mnemosyne.adapters.connections import Pool

    return Pool(session_opener(settings, statement_seconds=statement_seconds), settings.db_pool_size)


def _memories(settings: Settings, pool: "Pool") -> MemoryStore:
    from mnemosyne.adapters.postgres import PostgresStore

    return PostgresStore(pool, embedding_space(settings))


def _queue(settings: Settings) -> IngestQueue:
    if settings.topic.startswith("file://"):
        from mnemosyne.adapters.local_queue import LocalQueue

        return LocalQueue(Path(settings.topic.removeprefix("file://")))
    from mnemosyne.adapters.pubsub import PubSubQueue

    return PubSubQueue(settings.topic)


def _outcome_topic(settings: Settings) -> OutcomeTopic | None:
    if not settings.outcome_topic:
        return None
    from mnemosyne.adapters.pubsub import PubSubOutcomes

    return PubSubOutcomes(settings.outcome_topic)


def embedding_space(settings: Settings) -> EmbeddingSpace:
    """The space that the settings name; raises Misconfigured where the offline embedder has no such dimension."""
    if settings.embedder == "gemini":
        return EmbeddingSpace(settings.embedding_model, settings.embedding_dimension)
    from mnemosyne.adapters.offline import SPACE

    if settings.embedding_dimension != SPACE.dimension:
        raise Misconfigured(
            f"MNEMOSYNE_EMBEDDING_DIMENSION is {settings.embedding_dimension}, but the offline embedder makes {SPACE}"
        )
    return SPACE


def _embedder(settings: Settings, space: EmbeddingSpace) -> Embedder:
    from mnemosyne.adapters.batching import MicroBatchingEmbedder

    if space.model.startswith("gemini-"):
        from mnemosyne.adapters.gemini import GeminiEmbedder, VertexAi

        vertex = VertexAi(settings.google_cloud_project, settings.google_cloud_location)
        return MicroBatchingEmbedder(
            GeminiEmbedder(
                space.model,
                space.dimension,
                vertex if settings.google_genai_use_vertexai else None,
            )
        )
    from mnemosyne.adapters.offline import SPACE, OfflineEmbedder

    if space != SPACE:
        raise Misconfigured(f"there is no embedder for {space}: Gemini's models are named gemini-…, offline is {SPACE}")
    return MicroBatchingEmbedder(
        OfflineEmbedder(Path(settings.offline_statistics) if settings.offline_statistics else None)
    )
