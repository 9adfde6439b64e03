"""Operations on dead letters, which are stored messages that could not be processed."""

import shlex
import time
from base64 import b64encode
from typing import Annotated, Any

from pydantic import Field

from mnemosyne.app.operations.operation import KeyPosition, Namespace, Operation, values_of
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.dead_letter import DeadLetter, DeadLetterChoice, Redrivable
from mnemosyne.domain.parsing import Filled, Text
from mnemosyne.errors import NotFound
from mnemosyne.service.dead_letters import request_ids_in
from mnemosyne.service.redrives import MOST_UNAVAILABLE, redrive_chosen

PAGE = 100
READ_AT_ONCE = 10
"""Number of dead letters that are read at a time. The number is low, because the message of a dead letter can have 10
MB."""
SECONDS = 30.0
"""Seconds after which an operation ends its page early. The caller continues with the next page."""
IDS = 200
"""Maximum number of dead letters that one operation redrives or drops."""
Seconds = Annotated[float, Field(ge=0)]


class DeadLetterSelection(Operation):
    """Base of the operations that choose dead letters of a namespace."""

    namespace: Namespace
    younger_than: Seconds | None = None
    older_than: Seconds | None = None
    cause: Filled | None = None
    redrivable: Annotated[Redrivable | None, Field(strict=False)] = None

    @property
    def choice(self) -> DeadLetterChoice:
        """The filter for dead letters, built from the fields of the operation."""
        return DeadLetterChoice(**self.model_dump(include={"cause", "younger_than", "older_than", "redrivable"}))


class ListDeadLetters(DeadLetterSelection, action="dead_letter_list"):
    """List dead letters without their data, oldest first, a page at a time."""

    after: KeyPosition | None = None

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        memories, deadline = operator.memories_of(self.namespace), time.monotonic() + SECONDS
        rows: list[dict[str, Any]] = []
        after = self.after
        while len(rows) < PAGE and time.monotonic() < deadline:
            page = memories.dead_letters(READ_AT_ONCE, after=after, choice=self.choice)
            rows += [letter_fields(letter, self.namespace) for letter in page]
            if len(page) < READ_AT_ONCE:
                return {"letters": rows}
            after = page[-1].cursor
        return {"letters": rows, "after": after}


class CountDeadLetters(DeadLetterSelection, action="dead_letter_causes"):
    """Count dead letters by cause, the most frequent cause first. In a cause, # replaces ids and numbers."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"causes": operator.memories_of(self.namespace).dead_letter_causes(self.choice)}


class FindDeadLetters(DeadLetterSelection, action="dead_letter_ids"):
    """Return the message ids of the dead letters that match the operation's filter, oldest first."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"message_ids": operator.memories_of(self.namespace).dead_letter_ids(self.choice)}


class ShowDeadLetter(Operation, action="dead_letter_show"):
    """Show one dead letter with its data in base64."""

    namespace: Namespace
    message_id: Text

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        letter = operator.memories_of(self.namespace).dead_letter(self.message_id)
        if letter is None:
            raise not_found(self.namespace, self.message_id)
        return {"letter": letter_fields(letter, self.namespace), "data": b64encode(letter.data).decode()}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"namespace": self.namespace, "message_id": self.message_id}


class DropDeadLetters(Operation, action="dead_letter_drop"):
    """Delete dead letters. The outcomes of their requests are kept."""

    namespace: Namespace
    message_ids: Annotated[list[Text], Field(min_length=1, max_length=IDS)]

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"dropped": operator.memories_of(self.namespace).drop_dead_letters(self.message_ids)}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"namespace": self.namespace, "message_ids": self.message_ids, "count": answer["dropped"]}


class RedriveDeadLetters(Operation, action="redrive"):
    """Publish the messages of dead letters again, the oldest first. No message is published twice by one operation."""

    namespace: Namespace
    message_ids: Annotated[list[Text], Field(min_length=1, max_length=IDS)]
    now: bool
    """Whether to ignore the waiting time that follows a failed redrive."""
    into: Text | None = None
    dry_run: bool = False

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        """Publish the messages of the dead letters.

        In the answer, `untried` has the message ids that the operation did not reach before it ended. `stopped` is true
        if the operation ended early because the queue or the database is unavailable.
        """
        deadline, unavailable = time.monotonic() + SECONDS, 0
        letters: list[dict[str, Any]] = []
        problems: list[dict[str, str]] = []
        redrivable = Redrivable.NOW if self.now else Redrivable.DUE
        choice = DeadLetterChoice(message_ids=tuple(self.message_ids), redrivable=redrivable)
        attempts = redrive_chosen(
            choice,
            memories=operator.memories_of(self.namespace),
            queue=operator.queue,
            into=self.into,
            dry_run=self.dry_run,
        )
        for attempt in attempts:
            unavailable = unavailable + 1 if attempt.unavailable else 0
            if attempt.problem or attempt.letter is None:
                problems.append({"message_id": attempt.message_id, "problem": attempt.problem})
            else:
                letters.append(letter_fields(attempt.letter, self.namespace) | {"memories": len(attempt.request_ids)})
            if time.monotonic() > deadline:
                break
        tried_ids = {row["message_id"] for row in [*letters, *problems]}
        untried = [message_id for message_id in self.message_ids if message_id not in tried_ids]
        return {
            "letters": letters, "problems": problems, "untried": untried, "stopped": unavailable == MOST_UNAVAILABLE
        }  # fmt: skip

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        ids = [letter["message_id"] for letter in answer["letters"]]
        return {"namespace": self.namespace, "message_ids": ids, "count": len(ids), "dry_run": self.dry_run}


def not_found(namespace: str, message_id: str) -> NotFound:
    """Return the error for a message id that no dead letter has."""
    command = f"mnemosyne dead-letters list --namespace {shlex.quote(namespace)}"
    return NotFound(f"no dead letter of namespace {namespace!r} has the message id {message_id}: see `{command}`")


def letter_fields(letter: DeadLetter, namespace: str) -> dict[str, Any]:
    """Return the fields of a dead letter, with the size of its data instead of the data."""
    times_and_counts = ("dead_lettered_at", "last_failed_at", "failures", "redrives", "redriven_at", "due_at")
    values = values_of(letter, "message_id", *times_and_counts, "cause", "attributes")
    return values | {"bytes": len(letter.data), "request_ids": request_ids_in(namespace, letter)}
