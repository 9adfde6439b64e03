"""Port of the dead letters, for operators and for the functions that receive messages.

A dead letter is a message that could not be stored, with the cause. To redrive it is to publish the message again.
While a redriven message has no outcome, its letter is in flight.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.dead_letter import (
    ALL_DEAD_LETTERS,
    DeadLetter,
    DeadLetterCause,
    DeadLetterChoice,
    DeadLetterSummary,
)
from mnemosyne.domain.memory import FailedRequest, KeysetCursor


class DeadLetters(Protocol):
    """Messages of one namespace that could not be stored."""

    def store_dead_letter(
        self, dead_letter: DeadLetter, *, forgettings: int = 0, unless: int | None = None, lost: bool = True
    ) -> tuple[str, bool]:
        """Store a message as a dead letter. Return the letter's message id, and whether the letter is new.

        Raises Unavailable if a forgetting (a deletion of selected memories) has begun since the message was checked, so
        that it is checked again. Nothing is stored if the namespace has `unless` letters or more. `lost` means the same
        as in DeadLetter. If the message was redriven from a letter, that letter is updated.
        """

    def give_up(
        self,
        dead_letter: DeadLetter,
        waiting: Sequence[FailedRequest],
        *,
        contents: Mapping[UUID, str],
        forgettings: int = 0,
    ) -> DeadLetter | None:
        """Record the unfinished requests of a message as dead-lettered, and store the message as a dead letter.

        `contents` has the content hash of each request, empty for a deletion. If the message was redriven from a
        letter, that letter is updated. Returns the stored letter, or None if the letter existed before or all requests
        with these contents are done. Raises Unavailable if a forgetting has begun since the message was checked.
        """

    def conclude_dead_letter(self, letter_id: UUID, request_ids: Sequence[UUID]) -> None:
        """Delete the letter that a message was redriven from.

        The letter remains while one of the message's requests has no outcome yet.
        """

    def dead_letters(
        self,
        limit: int,
        *,
        after: KeysetCursor | None = None,
        choice: DeadLetterChoice = ALL_DEAD_LETTERS,
    ) -> Sequence[DeadLetter]:
        """Return dead letters after a cursor, oldest first."""

    def dead_letter_ids(self, choice: DeadLetterChoice) -> Sequence[str]:
        """Return the message ids of the chosen letters, oldest first."""

    def dead_letter_summaries(self, limit: int, *, after: KeysetCursor | None = None) -> Sequence[DeadLetterSummary]:
        """Return summaries of dead letters, which have no data, the latest first, after a cursor."""

    def dead_letter_causes(self, choice: DeadLetterChoice = ALL_DEAD_LETTERS) -> Sequence[DeadLetterCause]:
        """Count the chosen letters by cause, the commonest first."""

    def dead_letter(self, message_id: str) -> DeadLetter | None:
        """Return one dead letter with its data, or None if it does not exist."""

    def mark_redriven(self, message_id: str, request_ids: Sequence[UUID], *, into: str, now: bool) -> UUID | None:
        """Mark a letter as in flight, and set its dead-lettered requests to queued in the namespace `into`.

        Returns the id for the message that is published again. Returns None if the letter does not exist, is in flight,
        or must wait for its next attempt and `now` is false.
        """

    def unmark_redriven(self, letter_id: UUID, request_ids: Sequence[UUID], *, into: str) -> None:
        """Undo `mark_redriven` for a message that could not be published."""

    def drop_dead_letters(self, message_ids: Sequence[str]) -> int:
        """Delete dead letters and return their number. The outcomes of their requests stay."""
