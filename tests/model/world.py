"""The functions on a real PostgreSQL, with a topic in memory, an embedder that fails on demand, and crashes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from unittest.mock import patch
from uuid import UUID, uuid4

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.reembedding import Reembedding
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import Conflict, InvalidRequest, ItemUnavailable, ServiceError, Unavailable
from mnemosyne.ids import derived_id
from mnemosyne.ports.embedder import Vector
from mnemosyne.ports.services import SubscriberServices
from mnemosyne.service import deliveries, group_commit, redrives
from mnemosyne.service.deliveries import Push
from tests.fakes import FAKE_SPACE, FakeEmbedder, FakeQueue, store_of
from tests.model.delivery import HINDERED, IMMUTABLE, REFUSED, SLICE, Faults, comparable
from tests.model.process import KillableConnection, Killed, Process
from tests.model.requests import FINAL
from tests.waiting import wait_until

SPACES = (FAKE_SPACE, EmbeddingSpace("fake", "another fake", 64))

REQUESTS = """
SELECT request_id, i.state, shown.state AS shown, i.error,
    CAST(EXTRACT(day FROM now() - i.updated_at) AS integer) AS days,
    coalesce(i.redriven_at = i.updated_at, false) AS redriven,
    i.source, i.key, encode(i.content_hash, 'hex') AS content_hash, i.version_at, i.version_published, m.content
FROM ingest_requests i
LEFT JOIN memories m ON m.id = i.memory_id
CROSS JOIN LATERAL reported_outcome(i.state, i.error, m.id, i.updated_at, i.redriven_at) AS shown
WHERE i.namespace = :namespace
"""
MEMORIES = "SELECT id, content, superseded_by FROM memories WHERE namespace = :namespace"
RECORDS = """
SELECT k.key_id, m.content, k.version_at, k.version_published, k.deleted_at, k.deleted_published
FROM source_keys k
LEFT JOIN memories m ON m.id = k.memory_id
WHERE k.namespace = :namespace
"""
LETTERS = """
SELECT message_id, lost, redriven_at IS NOT NULL AS in_flight, redrives,
    CAST(EXTRACT(day FROM now() - last_failed_at) AS integer) AS days,
    CAST(EXTRACT(day FROM now() - dead_lettered_at) AS integer) AS days_kept
FROM dead_letters WHERE namespace = :namespace
"""
PASS_DAYS = """
WITH requests AS (
    UPDATE ingest_requests SET updated_at = updated_at - make_interval(days => CAST(:days AS integer)),
        redriven_at = redriven_at - make_interval(days => CAST(:days AS integer))
    WHERE namespace = :namespace
)
UPDATE dead_letters SET dead_lettered_at = dead_lettered_at - make_interval(days => CAST(:days AS integer)),
    last_failed_at = last_failed_at - make_interval(days => CAST(:days AS integer)),
    redriven_at = redriven_at - make_interval(days => CAST(:days AS integer))
WHERE namespace = :namespace
"""
SET_ROOM = """
INSERT INTO quotas (namespace, memories) VALUES (:namespace, CAST(:memories AS bigint))
ON CONFLICT (namespace) DO UPDATE SET memories = EXCLUDED.memories
"""
SESSIONS = "SELECT FROM pg_stat_activity WHERE pid = ANY (CAST(:pids AS integer[]))"
CLEAN = """
WITH a AS (DELETE FROM memories WHERE namespace = :namespace),
    b AS (DELETE FROM ingest_requests WHERE namespace = :namespace),
    c AS (DELETE FROM dead_letters WHERE namespace = :namespace),
    d AS (DELETE FROM quotas WHERE namespace = :namespace)
DELETE FROM source_keys WHERE namespace = :namespace
"""


class Embedder(FakeEmbedder):
    """Embedder with the given faults. It calls a function while it embeds."""

    def __init__(self, faults: Faults, space: EmbeddingSpace) -> None:
        super().__init__()
        self.model = space.model
        self.faults = faults
        self.meanwhile: Callable[[], None] | None = None

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        if self.meanwhile:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        if self.faults.away:
            raise Unavailable(self.faults.away)
        if self.faults.refused.intersection(texts):
            raise InvalidRequest(REFUSED)
        if self.faults.hindered.intersection(texts):
            raise ItemUnavailable(HINDERED)
        return super().embed_documents(texts)


class Topic(FakeQueue):
    """A topic in memory. A published message waits for delivery until it is acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.published_messages: list[Published] = []
        self.waiting: list[Published] = []

    def add(self, message: Published) -> None:
        """Publish a message."""
        self.published_messages.append(message)
        self.waiting.append(message)

    def settle(self, message: Published, *, acknowledged: bool) -> None:
        """Remove the message from the waiting messages if it was acknowledged. Otherwise keep it waiting."""
        self.waiting = [waiting for waiting in self.waiting if waiting is not message] + (
            [] if acknowledged else [message]
        )

    def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        """Publish the message of a dead letter again."""
        if self.away:
            raise Unavailable("the topic is away")
        self.add(Published(message_id=f"message-{len(self.published_messages)}", data=data, attributes=attributes))


@dataclass
class Database:
    """A database whose memories move from one embedding space to another and back."""

    owner: Connection
    url: str
    moves: int = 0

    def change_space(self) -> None:
        """Move all memories to the other embedding space."""
        self.moves += 1
        target = SPACES[self.moves % len(SPACES)]
        reembedding = Reembedding(self.owner, Embedder(Faults(), target), target)
        reembedding.begin()
        while reembedding.missing():
            reembedding.fill(100)
        reembedding.index()
        assert reembedding.switch()


class World:
    """One namespace on a real PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self.owner = database.owner
        self.change_space = database.change_space
        self.namespace = str(uuid4())
        self.faults = Faults()
        self.topic = Topic()
        self.outcome_topic = None
        self._open = connection_factory(database.url)
        self._connections: list[KillableConnection] = []
        self.start()

    def start(self, *, kill_at: int | None = None, is_after: bool = False) -> None:
        """Start a process, which is killed at its n-th statement."""
        self.process = Process()
        self.pool = Pool(self._connect, 8)
        self.memories = MemoryStore(
            MemoryDatabase(self.pool, FAKE_SPACE, immutable_sources=[IMMUTABLE]), self.namespace
        )
        self._embedders = {space.model: Embedder(self.faults, space) for space in SPACES}
        assert self.memories.database.embedding_space
        self.process.kill_at, self.process.is_after, self.process.statements = kill_at, is_after, 0

    def end(self) -> None:
        """End the process and its sessions."""
        self.process.killed = True
        pids = "{" + ",".join(str(connection.pid) for connection in self._connections) + "}"
        for connection in self._connections:
            connection.close()
        self._connections = []
        wait_until(lambda: not self.owner.run(SESSIONS, pids=pids), "the sessions have ended", pause=0.001)

    def close(self) -> None:
        """End the process, and delete all rows of the namespace."""
        self.end()
        self.owner.run(CLEAN, namespace=self.namespace)

    def memories_of(self, namespace: str) -> MemoryStore:
        """Return the memory store of a namespace."""
        return store_of(self.memories, namespace)

    @property
    def embedder(self) -> Embedder:
        """The embedder for the embedding space that the process knows, which may not be the present space."""
        return self._embedders[self.memories.database.embedding_space.model]

    def deliver(
        self, message: Published, *, give_up: bool, late: bool = False, meanwhile: Callable[[], None] | None = None
    ) -> bool:
        """Deliver a message to a function, and return whether it was acknowledged."""
        self.embedder.meanwhile = meanwhile
        function = deliveries.give_up if give_up else deliveries.store
        try:
            with patch.object(group_commit, "SLICE_CHUNKS", SLICE), patch.object(Push, "expires_soon", new=late):
                function(Push(message, attempt=1), cast("SubscriberServices", self))
        except ServiceError:
            return False
        finally:
            for embedder in self._embedders.values():
                embedder.meanwhile = None
        return True

    def redrive(self, message_id: str, *, now: bool) -> bool:
        """Redrive a letter, and return whether it was published."""
        try:
            redrives.redrive(message_id, memories=self.memories, queue=self.topic, now=now)
        except (Conflict, Unavailable):
            return False
        return True

    def delete(self, memory_id: UUID) -> None:
        """Delete a memory by its id."""
        assert self.memories.delete(memory_id)

    def supersede(self, memory_id: UUID, successor: UUID | None) -> bool:
        """Set the memory that supersedes another one, or remove it. Return False if the change is refused."""
        try:
            change = MemoryChange(superseded_by=successor) if successor else MemoryChange(not_superseded=True)
            assert self.memories.update(memory_id, change)
        except Conflict:
            return False
        return True

    def pass_days(self, days: int) -> None:
        """Move the time forward by days, and start a new process, whose cache of stored contents is empty."""
        self.end()
        self.start()
        self.owner.run(PASS_DAYS, namespace=self.namespace, days=days)

    def set_room(self, memories: int | None) -> None:
        """Set the number of memories that the namespace may have."""
        self.owner.run(SET_ROOM, namespace=self.namespace, memories=memories)

    def stored_memories(self) -> dict[UUID, tuple[str, UUID | None]]:
        """Return content and successor of each memory."""
        rows = self.owner.run(MEMORIES, namespace=self.namespace)
        return {row["id"]: (row["content"], row["superseded_by"]) for row in rows}

    def view(self) -> dict[str, Any]:
        """Return the state of the namespace, in the form of `Model.view`."""
        memories = self.stored_memories()
        return {
            "requests": {
                row["request_id"]: (
                    row["state"],
                    row["shown"],
                    row["days"],
                    row["redriven"],
                    comparable(row["error"]),
                    derived_id(row["source"], row["key"]) if row["source"] else None,
                    # Only a forgetting reads the content hash of a request that is not final.
                    row["content_hash"] if row["state"] in FINAL else None,
                    row["content"] if row["state"] in ("stored", "duplicate") else None,
                    (row["version_at"], row["version_published"]),
                )
                for row in self.owner.run(REQUESTS, namespace=self.namespace)
            },
            "memories": sorted(
                (content, by is not None, memories[by][0] if by in memories else None)
                for content, by in memories.values()
            ),
            "records": {
                row["key_id"]: (
                    row["content"],
                    (row["version_at"], row["version_published"]),
                    (row["deleted_at"], row["deleted_published"]),
                )
                for row in self.owner.run(RECORDS, namespace=self.namespace)
            },
            "letters": {
                row["message_id"]: (row["lost"], row["in_flight"], row["redrives"], row["days"], row["days_kept"])
                for row in self.owner.run(LETTERS, namespace=self.namespace)
            },
        }

    def _connect(self) -> KillableConnection:
        if self.process.killed:
            raise Killed
        plain = self._open()
        connection = KillableConnection(plain._driver, self.process)
        self._connections.append(connection)
        return connection
