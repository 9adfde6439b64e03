"""Port of forgetting, in one namespace."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.forgetting import Forgetting, Preview, Selection, Standing
from mnemosyne.domain.memory import Cursor, DeadLetter, IngestRequest, KeysetCursor, Reading


class ForgettingStore(Protocol):
    """Deletes selected memories with their texts, in steps, and keeps older messages from storing them again."""

    def preview_forgetting(self, selection: Selection, limit: int, *, after: Cursor | None = None) -> Preview:
        """Return what a forgetting would delete, with a page of the memories, oldest first."""

    def begin_forgetting(self, forgetting_id: UUID, selection: Selection, token: str, requested_by: str) -> int:
        """Begin a forgetting and return the number of its memories.

        Raises Conflict if the token is not for this set of memories, or a hold keeps one of them.
        """

    def forget_some(self, forgetting_id: UUID) -> int:
        """Delete some of its memories in a transaction and return their number: 0 when none is left."""

    def forget_in_letter(
        self, forgetting_id: UUID, letter: DeadLetter, data: bytes | None, forgotten: Sequence[Reading]
    ) -> bool:
        """Replace the data of a dead letter, or delete it (None), and record the forgotten requests as deleted.

        Returns false if the letter has other data now; nothing was changed then.
        """

    def letters_looked_at(self, forgetting_id: UUID, last: KeysetCursor) -> None:
        """Record the last dead letter that the forgetting has checked."""

    def finish_forgetting(self, forgetting_id: UUID) -> None:
        """Record that a forgetting is finished, if none of its memories is left."""

    def forgetting(self, forgetting_id: UUID) -> Forgetting | None:
        """Return a forgetting."""

    def forgettings(self, limit: int) -> Sequence[Forgetting]:
        """Return the latest forgettings, the latest first."""

    def forgotten_ids(self, forgetting_id: UUID, limit: int, *, after: UUID | None = None) -> Sequence[UUID]:
        """Return ids of its memories in order."""

    def standing(self, requests: Sequence[IngestRequest], forgetting_id: UUID | None = None) -> Standing:
        """Return which of these requests the forgettings of the namespace cover, or this one does."""
