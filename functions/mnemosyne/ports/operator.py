"""Port of the operator's operations: everything that the commands of an operator read and change."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from mnemosyne.domain.archive import ArchivedMemory
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.health import Check
from mnemosyne.ports.admin import (
    ApiKeyStore,
    AuditLog,
    ChangeFeedStore,
    GrantStore,
    HoldStore,
    PeopleStore,
    QuotaStore,
    RetentionStore,
)
from mnemosyne.ports.archive import Archive
from mnemosyne.ports.memories import MemoryStore
from mnemosyne.ports.queue import IngestQueue


class EmbeddingMove(Protocol):
    """A move of all memories to another embedding space. Each step can be repeated."""

    def begin(self) -> None:
        """Create the columns and tables of the new embeddings. Raises Conflict."""

    def missing(self) -> int:
        """Return the number of memories without a new embedding."""

    def fill(self, limit: int) -> int:
        """Embed up to `limit` memories and return their number. Raises Unavailable and Conflict."""

    def index(self) -> None:
        """Build the new indexes."""

    def switch(self) -> bool:
        """Replace the old embeddings; return False if too many memories have no new embedding."""


class Operator(Protocol):
    """The parts of a system that an operator's commands work on."""

    @property
    def keys(self) -> ApiKeyStore:
        """API keys."""

    @property
    def grants(self) -> GrantStore:
        """Grants of OAuth clients."""

    @property
    def people(self) -> PeopleStore:
        """Blocked people."""

    @property
    def clients(self) -> PeopleStore:
        """Blocked clients."""

    @property
    def quotas(self) -> QuotaStore:
        """The store of the quotas of all namespaces."""

    @property
    def audit(self) -> AuditLog:
        """The audit trail."""

    @property
    def retention(self) -> RetentionStore:
        """Lifetimes of memories."""

    @property
    def holds(self) -> HoldStore:
        """Legal holds."""

    @property
    def feeds(self) -> ChangeFeedStore:
        """Change feeds."""

    @property
    def queue(self) -> IngestQueue:
        """Queue of accepted requests."""

    def memories_of(self, namespace: str) -> MemoryStore:
        """Return the store of a namespace's memories."""

    def archive_of(self, namespace: str) -> Archive:
        """Return the archive of a namespace."""

    def restore(self, namespace: str, memories: Sequence[ArchivedMemory]) -> int:
        """Store exported memories exactly, and return the number of those that were not there. Raises Conflict."""

    def sign(self, receipt: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the signature of a receipt and the public key. Raises Misconfigured, Unavailable."""

    def receipt_keys(self) -> Sequence[Mapping[str, Any]]:
        """Return the public keys that sign receipts, as JWKs. Raises Misconfigured, Unavailable."""

    def checks(self) -> Iterator[Check]:
        """Check every part of the system."""

    def migrate(self) -> Sequence[str]:
        """Apply pending migrations and return the files."""

    def schema_files(self) -> Sequence[tuple[str, int | None, str, datetime | None]]:
        """Return label, version, name and time of application of each file of the schema."""

    def embedding_space(self) -> EmbeddingSpace:
        """Return the space of the memories, from the database."""

    def space_of(self, model: str, dimension: int) -> EmbeddingSpace:
        """Return the space of a model. Raises InvalidRequest if no provider has it."""

    def move_to(self, target: EmbeddingSpace) -> AbstractContextManager[EmbeddingMove]:
        """Yield the move to a space, with a connection without time limits."""

    def abandon_move(self) -> None:
        """Drop the new embeddings of a move."""

    def recall(self, stored_by: datetime) -> tuple[int, float | None]:
        """Return the size of a sample of memories stored by a time, and the share that words from their middle find."""
