"""Port of the operator's operations: everything that an operator's commands read and change."""

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
        """Embed up to `limit` memories in the new space and return their number. Raises Unavailable and Conflict."""

    def index(self) -> None:
        """Build the new indexes."""

    def switch(self) -> bool:
        """Replace the old embeddings by the new ones; return False if too many memories have no new embedding."""


class Operator(Protocol):
    """The parts of a system that an operator's commands work on."""

    @property
    def keys(self) -> ApiKeyStore:
        """The API keys of agents."""

    @property
    def grants(self) -> GrantStore:
        """The grants: access that people have given to OAuth clients."""

    @property
    def people(self) -> PeopleStore:
        """The people whom the operator has locked out."""

    @property
    def clients(self) -> PeopleStore:
        """The OAuth clients that the operator has locked out."""

    @property
    def quotas(self) -> QuotaStore:
        """The store of the quotas of all namespaces."""

    @property
    def audit(self) -> AuditLog:
        """The audit trail."""

    @property
    def retention(self) -> RetentionStore:
        """The lifetimes of memories per namespace."""

    @property
    def holds(self) -> HoldStore:
        """The legal holds, which keep memories from being deleted or expiring."""

    @property
    def feeds(self) -> ChangeFeedStore:
        """The change feeds, which report the changes of memories."""

    @property
    def queue(self) -> IngestQueue:
        """The queue of requests that are accepted and not yet stored."""

    def memories_of(self, namespace: str) -> MemoryStore:
        """Return the store of a namespace's memories."""

    def archive_of(self, namespace: str) -> Archive:
        """Return the archive of a namespace, for complete exports."""

    def restore(self, namespace: str, memories: Sequence[ArchivedMemory]) -> int:
        """Store exported memories exactly, and return how many of them were not stored before. Raises Conflict."""

    def sign(self, receipt: Mapping[str, Any]) -> Mapping[str, Any]:
        """Sign the receipt of a forgetting (a deletion of selected memories). Return the signature and the public key.

        Raises Misconfigured and Unavailable.
        """

    def receipt_keys(self) -> Sequence[Mapping[str, Any]]:
        """Return the public keys that sign receipts, as JWKs. Raises Misconfigured, Unavailable."""

    def checks(self) -> Iterator[Check]:
        """Check every part of the system, and return the result of each check."""

    def migrate(self) -> Sequence[str]:
        """Apply pending migrations and return the names of the applied files."""

    def schema_files(self) -> Sequence[tuple[str, int | None, str, datetime | None]]:
        """Return label, version, name and time of application of each file of the schema."""

    def embedding_space(self) -> EmbeddingSpace:
        """Return the embedding space of the memories, from the database."""

    def space_of(self, model: str, dimension: int) -> EmbeddingSpace:
        """Return the embedding space of a model. Raises InvalidRequest if no provider has the model."""

    def move_to(self, target: EmbeddingSpace) -> AbstractContextManager[EmbeddingMove]:
        """Yield a move of all memories to another embedding space, on a connection without time limits."""

    def abandon_move(self) -> None:
        """Drop the new embeddings of a move."""

    def recall(self, stored_by: datetime) -> tuple[int, float | None]:
        """Measure how many memories a search by meaning finds, on a sample of those stored by a time.

        Each is searched by words from its middle. Returns the size of the sample and the share that was found.
        """
