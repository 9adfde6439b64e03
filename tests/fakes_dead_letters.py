"""The part of the MemoryStore in dictionaries that keeps dead letters."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

from mnemosyne.domain.dead_letter import (
    ALL_DEAD_LETTERS,
    DeadLetterCause,
    DeadLetterChoice,
    DeadLetterSummary,
    Redrivable,
)
from mnemosyne.domain.memory import DeadLetter, IngestState, IngestStatus, KeysetCursor, Unstored

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
FINAL = (IngestState.STORED, IngestState.DUPLICATE, IngestState.DELETED)
Name = tuple[str, UUID]


class Requests(dict[Name, IngestStatus]):
    """The states of requests by namespace and id, and in which order they changed."""

    def __init__(self) -> None:
        super().__init__()
        self.changed_in: dict[Name, int] = {}
        self.redriven_at: dict[Name, datetime] = {}
        """Of requests to which nothing has happened since."""
        self.changes = 0

    def __setitem__(self, name: Name, status: IngestStatus) -> None:
        super().__setitem__(name, status)
        self.redriven_at.pop(name, None)
        self.changes += 1
        self.changed_in[name] = self.changes


class FakeDeadLetters:
    """Messages that were given up."""

    requests: Requests
    announced: set[tuple[str, UUID]]
    contents: dict[tuple[str, UUID], str]
    stored_dead_letters: dict[tuple[str, str], DeadLetter]
    letter_changes: dict[tuple[str, str], int]
    time = NOW
    """By the database's clock."""

    def store_dead_letter(self, namespace: str, dead_letter: DeadLetter, *, unless: int | None = None) -> bool:
        if self._fail_again(namespace, dead_letter, dead_letter.cause, lost=unless is None):
            return False
        if unless is not None and sum(n == namespace for n, _ in self.stored_dead_letters) >= unless:
            return False
        kept = replace(self._named(namespace, dead_letter), lost=unless is None)
        before = self.stored_dead_letters.get((namespace, kept.message_id))
        self._keep_letter(namespace, replace(before, lost=before.lost or kept.lost) if before else kept)
        return before is None or not before.lost

    def give_up(
        self, namespace: str, dead_letter: DeadLetter, given_up: Sequence[Unstored], *, contents: Mapping[UUID, str]
    ) -> DeadLetter | None:
        others, waiting = [], []
        for one in given_up:
            known = self.requests.get((namespace, one.request_id))
            if known and known.state in FINAL:
                stored = self.contents.get((namespace, one.request_id))
                others += [one] if contents.get(one.request_id, stored) != stored else []
                continue
            waiting.append(one)
            if known and known.state is IngestState.FAILED:
                continue
            error = (known.error if known else None) or one.error
            self.announced.discard((namespace, one.request_id))
            self.requests[namespace, one.request_id] = IngestStatus(
                request_id=one.request_id,
                state=IngestState.DEAD_LETTERED,
                attempts=known.attempts if known else 0,
                error=error,
                updated_at=self.time,
                origin=one.origin,
            )
            dead_letter = replace(dead_letter, cause=error)
        if not (waiting or others):
            return None
        if again := self._fail_again(namespace, dead_letter, dead_letter.cause, lost=bool(others)):
            return again
        kept = ((one.data, one.attributes) for (n, _), one in self.stored_dead_letters.items() if n == namespace)
        if (dead_letter.data, dead_letter.attributes) in kept:
            return None
        return self._keep_letter(namespace, replace(self._named(namespace, dead_letter), lost=bool(others)))

    def _fail_again(self, namespace: str, message: DeadLetter, cause: str, *, lost: bool) -> DeadLetter | None:
        for (of, message_id), letter in self.stored_dead_letters.items():
            if message.letter_id == _letter_id(of, message_id) and (of in ("", namespace) or not namespace):
                again = replace(letter, cause=cause, lost=letter.lost or lost, redriven_at=None)
                if letter.redriven_at:
                    again = replace(again, failures=letter.failures + 1, last_failed_at=self.time)
                return self._keep_letter(of, again)
        return None

    def _named(self, namespace: str, dead_letter: DeadLetter) -> DeadLetter:
        other = self.stored_dead_letters.get((namespace, dead_letter.message_id))
        if other is None or other.data == dead_letter.data:
            return dead_letter
        return replace(
            dead_letter, message_id=f"{dead_letter.message_id}.{hashlib.sha256(dead_letter.data).hexdigest()[:16]}"
        )

    def _keep_letter(self, namespace: str, letter: DeadLetter) -> DeadLetter:
        first = min(letter.dead_lettered_at, self.time)
        last_failed_at = letter.last_failed_at or first
        kept = replace(letter, letter_id=None, dead_lettered_at=first, last_failed_at=last_failed_at)
        kept = replace(kept, due_at=_due_at(kept, last_failed_at))
        self.stored_dead_letters[namespace, kept.message_id] = kept
        self.requests.changes += 1
        self.letter_changes[namespace, kept.message_id] = self.requests.changes
        return kept

    def conclude_dead_letter(self, namespace: str, letter_id: UUID, request_ids: Sequence[UUID]) -> None:
        states = {self.requests[namespace, one].state for one in request_ids if (namespace, one) in self.requests}
        for of, message_id in list(self.stored_dead_letters):
            is_meant = letter_id == _letter_id(of, message_id) and of in ("", namespace)
            if is_meant and not states & {IngestState.QUEUED, IngestState.DEAD_LETTERED}:
                del self.stored_dead_letters[of, message_id]

    def dead_letters(
        self,
        namespace: str,
        limit: int,
        *,
        after: DeadLetter | None = None,
        choice: DeadLetterChoice = ALL_DEAD_LETTERS,
    ) -> Sequence[DeadLetter]:
        mine = [one for (n, _), one in self.stored_dead_letters.items() if n == namespace and self._means(choice, one)]
        mine.sort(key=_letter_key)
        return [one for one in mine if after is None or _letter_key(one) > _letter_key(after)][:limit]

    def _means(self, choice: DeadLetterChoice, letter: DeadLetter) -> bool:
        age = self.time - letter.dead_lettered_at
        is_due = letter.due_at is not None and letter.due_at <= self.time
        causes = (letter.cause.casefold(), _group(letter.cause).casefold())
        return (
            (choice.message_ids is None or letter.message_id in choice.message_ids)
            and (choice.cause is None or any(choice.cause.casefold() in cause for cause in causes))
            and (choice.younger_than is None or age <= choice.younger_than)
            and (choice.older_than is None or age >= choice.older_than)
            and (
                choice.redrivable is None
                or is_due
                or (choice.redrivable is Redrivable.NOW and letter.redriven_at is None)
            )
        )

    def dead_letter_ids(self, namespace: str, choice: DeadLetterChoice) -> Sequence[str]:
        return [one.message_id for one in self.dead_letters(namespace, 1_000_000, choice=choice)]

    def dead_letter_summaries(
        self,
        namespace: str,
        limit: int,
        *,
        after: KeysetCursor | None = None,
        choice: DeadLetterChoice = ALL_DEAD_LETTERS,
    ) -> Sequence[DeadLetterSummary]:
        latest = list(reversed(self.dead_letters(namespace, 1_000_000, choice=choice)))
        rest = [one for one in latest if after is None or _letter_key(one) < (after.timestamp, after.key)]
        return [
            DeadLetterSummary(
                message_id=one.message_id,
                dead_lettered_at=one.dead_lettered_at,
                cause=one.cause,
                attributes=dict(one.attributes),
                bytes=len(one.data),
                last_failed_at=one.last_failed_at or one.dead_lettered_at,
                failures=one.failures,
                redrives=one.redrives,
                redriven_at=one.redriven_at,
                due_at=one.due_at or one.dead_lettered_at,
            )
            for one in rest[:limit]
        ]

    def dead_letter_causes(
        self, namespace: str, choice: DeadLetterChoice = ALL_DEAD_LETTERS
    ) -> Sequence[DeadLetterCause]:
        letters = self.dead_letters(namespace, 1_000_000, choice=choice)
        counts = Counter(_group(one.cause) for one in letters)
        groups = []
        for cause, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            mine = [one for one in letters if _group(one.cause) == cause]
            groups.append(
                DeadLetterCause(
                    cause=cause,
                    letters=count,
                    in_flight=sum(one.redriven_at is not None for one in mine),
                    oldest=min(one.dead_lettered_at for one in mine),
                    newest=max(one.last_failed_at or one.dead_lettered_at for one in mine),
                )
            )
        return groups

    def dead_letter(self, namespace: str, message_id: str) -> DeadLetter | None:
        return self.stored_dead_letters.get((namespace, message_id))

    def mark_redriven(
        self, namespace: str, message_id: str, request_ids: Sequence[UUID], *, into: str, now: bool
    ) -> UUID | None:
        only = DeadLetterChoice(message_ids=(message_id,), redrivable=Redrivable.NOW if now else Redrivable.DUE)
        for letter in self.dead_letters(namespace, 1, choice=only):
            self._keep_letter(namespace, replace(letter, redriven_at=self.time, redrives=letter.redrives + 1))
            queued = [(into, one) for one in request_ids if (into, one) in self.requests.redriven_at]
            queued += self._move(into, request_ids, IngestState.DEAD_LETTERED, IngestState.QUEUED)
            self.requests.redriven_at.update(dict.fromkeys(queued, self.time))
            return _letter_id(namespace, message_id)
        return None

    def unmark_redriven(self, namespace: str, letter_id: UUID, request_ids: Sequence[UUID], *, into: str) -> None:
        for (of, message_id), letter in list(self.stored_dead_letters.items()):
            if letter_id == _letter_id(of, message_id) and of == namespace and letter.redriven_at:
                self._keep_letter(namespace, replace(letter, redriven_at=None, redrives=letter.redrives - 1))
                self._move(into, request_ids, IngestState.QUEUED, IngestState.DEAD_LETTERED)

    def _move(self, namespace: str, request_ids: Sequence[UUID], state: IngestState, to: IngestState) -> list[Name]:
        names = [(namespace, one) for one in request_ids if (namespace, one) in self.requests]
        moved = [name for name in names if self.requests[name].state is state]
        for name in moved:
            self.requests[name] = replace(self.requests[name], state=to)
        return moved

    def drop_dead_letters(self, namespace: str, message_ids: Sequence[str]) -> int:
        found = [name for name in ((namespace, one) for one in message_ids) if name in self.stored_dead_letters]
        for name in found:
            del self.stored_dead_letters[name]
        return len(found)

    def _lost_letters(self, namespace: str, seen: int, until: int, begin: datetime | None) -> Sequence[DeadLetter]:
        return [
            replace(one, data=b"", dead_lettered_at=one.last_failed_at or one.dead_lettered_at)
            for (n, message_id), one in self.stored_dead_letters.items()
            if n == namespace
            and one.lost
            and seen < self.letter_changes[n, message_id] <= until
            and (begin is None or (one.last_failed_at or one.dead_lettered_at) >= begin)
        ]


def _letter_key(dead_letter: DeadLetter) -> tuple[datetime, str]:
    return dead_letter.dead_lettered_at, dead_letter.message_id


def _letter_id(namespace: str, message_id: str) -> UUID:
    return uuid5(UUID(int=0), f"{namespace}/{message_id}")


def _due_at(letter: DeadLetter, last_failed_at: datetime) -> datetime:
    if letter.redriven_at:
        return letter.redriven_at + timedelta(hours=24)
    if not letter.redrives:
        return last_failed_at
    minutes = min(10 << min(letter.redrives - 1, 10), 24 * 60)
    return last_failed_at + timedelta(minutes=minutes)


def _group(cause: str) -> str:
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]+([.,][0-9]+)*", "#", cause, flags=re.I)[:300]
