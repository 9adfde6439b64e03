"""The stores and checks for operators' commands, and the periodic tasks of the function `migrate`.

OwnerStores must connect to the database as the role that owns the schema. MemoryStores connects as the database user
that the settings name.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from typing import Any, Final

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.api_keys import ApiKeyStore
from mnemosyne.adapters.database.archive import Archive
from mnemosyne.adapters.database.audit import AuditLog
from mnemosyne.adapters.database.change_feed import ChangeFeeds
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import read_embedding_space
from mnemosyne.adapters.database.owner_store import GrantStore, Holds, Lockouts, Quotas
from mnemosyne.adapters.database.reembedding import Reembedding, abandon
from mnemosyne.adapters.database.retention import Retention
from mnemosyne.app import doctor
from mnemosyne.app.container import ConfiguredServices, connection_factory_for, outcome_topic
from mnemosyne.app.migrate import deploy
from mnemosyne.app.signing import signer
from mnemosyne.domain.archive import ArchivedMemory
from mnemosyne.domain.change_feed import ChangeEvent
from mnemosyne.domain.embedding_space import EmbeddingSpace, provider_of
from mnemosyne.domain.health import Check
from mnemosyne.errors import ServiceError
from mnemosyne.observability import EventLog, fault_fields
from mnemosyne.ports.identity import Signer
from mnemosyne.ports.queue import IngestQueue, Topic
from mnemosyne.settings import Settings

log = EventLog(__name__)

EXPIRY_SECONDS: Final = 60.0
"""Seconds after which a run that removes expired memories does not begin another batch."""
ANNOUNCED_AT_ONCE: Final = 1_000
"""Number of events of change feeds that are read, published and marked as published at a time."""
ANNOUNCING_SECONDS: Final = 45.0
"""Seconds after which `announce` does not begin another batch. The next run continues."""
EXPIRY_PRINCIPAL: Final = "system:expiry"
"""The principal that the audit trail names for the removal of expired memories."""


class OwnerStores:
    """The stores that must connect to the database as the role that owns the schema."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self.connect = connect
        self.keys = ApiKeyStore(connect)
        self.quotas = Quotas(connect)
        self.grants = GrantStore(connect)
        self.lockouts = Lockouts(connect)
        self.audit = AuditLog(lambda: closing(connect()))
        self.retention = Retention(connect)
        self.holds = Holds(connect)
        self.feeds = ChangeFeeds(connect)

    def schema_files(self) -> Sequence[Mapping[str, Any]]:
        """Return the label, the version, the name and the time of application of each file of the schema."""
        with closing(self.connect()) as connection:
            files = migrations.status(connection, migrations.schema_files())
        return [
            {"label": file.label, "version": file.version, "name": file.name, "applied_at": file.applied_at}
            for file in files
        ]


class MemoryStores:
    """The memories, the queue and the checks of a system. Connects as the database user that the settings name."""

    def __init__(self, services: ConfiguredServices) -> None:
        self._services = services
        self.audit = AuditLog(lambda: services.pool.connection())

    @property
    def queue(self) -> IngestQueue:
        """The queue of requests that are accepted and not yet stored."""
        return self._services.queue

    def memories_of(self, namespace: str) -> MemoryStore:
        """Return the store of a namespace's memories."""
        return self._services.memories_of(namespace)

    def archive_of(self, namespace: str) -> Archive:
        """Return the archive of a namespace, which reads and restores the data that only a complete export contains."""
        return Archive(self._services.pool.connection, namespace)

    def sign(self, receipt: Mapping[str, Any]) -> Mapping[str, Any]:
        """Sign the receipt of a forgetting (a deletion of selected memories). Return the signature and the public key.

        Raises Misconfigured and Unavailable.
        """
        from mnemosyne.adapters.signing import receipts

        return receipts.sign(receipt, self._signer)

    def receipt_keys(self) -> Sequence[Mapping[str, Any]]:
        """Return the public keys with which receipts are verified, as JWKs. Raises Misconfigured, Unavailable."""
        return self._signer.public_keys()

    @property
    def _signer(self) -> Signer:
        settings = self._services.settings
        return signer(settings.receipt_signing_key, "receipt_signing_key", settings)

    def checks(self) -> Iterator[Check]:
        """Yield the result of each check of `mnemosyne doctor`."""
        return doctor.examine(self._services)


class SystemOperator(OwnerStores, MemoryStores):
    """Runs operators' commands on the system in the settings, as the role that owns the schema.

    The embedding space of the memories is read from the database, because the settings may name a different space.
    """

    def __init__(self, settings: Settings) -> None:
        MemoryStores.__init__(self, ConfiguredServices(settings, any_space=True))
        OwnerStores.__init__(self, connection_factory_for(settings))
        self._settings = settings

    def restore(self, namespace: str, memories: Sequence[ArchivedMemory]) -> int:
        """Store memories exactly as they were exported, and return the number of stored memories.

        Raises Conflict if the content of a memory is already stored under another id, or if the memory's id already
        belongs to another memory.
        """
        return self.archive_of(namespace).restore(memories, self._services.embedder_of)

    def migrate(self) -> Sequence[str]:
        """Apply pending migrations, recreate SQL functions and grants, and check that the embedder works.

        Returns the names of the applied files.
        """
        return deploy(self._settings, repair=True)

    def embedding_space(self) -> EmbeddingSpace:
        """Return the embedding space of the memories, from the database."""
        with closing(self.connect()) as connection:
            return read_embedding_space(connection)

    def space_of(self, model: str, dimension: int) -> EmbeddingSpace:
        """Return the embedding space of a model.

        If the model's name does not show its provider, use the provider of the settings.
        """
        return EmbeddingSpace(provider_of(model, self._settings.embedder), model, dimension)

    @contextmanager
    def move_to(self, target: EmbeddingSpace) -> Iterator[Reembedding]:
        """Yield an object that moves all memories to another embedding space, on a connection without time limits."""
        with closing(self._connect_for_long()) as connection:
            yield Reembedding(connection, self._services.embedder_of(target), target)

    def abandon_move(self) -> None:
        """Drop the new embeddings of a move to another embedding space. Raises Conflict if no move has begun."""
        with closing(self._connect_for_long()) as connection:
            abandon(connection)

    @cached_property
    def _connect_for_long(self) -> Callable[[], Connection]:
        return connection_factory_for(self._settings, socket_timeout=None, statement_seconds=0)


def expire_memories(connect: Callable[[], Connection], clock: Callable[[], float] = time.monotonic) -> dict[str, Any]:
    """Remove expired memories and old events of change feeds, and return the number of removed memories.

    A run begins no further batch of memories after EXPIRY_SECONDS. The next run removes the other expired memories. A
    run that removes memories adds one row to the audit trail.
    """
    retention, feeds = Retention(connect), ChangeFeeds(connect)
    deadline, total = clock() + EXPIRY_SECONDS, 0
    try:
        for count in retention.remove_all_expired():
            total += count
            if clock() >= deadline:
                break
    finally:
        if total:
            log.info("memories_expired", count=total)
            event = {"principal": EXPIRY_PRINCIPAL, "action": "expire", "outcome": "done", "count": total}
            record(AuditLog(lambda: closing(connect())), event)
    while feeds.remove_old() and clock() < deadline:
        pass
    return {"removed": total}


def record(audit: AuditLog, event: Mapping[str, Any]) -> None:
    """Record an event in the audit trail. A failure is logged and not raised, because the operation is already done."""
    try:
        audit.record(event)
    except ServiceError as exc:
        log.error("audit_lost", action=event["action"], principal=event["principal"], **fault_fields(exc))


def announce_changes(settings: Settings) -> dict[str, Any]:
    """Publish the unpublished changes of memories to the topic in the settings.

    Returns the number of published changes. If the settings have no topic, nothing is published and the result is 0.
    """
    topic = outcome_topic(settings)
    feeds = ChangeFeeds(connection_factory_for(settings))
    return {"announced": announce(feeds, topic) if topic else 0}


def announce(feeds: ChangeFeeds, topic: Topic[ChangeEvent]) -> int:
    """Publish the unpublished events of the change feeds, and return their number.

    The events of a memory are published in the order of its changes. After a crash, events may be published again
    with the same event ids. If another process is publishing, the result is 0. Raises Unavailable.
    """
    deadline, count = time.monotonic() + ANNOUNCING_SECONDS, 0
    with feeds.announcer() as announcer:
        while announcer and (events := announcer.unannounced_events(ANNOUNCED_AT_ONCE)):
            topic.publish(events)
            announcer.mark(events)
            count += len(events)
            if time.monotonic() > deadline:
                break
    if count:
        log.info("changes_announced", count=count)
    return count
