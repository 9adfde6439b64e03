"""Store messages that could not be processed as dead letters, and publish them again (redrive them).

A dead letter is redriven in four steps. A crash between two steps loses nothing:

1. In one transaction, the dead letter is marked as in flight and its requests are queued.
2. The message is published again, with the id of the dead letter as an attribute.
3. The subscriber commits the outcomes of the requests. If the message fails again, the subscriber updates the dead
   letter.
4. If every request has an outcome, the subscriber deletes the dead letter before it acknowledges the message.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from mnemosyne.domain.dead_letter import (
    NEXT_STEP_WITHOUT_LETTER,
    DeadLetter,
    DeadLetterChoice,
    DeadLetterKind,
    Redrivable,
)
from mnemosyne.domain.message import IngestMessage, decode
from mnemosyne.domain.object_import import OBJECT_NOTIFICATION
from mnemosyne.domain.pubsub_message import LETTER_ID, check_attributes
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.errors import Conflict, InvalidRequest, MnemosyneError, NotFound, ServiceError, Unavailable
from mnemosyne.observability import EventLog, fault_fields
from mnemosyne.ports.queue import IngestQueue
from mnemosyne.service.forgetting import without_forgotten
from mnemosyne.service.rejection import reject_invalid

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

log = EventLog(__name__)

OVER_QUOTA_LIMIT = 200
"""If a namespace has this number of dead letters, further messages that exceed the quota are not stored."""
CONFLICT_LIMIT = 200
"""If a namespace has this number of dead letters, further messages of the kind CONFLICT are not stored. The request id
of such a message belongs to another content. Without this limit, callers could fill the database with such messages,
because dead letters do not count towards the quota."""
UNREADABLE_LIMIT = 10_000
"""If a namespace has this number of dead letters, further messages that cannot be read are not stored. The limit is
higher than CONFLICT_LIMIT, because no request reports the contents of such a message, and because an operator can
redrive a message without a namespace into a namespace."""
MOST_UNAVAILABLE = 5
"""Number of consecutive failures after which `redrive_chosen` ends. Only failures of the queue or the database
count."""


def store_dead_letter(dead_letter: DeadLetter, *, memories: "MemoryStore") -> DeadLetter:
    """Store a message as a dead letter, and return the dead letter with the message id under which it is stored.

    Call this function only for failures that cannot be recorded as outcomes of requests. A message that names no
    namespace is stored in the namespace ''. A message whose sender caused the failure is only logged if the namespace
    has too many dead letters.
    """
    remaining, forgettings = without_forgotten(dead_letter, memories=memories)
    if not remaining:
        return dead_letter
    limit = _limit(dead_letter.kind)
    message_id, is_new = memories.store_dead_letter(remaining, forgettings=forgettings, unless=limit)
    # If the id has changed, an existing letter was updated. `memories` cannot read this letter if the letter is in the
    # namespace ''.
    is_kept = is_new or limit is None or message_id != dead_letter.message_id or bool(memories.dead_letter(message_id))
    if is_new or not is_kept:
        _log_dead_letter(remaining, memories.namespace, is_kept=is_kept)
    return replace(dead_letter, message_id=message_id)


def _limit(kind: DeadLetterKind) -> int | None:
    """Return the number of dead letters at which a namespace gets no more of this kind; None if there is no limit."""
    if kind is DeadLetterKind.CONFLICT:
        return CONFLICT_LIMIT
    return UNREADABLE_LIMIT if kind.is_of_sender else None


def _log_dead_letter(dead_letter: DeadLetter, namespace: str, *, is_kept: bool = True) -> None:
    """Log a dead letter. A cause that may quote the message is replaced by a sentence about causes of this kind."""
    kind = dead_letter.kind
    quotes = kind.is_of_sender or kind is DeadLetterKind.UNSTORABLE
    about = {
        "namespace": namespace,
        "message_id": dead_letter.message_id,
        "subscription": dead_letter.subscription,
        "cause": kind,
        "error": kind.meaning if quotes else dead_letter.cause,
        "next_step": kind.next_step if is_kept else NEXT_STEP_WITHOUT_LETTER,
        "kept": is_kept,
    }
    if kind.is_of_sender:
        log.warning("message_refused", **about)
    else:
        log.error("dead_lettered", **about)


def store_over_quota(dead_letter: DeadLetter, *, memories: "MemoryStore") -> None:
    """Store a message that exceeded the quota as a dead letter.

    The operator can redrive the dead letter when the namespace has room. If the namespace has OVER_QUOTA_LIMIT dead
    letters, the message is not stored, because dead letters need space, too. In both cases the requests have the state
    `failed` and report the reason.
    """
    remaining, forgettings = without_forgotten(dead_letter, memories=memories)
    message_id, newly = dead_letter.message_id, False
    if remaining:
        message_id, newly = memories.store_dead_letter(
            remaining, forgettings=forgettings, unless=OVER_QUOTA_LIMIT, has_unreported_part=False
        )
    log.info("beyond_quota", namespace=memories.namespace, message_id=message_id, newly_kept=newly)


def give_up(dead_letter: DeadLetter, message: IngestMessage, *, memories: "MemoryStore") -> DeadLetter | None:
    """Store an undeliverable message as a dead letter, and record its valid requests as dead-lettered.

    Invalid requests are recorded as failed. Returns the dead letter. Returns None if no new dead letter is necessary,
    for example because all valid requests are already stored with the same content.
    """
    if not message.retry_reason:
        reject_invalid(message, memories=memories)
    remaining, forgettings = without_forgotten(dead_letter, memories=memories)
    if remaining is None:
        return None
    waiting = message.waiting(dead_letter.cause)
    letter = memories.give_up(remaining, waiting, contents=message.contents, forgettings=forgettings)
    if letter:
        _log_dead_letter(replace(dead_letter, message_id=letter.message_id), memories.namespace)
    return letter


def conclude(message: IngestMessage, letter_id: UUID | None, *, memories: "MemoryStore") -> None:
    """Delete the dead letter of a republished message, if each request of the message has an outcome."""
    if letter_id:
        memories.conclude_dead_letter(letter_id, message.request_ids)


def request_ids_in(namespace: str, dead_letter: DeadLetter) -> list[UUID]:
    """Return the ids of the requests in a dead letter."""
    return decode(dead_letter.published, allowed_namespace=namespace).request_ids


@dataclass(frozen=True, kw_only=True)
class Redrive:
    """A dead letter that can be published again, with the namespace, requests and attributes of its message."""

    namespace: str
    letter: DeadLetter
    into: str
    request_ids: list[UUID]
    attributes: dict[str, str]

    @classmethod
    def of(cls, namespace: str, letter: DeadLetter, *, into: str | None = None) -> "Redrive":
        """Create the redrive of a dead letter. A message that names no namespace is stored in the namespace `into`.

        Raises InvalidRequest, with the reason, if the message cannot be published again.
        """
        if OBJECT_NOTIFICATION in letter.attributes:
            raise InvalidRequest(
                f"the dead letter {letter.message_id} is a notification about an object of a bucket: fix the cause, "
                "then copy the object onto itself, which sends another notification, and drop the dead letter"
            )
        target = namespace or into
        if not target or into not in (None, target):
            raise InvalidRequest(
                f"the dead letter {letter.message_id} must be redriven into its namespace {namespace!r}, got {into!r}"
                if namespace
                else f"the dead letter {letter.message_id} names no namespace: state the namespace to store in"
            )
        attributes = {**letter.attributes, "namespace": target}
        try:
            check_attributes(attributes | {LETTER_ID: ""})
        except InvalidRequest as exc:
            raise InvalidRequest(
                f"the dead letter {letter.message_id} cannot be published again: {exc}; publish its data without that "
                "attribute, then drop the dead letter"
            ) from exc
        return cls(
            namespace=namespace,
            letter=letter,
            into=target,
            request_ids=request_ids_in(target, letter),
            attributes=attributes,
        )

    def run(self, *, memories: "MemoryStore", queue: IngestQueue, now: bool = False) -> None:
        """Publish the message of the dead letter again. With `now`, the waiting time after a failed redrive is ignored.

        Raises Conflict if the dead letter is in flight or must wait, NotFound if the dead letter no longer exists,
        InvalidRequest, and Unavailable.
        """
        message_id = self.letter.message_id
        letter_id = memories.mark_redriven(message_id, self.request_ids, into=self.into, now=now)
        if letter_id is None:
            raise _refusal_error(message_id, memories)
        try:
            queue.republish(self.letter.data, self.attributes | {LETTER_ID: str(letter_id)})
        except BaseException:  # also after Ctrl-C: otherwise the mark would prevent a redrive for 24 hours
            try:
                memories.unmark_redriven(letter_id, self.request_ids, into=self.into)
            except Unavailable as exc:
                about = fault_fields(exc, otherwise="redrive it again after 24 hours")
                log.warning("redrive_still_marked", namespace=self.namespace, message_id=message_id, **about)
            raise
        log.info("redriven", namespace=self.into, message_id=message_id, count=len(self.request_ids))


def _refusal_error(message_id: str, memories: "MemoryStore") -> Conflict | NotFound:
    letter = memories.dead_letter(message_id)
    if letter is None:
        return _not_found(message_id)
    if letter.redriven_at:
        return Conflict(
            f"the dead letter {message_id} was redriven at {rfc3339(letter.redriven_at)} and has no outcome yet: it "
            f"can be redriven again if it fails, or from {rfc3339(letter.due_at)} on"
        )
    return Conflict(
        f"the dead letter {message_id} has failed {letter.failures} times and is not due before "
        f"{rfc3339(letter.due_at)}: redrive it by its message id, or with --now"
    )


def _not_found(message_id: str) -> NotFound:
    return NotFound(f"no dead letter has the message id {message_id[:100]!r}: it may have been redriven or dropped")


def redrive(message_id: str, *, memories: "MemoryStore", queue: IngestQueue) -> Sequence[UUID]:
    """Publish the message of one dead letter again, and return the ids of its requests.

    The message is published even if the dead letter should wait after a failed redrive. Raises NotFound, and the errors
    of Redrive.
    """
    return _redrive_one(message_id, memories, queue, None, Redrivable.NOW, dry_run=False).request_ids


@dataclass(frozen=True, kw_only=True)
class Redriven:
    """The result of redrive_chosen for one dead letter."""

    message_id: str
    letter: DeadLetter | None = None
    request_ids: Sequence[UUID] = ()
    problem: str = ""
    """Reason why the message was not published again."""
    unavailable: bool = False
    """Whether the queue or the database was unavailable."""


def redrive_chosen(
    choice: DeadLetterChoice,
    *,
    memories: "MemoryStore",
    queue: IngestQueue,
    into: str | None = None,
    dry_run: bool = False,
    limit: int | None = None,
) -> Iterator[Redriven]:
    """Publish the messages of the chosen dead letters again, each at most once, the oldest first.

    A dead letter that cannot be redriven does not stop the run. The run ends after MOST_UNAVAILABLE consecutive
    failures because the queue or the database is unavailable. If the choice names message ids, there is a result for
    each of them, including dead letters that cannot be redriven.
    """
    ids = memories.dead_letter_ids(choice)
    redrivable = set(ids)
    unavailable = 0
    for message_id in [
        *ids[:limit],
        *(unknown for unknown in choice.message_ids or () if unknown not in redrivable),
    ]:
        try:
            if message_id not in redrivable:
                raise _refusal_error(message_id, memories)
            attempt = _redrive_one(message_id, memories, queue, into, choice.redrivable, dry_run=dry_run)
        except ServiceError as exc:
            unavailable += 1
            attempt = Redriven(message_id=message_id, problem=f"{message_id}: {exc}", unavailable=True)
        except MnemosyneError as exc:
            attempt = Redriven(message_id=message_id, problem=str(exc))
        except Exception as exc:  # an unexpected error with one dead letter must not stop the others
            log.exception("redrive_crashed", namespace=memories.namespace, message_id=message_id)
            attempt = Redriven(message_id=message_id, problem=f"{message_id}: {type(exc).__name__}: {exc}")
        else:
            unavailable = 0
        yield attempt
        if unavailable == MOST_UNAVAILABLE:
            return


def _redrive_one(
    message_id: str,
    memories: "MemoryStore",
    queue: IngestQueue,
    into: str | None,
    redrivable: Redrivable | None,
    *,
    dry_run: bool,
) -> Redriven:
    letter = memories.dead_letter(message_id)
    if letter is None:
        raise _not_found(message_id)
    prepared = Redrive.of(memories.namespace, letter, into=into)
    if not dry_run:
        prepared.run(memories=memories, queue=queue, now=redrivable is Redrivable.NOW)
    return Redriven(message_id=message_id, letter=letter, request_ids=prepared.request_ids)
