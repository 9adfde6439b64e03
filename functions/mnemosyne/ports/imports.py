"""Ports for importing the memories in objects of Cloud Storage buckets."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.object_import import ObjectImport, ObjectLine, OpenObject, StoredObject


class ObjectImports(Protocol):
    """Progress of importing objects into one namespace, and the outcomes of each object's lines."""

    def progress(self, source: str) -> ObjectImport | None:
        """Return how far an object has been read, or None if reading has not begun."""

    def record(self, progress: ObjectImport, lines: Mapping[str, UUID] | None = None) -> None:
        """Record how far an object has been read, and the request of each line.

        If the recorded position is already later, it does not change.
        """

    def lines(self, source: str, limit: int, *, after: str = "") -> Sequence[ObjectLine]:
        """Return the object's lines after a cursor, in order, with their outcomes."""

    def forget_lines(self, source: str) -> None:
        """Delete the list of an object's lines. The outcomes of their requests stay."""


class ObjectStore(Protocol):
    """Read access to objects in buckets, and write access for reports."""

    def open(self, stored_object: StoredObject) -> AbstractContextManager[OpenObject]:
        """Open an object to read its content and properties.

        Raises NotFound, Misconfigured or Unavailable, also while the content is read.
        """

    def write_report(self, stored_object: StoredObject, lines: Iterable[bytes]) -> bool:
        """Write the report next to the object, and return whether it is new. Raises Misconfigured or Unavailable."""
