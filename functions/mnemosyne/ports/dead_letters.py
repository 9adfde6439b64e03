"""What operators and subscribers need of the dead letters in a memory store, as a Protocol."""

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.dead_letter import ALL_DEAD_LETTERS, DeadLetterCause, DeadLetterChoice, DeadLetterSummary
from mnemosyne.domain.memory import DeadLetter, KeysetCursor, Unstored


class DeadLetters(Protocol):
    """Messages that were given up. Every method is confined to one namespace."""

    def store_dead_letter(self, namespace: str, dead_letter: DeadLetter, *, unless: int | None = None) -> bool:
        """Store a message as a dead letter, unless the namespace has so many; whether it was not stored before.

        A message that was republished from a letter updates that letter, and was stored before.
        """

    def give_up(
        self, namespace: str, dead_letter: DeadLetter, waiting: Sequence[Unstored], *, contents: Mapping[UUID, str]
    ) -> DeadLetter | None:
        """Record a message's waiting requests as dead-lettered, and store it as a dead letter.

        A message that was republished from a letter updates that letter. Returns the letter as it is stored; None if
        it was stored before, or if all its requests are stored with these `contents`.
        """

    def conclude_dead_letter(self, namespace: str, letter_id: UUID, request_ids: Sequence[UUID]) -> None:
        """Delete the letter that a message was republished from, unless one of its requests has no outcome yet."""

    def dead_letters(
        self,
        namespace: str,
        limit: int,
        *,
        after: DeadLetter | None = None,
        choice: DeadLetterChoice = ALL_DEAD_LETTERS,
    ) -> Sequence[DeadLetter]:
        """List dead letters, oldest first, after one of them."""

    def dead_letter_ids(self, namespace: str, choice: DeadLetterChoice) -> Sequence[str]:
        """Return the message ids of the chosen letters, oldest first, as of now."""

    def dead_letter_summaries(
        self,
        namespace: str,
        limit: int,
        *,
        after: KeysetCursor | None = None,
        choice: DeadLetterChoice = ALL_DEAD_LETTERS,
    ) -> Sequence[DeadLetterSummary]:
        """List dead letters without their data, the latest first, from a cursor on."""

    def dead_letter_causes(
        self, namespace: str, choice: DeadLetterChoice = ALL_DEAD_LETTERS
    ) -> Sequence[DeadLetterCause]:
        """Count the chosen letters by cause, the commonest first."""

    def dead_letter(self, namespace: str, message_id: str) -> DeadLetter | None:
        """Return one dead letter whole."""

    def mark_redriven(
        self, namespace: str, message_id: str, request_ids: Sequence[UUID], *, into: str, now: bool
    ) -> UUID | None:
        """Mark a letter as in flight and queue its dead-lettered requests in the namespace `into`.

        Returns the id that the republished message carries; None if there is no such letter, or it is in flight, or it
        backs off and `now` is false.
        """

    def unmark_redriven(self, namespace: str, letter_id: UUID, request_ids: Sequence[UUID], *, into: str) -> None:
        """Undo `mark_redriven` for a message that could not be published."""

    def drop_dead_letters(self, namespace: str, message_ids: Sequence[str]) -> int:
        """Delete dead letters and return their number. The outcomes of their requests stay."""
