"""Ports of the import from Cloud Storage buckets."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.object_import import ObjectImport, ObjectLine, OpenObject, StoredObject


class ObjectImports(Protocol):
    """Progress of importing objects, and the outcomes of their lines."""

    def progress(self, namespace: str, source: str) -> ObjectImport | None:
        """Return how far the object has been read; None if it has not."""

    def record(self, namespace: str, progress: ObjectImport, lines: Mapping[str, UUID] | None = None) -> None:
        """Record how far it has been read, never less far than before, and the request of each line."""

    def lines(self, namespace: str, source: str, limit: int, *, after: str = "") -> Sequence[ObjectLine]:
        """List the object's lines in order, after one of them, with their outcomes."""

    def forget_lines(self, namespace: str, source: str) -> None:
        """Delete the list of the object's lines. Their outcomes stay."""


class ObjectStore(Protocol):
    """Buckets, as far as importing from them needs them."""

    def open(self, wanted: StoredObject) -> AbstractContextManager[OpenObject]:
        """Return the object's content and properties.

        Raises NotFound, Misconfigured or Unavailable, also in use.
        """

    def write_report(self, wanted: StoredObject, lines: Iterable[bytes]) -> bool:
        """Write the report next to the object; return whether it is new. Raises Misconfigured or Unavailable."""
