"""Port of forgetting: deleting selected memories of one namespace for good, with all copies of their texts."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.forgetting import Forgetting, ForgettingEffects, Preview, Selection
from mnemosyne.domain.memory import Cursor, IngestRequest, KeysetCursor, Reading


class ForgettingStore(Protocol):
    """Forgets selected memories in steps.

    It deletes the memories with their texts, and keeps messages that were published before from storing them again.
    """

    def preview_forgetting(self, selection: Selection, limit: int, *, after: Cursor | None = None) -> Preview:
        """Return the number of memories that a forgetting would delete, and a page of them, oldest first."""

    def begin_forgetting(self, forgetting_id: UUID, selection: Selection, token: str, requested_by: str) -> int:
        """Begin a forgetting and return the number of memories that it will delete.

        Raises Conflict if the token confirms another set of memories, or a legal hold is on one of them.
        """

    def forget_some(self, forgetting_id: UUID) -> int:
        """Delete some of the forgetting's memories in one transaction.

        Returns the number of deleted memories: 0 when none is left.
        """

    def forget_in_letter(
        self, forgetting_id: UUID, letter: DeadLetter, data: bytes | None, forgotten: Sequence[Reading]
    ) -> bool:
        """Remove the forgotten texts from a dead letter, and record its forgotten requests as deleted.

        The letter's data are replaced; None deletes the letter. Returns false, and changes nothing, if the letter now
        has other data than those that were read.
        """

    def letters_looked_at(self, forgetting_id: UUID, last: KeysetCursor) -> None:
        """Record the last dead letter that the forgetting has searched for forgotten memories."""

    def finish_forgetting(self, forgetting_id: UUID) -> None:
        """Record that a forgetting is finished, unless some of its memories are not deleted yet."""

    def forgetting(self, forgetting_id: UUID) -> Forgetting | None:
        """Return the forgetting with this id."""

    def forgettings(self, limit: int) -> Sequence[Forgetting]:
        """Return the latest forgettings, the latest first."""

    def forgotten_ids(self, forgetting_id: UUID, limit: int, *, after: UUID | None = None) -> Sequence[UUID]:
        """Return ids of the memories that a forgetting has deleted or will delete, in order."""

    def standing(self, requests: Sequence[IngestRequest], forgetting_id: UUID | None = None) -> ForgettingEffects:
        """Return which of these requests must not be stored, because their memories were forgotten.

        All forgettings of the namespace are considered, or only the given one.
        """
