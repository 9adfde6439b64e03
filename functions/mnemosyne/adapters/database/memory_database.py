"""State that the stores of all namespaces share, and the base class of a namespace's store."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from mnemosyne.adapters.database import memories_sql
from mnemosyne.adapters.database.audit_action import record_action
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.content_cache import ContentCache
from mnemosyne.adapters.database.embedding_space import read_embedding_space
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.quota_cache import QuotaCache
from mnemosyne.adapters.database.rows import read_quota
from mnemosyne.domain.audit import current_action
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.quota import Quota
from mnemosyne.errors import EmbeddingModelChanged


class MemoryDatabase:
    """Connections, embedding space and caches that the stores of all namespaces share.

    `expected` is the embedding space of the settings; without it, the database determines the space.
    """

    def __init__(self, pool: Pool, expected: EmbeddingSpace | None, *, immutable_sources: Collection[str] = ()) -> None:
        self.immutable_sources = frozenset(immutable_sources)
        self.content_cache = ContentCache()
        self.pool = pool
        self._expected = expected
        self._space: EmbeddingSpace | None = None
        self._quotas = QuotaCache(self._quota)

    @property
    def embedding_space(self) -> EmbeddingSpace:
        """The space of the memories when last read; raises Misconfigured if it differs from the settings."""
        if self._space is None:  # a cached space needs no connection; claims may hold all connections
            with self.connection():
                pass
        return self._known_space

    @property
    def dimension(self) -> int:
        """Dimension of the embedding space, without a query if the space is known."""
        return (self._space or self._expected or self.embedding_space).dimension

    @property
    def _known_space(self) -> EmbeddingSpace:
        space = self._space or self._expected
        if space is None:  # another thread has just forgotten it
            raise EmbeddingModelChanged("the memories are in another embedding space now")
        return space

    def forget_embedding_space(self) -> None:
        """Read the embedding space again before the next use."""
        self._space = None

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Yield a connection. The first connection reads the embedding space."""
        if self._space is not None:
            with self.pool.connection() as connection:
                yield connection
            return
        with self.pool.connection() as connection:
            self._space = read_embedding_space(connection, self._expected)
            yield connection

    @contextmanager
    def transaction(self, namespace: str) -> Iterator[Connection]:
        """Begin a transaction that row-level security confines to the namespace."""
        with self.connection() as connection, connection.transaction():
            connection.run(memories_sql.ENTER_NAMESPACE, namespace=namespace)
            yield connection

    def known_quota(self, namespace: str) -> Quota | None:
        """Return the cached quota without waiting for the database; None if there is none."""
        return self._quotas.of(namespace)

    def _quota(self, namespace: str) -> Quota:
        with self.transaction(namespace) as connection:
            return usage(connection)


class NamespaceStore:
    """Base of the stores that are bound to one namespace."""

    def __init__(self, database: MemoryDatabase, namespace: str) -> None:
        self.database = database
        self.namespace = namespace

    def _connection(self) -> AbstractContextManager[Connection]:
        return self.database.connection()

    def _transaction(self) -> AbstractContextManager[Connection]:
        return self.database.transaction(self.namespace)

    def _record_action(self, connection: Connection, ids: Sequence[object], *, count: int | None = None) -> None:
        """Record the caller's action on these ids in the audit trail, in the connection's transaction.

        `count` is the number of changed rows, if it is not that of the ids.
        """
        record_action(connection, self.namespace, current_action(), ids, len(ids) if count is None else count)


def usage(connection: Connection) -> Quota:
    """Return the usage and limits of the transaction's namespace."""
    return read_quota(connection.one(memories_sql.USAGE))
