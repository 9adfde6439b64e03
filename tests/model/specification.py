"""Outcomes of messages and dead letters by docs/requests.md, in plain Python.

Each operation changes the model in the same steps in which the system commits. So a test can compute all states in
which a crash during the operation may leave the system.
"""

from dataclasses import dataclass, replace
from typing import Any

from mnemosyne.domain.message import IngestMessage, decode
from mnemosyne.domain.pubsub_message import LETTER_ID, Published
from tests.model.delivery import Delivery, Faults, Meanwhile, comparable
from tests.model.memories import key_of
from tests.model.requests import FINAL, AgainError, Letter, Requests, is_same_request
from tests.request_states import documented_states


@dataclass
class Model(Requests):
    """Model of one namespace, and of the functions that serve it."""

    def ingest(self, message: Published, faults: Faults, meanwhile: Meanwhile | None = None) -> None:
        """Deliver a message to `ingest`. Raises AgainError if it is not acknowledged."""
        read = decode(message)
        outcome = Delivery(self, faults, meanwhile).store(read)
        has_unreported_part = bool(read.dead_letter_reason) or outcome.conflicting
        if has_unreported_part or outcome.over_quota:
            self._store_letter(message, has_unreported_part=has_unreported_part)
        else:
            self._conclude(message, read)

    def give_up(
        self, message: Published, faults: Faults, meanwhile: Meanwhile | None = None, *, late: bool = False
    ) -> None:
        """Deliver a message to `dead_letter`.

        `late` says that Pub/Sub would soon delete the message. Raises AgainError.
        """
        read = decode(message)
        cause = ""
        for callback in () if late else (meanwhile, None):
            try:
                self.ingest(message, faults, callback)
                return
            except AgainError as exc:
                if not exc.of_item:
                    raise
                cause = exc.error
        if not read.retry_reason:
            self.record_unstored(read.rejected, "failed")
        letter = (
            self._give_up(message, read, read.retry_reason or read.dead_letter_reason or cause)
            if read.request_ids
            else None
        )
        if read.dead_letter_reason or (letter and letter.has_unreported_part):
            self._store_letter(message, has_unreported_part=True)
        if not read.dead_letter_reason and not letter:
            self._conclude(message, read)

    def redrive(self, message_id: str, *, now: bool, queue_away: bool = False) -> bool:
        """Publish a letter's message again, and return whether it was published."""
        letter = self.letters[message_id]
        if not letter.may_be_redriven(self.day, now=now):
            return False
        rows = [self.requests[id_] for id_ in decode(letter.message).request_ids if id_ in self.requests]
        self.commit()
        letter.redriven, letter.redrives = self.day, letter.redrives + 1
        for row in rows:
            if documented_states()["redriven", row.state] or (row.state == "queued" and row.redriven):
                row.state, row.redriven, row.changed = "queued", True, self.day
        if queue_away:
            self.commit()
            letter.redriven, letter.redrives = None, letter.redrives - 1
            for row in rows:
                if row.state == "queued":
                    row.state, row.redriven, row.changed = "dead_lettered", False, self.day
            return False
        return True

    def view(self) -> dict[str, Any]:
        """Return the state of the namespace, in the form of `World.view`.

        It contains everything on which later operations depend. After a crash, the machine compares it to find which of
        the model's possible states is the present one.
        """
        memories = self.memories
        return {
            "requests": {
                name: (
                    row.state,
                    self.shown(row),
                    self.day - row.changed,
                    row.redriven,
                    comparable(row.error),
                    row.key,
                    row.content_hash if row.state in FINAL else None,
                    memories[row.memory].content if row.memory in memories else None,
                    row.version or (None, None),
                )
                for name, row in self.requests.items()
            },
            "memories": sorted(
                (
                    memory.content,
                    memory.superseded_by is not None,
                    memories[memory.superseded_by].content if memory.superseded_by in memories else None,
                )
                for memory in memories.values()
            ),
            "records": {
                key: (
                    memories[record.current].content if record.current else None,
                    record.version or (None, None),
                    (record.deleted_at, record.deleted_published),
                )
                for key, record in self.records.items()
            },
            "letters": {
                name: (
                    letter.has_unreported_part,
                    letter.redriven is not None,
                    letter.redrives,
                    self.day - letter.failed,
                    self.day - letter.since,
                )
                for name, letter in self.letters.items()
            },
        }

    def _store_letter(self, message: Published, *, has_unreported_part: bool) -> None:
        """Store a message as a dead letter, or update the one that it was republished from."""
        self.commit()
        if again := self._letter_of(message):
            self._fail_again(again, has_unreported_part=has_unreported_part)
        elif message.message_id in self.letters:
            self.letters[message.message_id].has_unreported_part |= has_unreported_part
        else:
            self._add(message, has_unreported_part=has_unreported_part)

    def _give_up(self, message: Published, read: IngestMessage, cause: str) -> Letter | None:
        waiting = read.waiting(cause or "given up")
        is_latest = bool(read.retry_reason or (cause and not read.dead_letter_reason))
        self.commit()
        same = {
            ingest_request.request_id: is_same_request(
                row,
                read.contents.get(ingest_request.request_id),
                key_of(ingest_request) if ingest_request.external_id else None,
            )
            for ingest_request in waiting
            if (row := self.requests.get(ingest_request.request_id)) and row.state in FINAL
        }
        for ingest_request in waiting:
            waiting_request = self.requests.get(ingest_request.request_id)
            external_id = {} if waiting_request or not ingest_request.external_id else {"key": key_of(ingest_request)}
            self.record(
                ingest_request.request_id,
                "given_up",
                error=(waiting_request.error if waiting_request and not is_latest else None) or ingest_request.error,
                **external_id,
            )
        if all(same.get(ingest_request.request_id) for ingest_request in waiting):
            return None
        if again := self._letter_of(message):
            self._fail_again(again, has_unreported_part=not all(same.values()))
            return again
        data_and_attributes = (message.data, message.kept_attributes)
        if any(
            (letter.message.data, letter.message.attributes) == data_and_attributes for letter in self.letters.values()
        ):
            return None
        return self._add(message, has_unreported_part=not all(same.values()))

    def _add(self, message: Published, *, has_unreported_part: bool) -> Letter:
        kept_message = replace(message, attributes=message.kept_attributes)
        letter = self.letters[message.message_id] = Letter(kept_message, has_unreported_part, self.day, self.day)
        return letter

    def _letter_of(self, message: Published) -> Letter | None:
        name = message.attributes.get(LETTER_ID)
        return next((letter for letter in self.letters.values() if name and letter.name == name), None)

    def _fail_again(self, letter: Letter, *, has_unreported_part: bool) -> None:
        letter.has_unreported_part |= has_unreported_part
        if letter.redriven is not None:
            letter.failed, letter.redriven = self.day, None

    def _conclude(self, message: Published, read: IngestMessage) -> None:
        letter = self._letter_of(message)
        if letter is None:
            return
        self.commit()
        rows = [self.requests[id_] for id_ in read.request_ids if id_ in self.requests]
        if not any(row.state in ("queued", "dead_lettered") for row in rows):
            self.letters = {
                name: other_letter for name, other_letter in self.letters.items() if other_letter is not letter
            }
