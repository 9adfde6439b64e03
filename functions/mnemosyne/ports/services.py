"""The sets of ports that each function passes to its use cases."""

from datetime import datetime
from typing import Protocol

from mnemosyne.domain.quota import Quota
from mnemosyne.ports.embedder import Embedder, Reranker
from mnemosyne.ports.imports import ObjectImports, ObjectStore
from mnemosyne.ports.memories import MemoryStore
from mnemosyne.ports.queue import IngestQueue, OutcomeTopic


class Clock(Protocol):
    """The time now, aware, in UTC."""

    def __call__(self) -> datetime:
        """Now."""


class Services(Protocol):
    """All the ports that an edge hands to its use cases; each is built when first asked for."""

    @property
    def queue(self) -> IngestQueue:
        """Where accepted requests go."""

    def known_quota(self, namespace: str) -> Quota | None:
        """Return what is known of a namespace's quota, without building or asking anything."""

    @property
    def memories(self) -> MemoryStore:
        """Where memories are."""

    @property
    def embedder(self) -> Embedder:
        """What turns text into vectors of the memories' space."""

    @property
    def reranker(self) -> Reranker | None:
        """What orders anew what is found; None where nothing does."""

    @property
    def clock(self) -> Clock:
        """What time it is."""


class SubscriberServices(Services, Protocol):
    """What the functions that take pushes need beside."""

    @property
    def outcome_topic(self) -> OutcomeTopic | None:
        """Where outcomes are told; None where they are not."""


class ImportServices(SubscriberServices, Protocol):
    """Services of the function that reads buckets."""

    @property
    def objects(self) -> ObjectStore:
        """Where objects are."""

    @property
    def imports(self) -> ObjectImports:
        """How far they have been read."""
