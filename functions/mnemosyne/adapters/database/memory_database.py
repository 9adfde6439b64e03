"""Base classes of the stores of one namespace, and the connections and caches that all stores share."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import LiteralString

from mnemosyne.adapters.database import memories_sql
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.content_cache import ContentCache
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.quota_cache import QuotaCache
from mnemosyne.adapters.database.rows import text_array
from mnemosyne.adapters.database.statements import Row
from mnemosyne.domain.audit import IDS, current_action
from mnemosyne.domain.embedding_space import EmbeddingSpace, how_to_select
from mnemosyne.domain.quota import Quota
from mnemosyne.errors import EmbeddingModelChanged, Misconfigured
from mnemosyne.observability import EventLog

log = EventLog(__name__)


def read_embedding_space(connection: Connection, expected: EmbeddingSpace | None = None) -> EmbeddingSpace:
    """Return the embedding space (provider, model and dimension) of the memories.

    Raises Misconfigured if the settings expect another space (`expected`). After a move of the memories to another
    space, the services still expect the previous space until they are deployed again. Therefore the previous space is
    accepted, too.
    """
    if not connection.one(memories_sql.HAS_SCHEMA)["has_schema"]:
        raise Misconfigured(
            "the database has no table `memories` of Mnemosyne",
            next_step="run `mnemosyne migrate --project MY-PROJECT`, which applies the migrations; "
            "without Terraform, `mnemosyne migrate`",
        )
    row = connection.one(memories_sql.EMBEDDING_SPACE)
    space = EmbeddingSpace(row["provider"], row["model"], row["dimension"])
    if expected is None or space == expected:
        return space
    if expected == EmbeddingSpace(row["previous_provider"], row["previous_model"], row["previous_dimension"]):
        log.warning(
            "embedding_settings_outdated",
            cause="the settings name the embedding model before the last `mnemosyne reembed`",
            error=f"the database holds embeddings of {space}, the settings say {expected}",
            next_step=how_to_select(space),
        )
        return space
    raise Misconfigured(
        f"the database holds embeddings of {space}, the settings say {expected}",
        next_step=f"{how_to_select(space)}; or move the memories with `mnemosyne reembed --project MY-PROJECT --model "
        f"{expected.model} --dimension {expected.dimension}`",
    )


class MemoryDatabase:
    """Connections, embedding space and caches that the stores of all namespaces share.

    `expected` is the embedding space of the settings. If it is None, the embedding space of the database is used.
    """

    def __init__(self, pool: Pool, expected: EmbeddingSpace | None, *, immutable_sources: Collection[str] = ()) -> None:
        self.immutable_sources = frozenset(immutable_sources)
        self.content_cache = ContentCache()
        self.pool = pool
        self._expected = expected
        self._space: EmbeddingSpace | None = None
        self._quotas = QuotaCache(self._read_quota)

    @property
    def embedding_space(self) -> EmbeddingSpace:
        """The embedding space of the memories, as last read from the database.

        Raises Misconfigured if it differs from the embedding space of the settings.
        """
        # Use a cached space without a query, because a query would wait while all connections are busy.
        if self._space is None:
            with self.connection():
                pass
        return self._cached_or_expected_space

    @property
    def dimension(self) -> int:
        """Dimension of the embedding space. Runs no query if the space is cached."""
        return (self._space or self._expected or self.embedding_space).dimension

    @property
    def _cached_or_expected_space(self) -> EmbeddingSpace:
        space = self._space or self._expected
        if space is None:  # another thread has just removed the space from the cache
            raise EmbeddingModelChanged("the memories are in another embedding space now")
        return space

    def clear_embedding_space(self) -> None:
        """Remove the embedding space from the cache, so that the next use reads it again."""
        self._space = None

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Yield a database connection. The first call also reads the embedding space."""
        if self._space is not None:
            with self.pool.connection() as connection:
                yield connection
            return
        with self.pool.connection() as connection:
            self._space = read_embedding_space(connection, self._expected)
            yield connection

    def known_quota(self, namespace: str) -> Quota | None:
        """Return the cached quota of a namespace, or None. Does not wait for the database."""
        return self._quotas.of(namespace)

    def discard_quota(self, namespace: str) -> None:
        """Remove the quota of a namespace from the cache, because memories were deleted."""
        self._quotas.discard(namespace)

    def _read_quota(self, namespace: str) -> Quota:
        with NamespaceRows(self.connection, namespace)._transaction() as connection:
            return usage(connection)


class NamespaceRows:
    """Base of the stores that are bound to one namespace.

    `connection` returns a context manager that yields a database connection.
    """

    def __init__(self, connection: Callable[[], AbstractContextManager[Connection]], namespace: str) -> None:
        self._connection = connection
        self.namespace = namespace

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Begin a transaction that row-level security confines to the namespace."""
        with self._connection() as connection, connection.transaction():
            connection.run(memories_sql.ENTER_NAMESPACE, namespace=self.namespace)
            yield connection

    def _run(self, sql: LiteralString, **parameters: object) -> list[Row]:
        """Run one statement in a transaction of the namespace, and return its rows."""
        with self._transaction() as connection:
            return connection.run(sql, namespace=self.namespace, **parameters)

    def _one(self, sql: LiteralString, **parameters: object) -> Row:
        """Run one statement in a transaction of the namespace, and return its only row."""
        (row,) = self._run(sql, **parameters)
        return row


class NamespaceStore(NamespaceRows):
    """Base of the stores of one namespace that use the embedding space and the caches of a MemoryDatabase."""

    def __init__(self, database: MemoryDatabase, namespace: str) -> None:
        super().__init__(database.connection, namespace)
        self.database = database

    def _call(self, sql: LiteralString, **parameters: object) -> list[Row]:
        """Run one statement that sets the namespace itself, in one round trip, and return its rows."""
        with self._connection() as connection:
            return connection.run(sql, namespace=self.namespace, **parameters)

    def _call_one(self, sql: LiteralString, **parameters: object) -> Row:
        """Run one statement that sets the namespace itself, in one round trip, and return its only row."""
        (row,) = self._call(sql, **parameters)
        return row

    def _record_action(self, connection: Connection, ids: Sequence[object], *, count: int | None = None) -> None:
        """Record the current action on the memories `ids` in the audit trail, in the transaction of the action.

        `count` is the number of changed rows, if it differs from the number of ids. If the current call is not audited,
        nothing is recorded.
        """
        action = current_action()
        if action is None:
            return
        action.ids = [*map(str, ids)]
        connection.run(
            memories_sql.RECORD_ACTION,
            **action.columns,
            namespace=self.namespace,
            ids=text_array(action.ids[:IDS]),
            count=len(ids) if count is None else count,
        )
        action.recorded = True


def usage(connection: Connection) -> Quota:
    """Return the usage and limits of the transaction's namespace."""
    return Quota(**connection.one(memories_sql.USAGE).by_name)
