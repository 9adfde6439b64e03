"""Memories in PostgreSQL with pgvector. The statements are in `memories_sql`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from uuid import UUID

from mnemosyne.adapters.database import memories_sql, rows
from mnemosyne.adapters.database.bulk_changes import BulkChanges, check_growth
from mnemosyne.adapters.database.change_feed import ChangeFeedReader
from mnemosyne.adapters.database.claim import Claim, claim_requests
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.console_queries import ConsoleQueries
from mnemosyne.adapters.database.dead_letters import DeadLetters
from mnemosyne.adapters.database.forgetting import ForgettingStore
from mnemosyne.adapters.database.ingest_requests import IngestRequests
from mnemosyne.adapters.database.memory_database import usage
from mnemosyne.domain.candidates import Candidates, RankedCandidate
from mnemosyne.domain.chronicle import tag_key
from mnemosyne.domain.console_queries import ListedMemory
from mnemosyne.domain.embedding_space import Languages
from mnemosyne.domain.memory import EXPORT_BYTES, Cursor, ExportedMemory, IngestRequest, KeysetCursor, Memory, Stats
from mnemosyne.domain.memory_changes import DeletedMemory, GivenRating, MemoryChange, Rating
from mnemosyne.domain.neighbours import Neighbours
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.search import EVERY_MEMORY, Filters, Hit, SearchQuery
from mnemosyne.domain.visible import one_line
from mnemosyne.errors import Conflict, EmbeddingModelChanged, NotFound
from mnemosyne.ports.embedder import Vector

BYTES_OF_COORDINATE = 2
"""Bytes of a coordinate of a halfvec: https://github.com/pgvector/pgvector#halfvec-type."""


class MemoryStore(IngestRequests, DeadLetters, ConsoleQueries, BulkChanges, ForgettingStore, ChangeFeedReader):
    """Memories and the state of ingest requests of one namespace.

    Every transaction first sets its namespace. Row-level security then shows only the rows of this namespace.
    """

    @contextmanager
    def claim(self, requests: Sequence[IngestRequest]) -> Iterator["Claim"]:
        """Lock the new requests of a delivery until the `with` block ends.

        The locks belong to the connection, so they end even if this process is killed. They need no open transaction.
        """
        cached = self.database.content_cache.cached_requests(self.namespace, requests)
        with self._connection() as connection, ExitStack() as locks:
            claim = claim_requests(
                connection, self.namespace, requests, cached, locks, immutable_sources=self.database.immutable_sources
            )
            try:
                yield claim
            except EmbeddingModelChanged:
                self.database.clear_embedding_space()
                raise
        self.database.content_cache.add(self.namespace, claim.stored_contents)

    def quota(self) -> Quota:
        """Return the usage and limits of the namespace."""
        with self._transaction() as connection:
            return usage(connection)

    def find_candidates(
        self,
        query: SearchQuery,
        vector: Vector | None,
        *,
        model: str,
        count: int,
        excluded: Mapping[str, Collection[str]],
    ) -> Candidates:
        """Find the candidates of a search, by vector and by words. The caller then ranks them. Implements
        CandidateSource."""
        candidates = self._call_one(
            memories_sql.FIND_CANDIDATES,
            mode=query.mode.value,
            query=query.query,
            names=rows.text_array(query.names),
            vector=None if vector is None else rows.vector_text(vector),
            model=model,
            filters=rows.filters_json(query.filters, excluded),
            limit=query.limit,
            candidates=count,
        )["candidates"]
        if candidates is None:
            self.database.clear_embedding_space()
            raise EmbeddingModelChanged(f"the memories are no longer in the embedding space of {model}")
        return rows.read_candidates(candidates)

    def pairwise_cosines(self, ids: Sequence[str]) -> Sequence[Sequence[float | None]]:
        """Return the cosine similarity of each pair of memories. It is None for a pair with a deleted memory."""
        return [*self._call_one(memories_sql.PAIRWISE_COSINES, ids=rows.uuid_array(ids))["cosines"]]

    def read_hits(self, query: SearchQuery, candidates: Sequence[RankedCandidate]) -> Sequence[Hit]:
        """Read the ranked memories, in order.

        Contents are cut, so that all memories together have at most `query.characters` characters. Memories that were
        deleted after the ranking are left out.
        """
        records = self._call_one(
            memories_sql.READ_HITS,
            ids=rows.uuid_array([entry.candidate.id for entry in candidates]),
            query=query.query,
            characters=query.characters,
            explain=query.explain,
            as_of=query.filters.as_of,
        )["hits"]
        by_id = {entry.candidate.id: entry for entry in candidates}
        return [rows.read_hit(record, by_id[record["id"]], query) for record in records]

    def fetch(self, memory_id: UUID, as_of: datetime | None = None) -> Memory | None:
        """Return one memory with its whole content, as it is now or as it was at the time `as_of`.

        Returns None if the memory does not exist, or was not visible at `as_of`. Raises InvalidRequest if the state of
        the memory at `as_of` is not known.
        """
        if as_of is not None:
            row = self._call_one(memories_sql.FETCH_THEN, id=memory_id, at=as_of)
            return rows.read_memory(row["record"]) if row["record"] else None
        memories = self._run(memories_sql.FETCH, id=memory_id)
        return rows.read_memory(memories[0]["record"]) if memories else None

    def list(
        self,
        filters: Filters,
        limit: int,
        *,
        after: Cursor | None = None,
        oldest_first: bool = False,
        beginning: int | None = None,
    ) -> Sequence[ListedMemory]:
        """Return memories that match the filters, newest or oldest first, after a cursor.

        If `beginning` is given, each memory in the result has the first `beginning` characters of its content.
        """
        memories = self._call(
            memories_sql.LIST,
            limit=limit,
            filters=rows.filters_json(filters),
            cursor_timestamp=after.timestamp if after else None,
            cursor_id=after.id if after else None,
            oldest_first=oldest_first,
            beginning=beginning,
        )
        return [rows.read_listed(row) for row in memories]

    def neighbours(self, memory_id: UUID) -> Neighbours:
        """Return the neighbours of a memory: current memories with the nearest embeddings.

        Superseded (replaced) memories are left out. The result is empty if the memory does not exist.
        """
        memories = self._call(memories_sql.NEIGHBOURS, id=memory_id)
        if not memories:
            return Neighbours(content="", similar=(), earlier=())
        own, *nearest = memories
        return Neighbours(
            content=own["content"],
            similar=[rows.read_summary(row) for row in nearest if row["is_similar"]],
            earlier=[(rows.read_summary(row), row["content"]) for row in nearest if row["content"] is not None],
        )

    def delete(self, memory_id: UUID) -> DeletedMemory | None:
        """Delete one memory and return it, or None if it does not exist.

        Older memories that the deleted memory superseded (replaced) do not become current again.
        """
        with self._transaction() as connection:
            connection.run(memories_sql.LOCK_SUPERSESSION, namespace=self.namespace)
            connection.run(memories_sql.RELINK_SUPERSEDED, namespace=self.namespace, id=memory_id)
            deleted = connection.run(memories_sql.DELETE, namespace=self.namespace, id=memory_id)
            if deleted:
                self._record_action(connection, [memory_id])
        if not deleted:
            return None
        self.database.discard_quota(self.namespace)
        return DeletedMemory(title=one_line(deleted[0]["title"]), superseded=tuple(deleted[0]["superseded"]))

    def update(self, memory_id: UUID, change: MemoryChange) -> Memory | None:
        """Change a memory and return it, or None if it does not exist.

        Raises NotFound if the memory `change.superseded_by` does not exist, and Conflict if memories would supersede
        each other in a cycle.
        """
        with self._transaction() as connection:
            if change.superseded_by is not None:
                connection.run(memories_sql.LOCK_SUPERSESSION, namespace=self.namespace)
                _check_supersession(connection, self.namespace, memory_id, change.superseded_by)
            before = usage(connection)
            encoded = {
                "tags": None if change.tags is None else rows.text_array(change.tags),
                "tag_keys": None if change.tags is None else rows.text_array([tag_key(tag) for tag in change.tags]),
                "metadata": None if change.metadata is None else rows.json_text(change.metadata),
            }
            selection = {"namespace": self.namespace, "id": memory_id}
            values = vars(change) | encoded | {"changes_expiry": change.changes_expiry}
            changed = connection.run(memories_sql.UPDATE, **selection, **values)
            if change.title is not None or change.tags is not None or change.metadata is not None:
                check_growth(before, usage(connection))
            if changed:
                self._record_action(connection, [memory_id])
        return rows.read_memory(changed[0]["record"]) if changed else None

    def rate(self, memory_id: UUID, rating: GivenRating) -> Rating | None:
        """Replace or withdraw the rater's rating of a memory. Return the memory's quality before and after the change.

        The quality is computed from all ratings of the memory. Returns None if the memory does not exist.
        """
        with self._transaction() as connection:
            if not connection.run(memories_sql.LOCK_MEMORY, namespace=self.namespace, id=memory_id):
                return None
            rated = connection.one(memories_sql.RATE, namespace=self.namespace, id=memory_id, **vars(rating))
            self._record_action(connection, [memory_id])
            counts = connection.one(memories_sql.RATINGS_COUNTED, namespace=self.namespace, id=memory_id)
        return Rating(**rated.by_name, **counts.by_name)

    def export(
        self,
        limit: int,
        *,
        after: KeysetCursor | None = None,
        filters: Filters = EVERY_MEMORY,
        memory_ids: Sequence[UUID] | None = None,
    ) -> Sequence[ExportedMemory]:
        """Return the memories that match the filters, after a cursor.

        With `memory_ids`, only memories with these ids are returned. The memories are ordered by timestamp, then by
        content hash. A page ends after `limit` memories or EXPORT_BYTES of content. A page is empty only if no memory
        is left.
        """
        memories = self._call(
            memories_sql.EXPORT,
            filters=rows.filters_json(filters),
            ids=None if memory_ids is None else rows.uuid_array(memory_ids),
            limit=limit,
            bytes=EXPORT_BYTES,
            cursor_timestamp=after.timestamp if after else None,
            cursor_hash=after.key if after else None,
        )
        return [rows.read_exported(row["record"], row["superseded_by_hash"]) for row in memories]

    def languages(self, query: str | None = None) -> Languages:
        """Return the languages of the newest memories and of the query, to warn about unsupported languages."""
        row = self._call_one(memories_sql.LANGUAGES, text=query)
        return Languages(sampled=row["sampled"] or 0, memories=row["languages"] or {}, query=row["text_in"])

    def stats(self) -> Stats:
        """Return counts of the namespace's memories, tags and requests."""
        with self._transaction() as connection:
            figures = connection.one(memories_sql.STATS, namespace=self.namespace)
            tags = connection.run(memories_sql.TOP_TAGS, namespace=self.namespace)
            quota = usage(connection)
        return Stats(
            **figures.by_name,
            quota=quota,
            memories=quota.memories,
            tags={one_line(row["tag"]): row["memories"] for row in tags},
            total_tags=tags[0]["total_tags"] if tags else 0,
            storage_bytes=quota.bytes + BYTES_OF_COORDINATE * self.database.dimension * quota.memories,
        )


def _check_supersession(connection: Connection, namespace: str, memory_id: UUID, successor: UUID) -> None:
    chain = [row["id"] for row in connection.run(memories_sql.SUPERSEDED_CHAIN, namespace=namespace, id=successor)]
    if not chain:
        raise NotFound(f"superseded_by must be the id of a memory, and no memory has the id {successor}")
    if memory_id in chain:
        raise Conflict(f"memory {memory_id} already supersedes memory {successor}: a cycle would hide both")
