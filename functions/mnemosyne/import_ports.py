"""What importing from buckets needs from the outside beside `ports`, as Protocols."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from mnemosyne.domain.memory import IngestState, IngestStatus
from mnemosyne.domain.object_import import ObjectImport, OpenObject, StoredObject
from mnemosyne.ports import SubscriberServices


class ObjectImports(Protocol):
    """How far objects of buckets have been read, and what became of what was in them."""

    def progress(self, namespace: str, source: str) -> ObjectImport | None:
        """How far the object has been read; None where it has not."""

    def record(self, namespace: str, progress: ObjectImport) -> None:
        """Note how far it has been read; never less far than before."""

    def final_states(self, namespace: str, source: str) -> Mapping[IngestState, int]:
        """How many of the object's memories have reached each final state."""

    def outcomes(self, namespace: str, source: str, limit: int, *, after: str = "") -> Sequence[IngestStatus]:
        """Return final states of the object's memories by their keys, after one of those."""


class ObjectStore(Protocol):
    """Buckets, as far as importing from them needs them."""

    def open(self, wanted: StoredObject) -> AbstractContextManager[OpenObject]:
        """Return the object's content and what is known of it.

        Raises NotFound, Misconfigured or Unavailable, also in use.
        """

    def write_report(self, wanted: StoredObject, lines: Iterable[bytes]) -> bool:
        """Write the report beside the object; whether it was not there yet. Raises Misconfigured or Unavailable."""


class ImportServices(SubscriberServices, Protocol):
    """What the function that reads buckets needs beside."""

    @property
    def objects(self) -> ObjectStore:
        """Where objects are."""

    @property
    def imports(self) -> ObjectImports:
        """How far they have been read."""
