"""Interfaces that list the adapters which the deployed functions, such as `mcp` or `ingest`, need for their work."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.outcome import Outcome
from mnemosyne.domain.quota import Quota
from mnemosyne.ports.embedder import Embedder, Reranker
from mnemosyne.ports.queue import IngestQueue, Topic

if TYPE_CHECKING:
    from mnemosyne.adapters.cloud_storage import CloudStorage
    from mnemosyne.adapters.database.memories import MemoryStore
    from mnemosyne.adapters.database.object_imports import ObjectImports

Clock: TypeAlias = Callable[[], datetime]
"""Returns the current time, with the time zone UTC."""


class Services(Protocol):
    """The adapters that the use cases need. Each is built at first use."""

    @property
    def queue(self) -> IngestQueue:
        """Queue of accepted requests."""

    def known_quota(self, namespace: str) -> Quota | None:
        """Return the cached quota of a namespace; None if there is none. Builds no adapter and runs no query."""

    def memories_of(self, namespace: str) -> "MemoryStore":
        """Return the store of a namespace's memories."""

    @property
    def embedding_space(self) -> EmbeddingSpace:
        """Embedding space (provider, model and dimension) of the memories, as last read from the database.

        After all memories have been moved to another model, the value can be outdated until this process next searches
        or stores memories, because both read it again.
        """

    @property
    def embedder(self) -> Embedder:
        """Embedder for the memories' embedding space."""

    @property
    def reranker(self) -> Reranker | None:
        """Model that reorders search results; None if none is configured."""

    @property
    def clock(self) -> Clock:
        """Source of the current time."""


class SubscriberServices(Services, Protocol):
    """Services of the functions that receive Pub/Sub pushes."""

    @property
    def outcome_topic(self) -> Topic[Outcome] | None:
        """Topic that reports outcomes of requests; None if none is configured."""


class ImportServices(SubscriberServices, Protocol):
    """Services of the function that imports objects from buckets."""

    @property
    def objects(self) -> "CloudStorage":
        """The objects in Cloud Storage buckets."""

    def imports_of(self, namespace: str) -> "ObjectImports":
        """Return the store that records how far imports into a namespace have come."""
