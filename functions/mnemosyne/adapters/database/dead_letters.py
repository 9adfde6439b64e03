"""Dead letters in PostgreSQL.

A dead letter is a message that could not be stored, with the cause. To redrive a dead letter means to publish its
message again. A dead letter is in flight while its redriven message has no outcome.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from mnemosyne.adapters.database import dead_letter_sql
from mnemosyne.adapters.database.forgetting import check_forgettings
from mnemosyne.adapters.database.memory_database import NamespaceStore
from mnemosyne.adapters.database.rows import json_text, text_array, unstored_json, uuid_array
from mnemosyne.domain.dead_letter import (
    ALL_DEAD_LETTERS,
    DeadLetter,
    DeadLetterCause,
    DeadLetterChoice,
    DeadLetterSummary,
)
from mnemosyne.domain.memory import FailedRequest, KeysetCursor
from mnemosyne.errors import PartialChange, ServiceError

DROPPED_AT_ONCE: Final = 100
"""Maximum number of dead letters that one transaction deletes. The number is low, because a dead letter may have ten
megabytes."""
LETTERS_BYTES: Final = 2_000_000_000
"""Maximum size in bytes of the data of all dead letters of a namespace together. It applies only to a message for which
the caller also gives a maximum number of dead letters (`unless`). Two hundred of the largest messages have this
size."""


class DeadLetters(NamespaceStore):
    """The methods of MemoryStore for dead letters: messages that could not be stored as memories."""

    def store_dead_letter(
        self,
        dead_letter: DeadLetter,
        *,
        forgettings: int = 0,
        unless: int | None = None,
        has_unreported_part: bool = True,
    ) -> tuple[str, bool]:
        """Store a message as a dead letter. Return the message id of the dead letter, and whether it is new.

        If the message was published again from a dead letter, this dead letter is updated. Otherwise a new one is
        stored, but only while the namespace has fewer than `unless` dead letters, and their data have fewer than
        LETTERS_BYTES bytes. If `unless` is None, there is no limit. `has_unreported_part` is true if a part of the
        message (such as one memory) has no row in `ingest_requests`.

        `forgettings` is the number of forgettings (deletions of selected memories) in the namespace at the time when
        the caller removed forgotten texts from the message. Raises Unavailable if another forgetting has begun since
        then. When Pub/Sub then delivers the message again, the caller also removes the texts of this forgetting.
        """
        values = _columns(dead_letter) | {"namespace": self.namespace, "has_unreported_part": has_unreported_part}
        with self._transaction() as connection:
            check_forgettings(connection, self.namespace, forgettings)
            if dead_letter.letter_id and (rows := connection.run(dead_letter_sql.FAIL_DEAD_LETTER_AGAIN, **values)):
                return rows[0]["message_id"], False
            rows = connection.run(dead_letter_sql.STORE_DEAD_LETTER, **values, unless=unless, most_bytes=LETTERS_BYTES)
            return (rows[0]["message_id"], rows[0]["is_new"]) if rows else (dead_letter.message_id, False)

    def has_room(self, dead_letter: DeadLetter, *, unless: int) -> bool:
        """Whether the message has a dead letter already, or the namespace has room for one more.

        The namespace has room if it has fewer than `unless` dead letters, and if their data have fewer than
        LETTERS_BYTES bytes.
        """
        (row,) = self._run(
            dead_letter_sql.HAS_ROOM,
            message_id=dead_letter.message_id,
            letter_id=dead_letter.letter_id,
            unless=unless,
            most_bytes=LETTERS_BYTES,
        )
        return bool(row["has_room"])

    def give_up(
        self,
        dead_letter: DeadLetter,
        waiting: Sequence[FailedRequest],
        *,
        contents: Mapping[UUID, str],
        forgettings: int = 0,
    ) -> DeadLetter | None:
        """Record the unfinished requests of a message as dead-lettered, and store the message as a dead letter.

        Returns the new dead letter. If the message was published again from a dead letter, that dead letter is updated
        and returned. Nothing is stored, and None is returned, if an earlier delivery of the message has stored the dead
        letter, or if all requests already have outcomes for the same contents. `contents` has the content hash of each
        request, and an empty text for a deletion.

        `forgettings` is the number of forgettings (deletions of selected memories) in the namespace at the time when
        the caller removed forgotten texts from the message. Raises Unavailable if another forgetting has begun since.
        """
        with self._transaction() as connection:
            check_forgettings(connection, self.namespace, forgettings)
            if dead_letter.letter_id:
                connection.run(
                    dead_letter_sql.LOCK_DEAD_LETTER, namespace=self.namespace, letter_id=dead_letter.letter_id
                )
            letter_rows = connection.run(
                dead_letter_sql.GIVE_UP,
                namespace=self.namespace,
                requests=unstored_json(waiting, contents),
                has_latest_error=dead_letter.kind.has_latest_error,
                **_columns(dead_letter),
            )
        return next((DeadLetter(**row.by_name) for row in letter_rows), None)

    def conclude_dead_letter(self, letter_id: UUID, request_ids: Sequence[UUID]) -> None:
        """Delete a dead letter whose message was published again, if all requests of the message have an outcome."""
        self._run(dead_letter_sql.CONCLUDE_DEAD_LETTER, letter_id=letter_id, request_ids=uuid_array(request_ids))

    def dead_letters(
        self, limit: int, *, after: KeysetCursor | None = None, choice: DeadLetterChoice = ALL_DEAD_LETTERS
    ) -> Sequence[DeadLetter]:
        """Return dead letters after a cursor, oldest first."""
        rows = self._run(
            dead_letter_sql.DEAD_LETTERS,
            choice=json_text(choice),
            limit=limit,
            cursor_time=after.timestamp if after else None,
            cursor_id=after.key if after else None,
        )
        return [DeadLetter(**row.by_name) for row in rows]

    def dead_letter_ids(self, choice: DeadLetterChoice) -> Sequence[str]:
        """Return the message ids of the dead letters that match the filter `choice`, oldest first."""
        return [row["message_id"] for row in self._run(dead_letter_sql.DEAD_LETTER_IDS, choice=json_text(choice))]

    def dead_letter_summaries(self, limit: int, *, after: KeysetCursor | None = None) -> Sequence[DeadLetterSummary]:
        """Return a page of dead letters without their data, the latest first. The page begins after the cursor."""
        rows = self._run(
            dead_letter_sql.DEAD_LETTER_SUMMARIES,
            limit=limit,
            cursor_time=after.timestamp if after else None,
            cursor_id=after.key if after else None,
        )
        return [DeadLetterSummary(**row.by_name) for row in rows]

    def dead_letter_causes(self, choice: DeadLetterChoice = ALL_DEAD_LETTERS) -> Sequence[DeadLetterCause]:
        """Count the dead letters with each cause, among those that match `choice`. The commonest cause is first."""
        rows = self._run(dead_letter_sql.DEAD_LETTER_CAUSES, choice=json_text(choice))
        return [DeadLetterCause(**row.by_name) for row in rows]

    def dead_letter(self, message_id: str) -> DeadLetter | None:
        """Return one dead letter with its data, or None if it does not exist."""
        rows = self._run(dead_letter_sql.DEAD_LETTER, message_id=message_id)
        return next((DeadLetter(**row.by_name) for row in rows), None)

    def mark_redriven(self, message_id: str, request_ids: Sequence[UUID], *, into: str, now: bool) -> UUID | None:
        """Mark a dead letter as in flight, before the caller publishes its message again.

        The message is published into the namespace `into`, and its dead-lettered requests become queued there. Returns
        the `letter_id` of the dead letter, which the caller puts into the message. Returns None in three cases: the
        dead letter does not exist; it has been in flight for less than 24 hours; or `now` is false and the wait after a
        failed redrive has not ended.
        """
        with self._transaction() as connection:
            (row,) = connection.run(
                dead_letter_sql.MARK_REDRIVEN,
                namespace=self.namespace,
                message_id=message_id,
                into=into,
                request_ids=uuid_array(request_ids),
                now=now,
            )
            if row["letter_id"]:
                self._record_action(connection, [message_id])
        letter_id: UUID | None = row["letter_id"]
        return letter_id

    def unmark_redriven(self, letter_id: UUID, request_ids: Sequence[UUID], *, into: str) -> None:
        """Undo `mark_redriven` for a message that could not be published."""
        self._run(dead_letter_sql.UNMARK_REDRIVEN, letter_id=letter_id, into=into, request_ids=uuid_array(request_ids))

    def drop_dead_letters(self, message_ids: Sequence[str]) -> int:
        """Delete dead letters and return their number. The outcomes of their requests stay.

        Raises PartialChange if the database fails after the first of several transactions.
        """
        dropped = 0
        for start in range(0, len(message_ids), DROPPED_AT_ONCE):
            try:
                dropped += self._drop_batch(message_ids[start : start + DROPPED_AT_ONCE])
            except ServiceError as exc:
                if not dropped:
                    raise
                raise PartialChange(f"only {dropped} of {len(message_ids)} dead letters were deleted", exc) from exc
        return dropped

    def _drop_batch(self, message_ids: Sequence[str]) -> int:
        with self._transaction() as connection:
            (row,) = connection.run(
                dead_letter_sql.DROP_DEAD_LETTERS, namespace=self.namespace, message_ids=text_array(message_ids)
            )
            self._record_action(connection, message_ids)
        return int(row["dropped"])


def _columns(dead_letter: DeadLetter) -> dict[str, object]:
    return vars(dead_letter) | {"attributes": json_text(dict(dead_letter.attributes))}
