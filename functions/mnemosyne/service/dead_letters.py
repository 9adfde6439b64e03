"""Store messages that were given up, and publish them again.

A letter is published again in four steps, and a crash between any two loses nothing:

1. The letter is marked as in flight and its requests are queued, in one transaction.
2. Its message is published with the letter's id.
3. The subscriber commits the outcomes of the requests. If the message fails again, it updates the letter instead.
4. The subscriber deletes the letter, before it acknowledges the message.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from mnemosyne.domain.attributes import check_attributes
from mnemosyne.domain.dead_letter import DeadLetterChoice, Redrivable
from mnemosyne.domain.dead_letter_kind import DeadLetterKind
from mnemosyne.domain.memory import DeadLetter
from mnemosyne.domain.message import IngestMessage, decode
from mnemosyne.domain.object_import import OBJECT_NOTIFICATION
from mnemosyne.domain.pubsub_message import LETTER_ID, Published
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.errors import Conflict, InvalidRequest, MnemosyneError, NotFound, ServiceError, Unavailable
from mnemosyne.observability import EventLog, fault_fields
from mnemosyne.ports.memories import MemoryStore
from mnemosyne.ports.queue import IngestQueue
from mnemosyne.service.forgetting import without_forgotten
from mnemosyne.service.rejection import INVALID_RECORD, reject

log = EventLog(__name__)

BEYOND_QUOTA_KEPT = 200
"""Dead letters that a namespace may have before messages over quota are no longer kept."""
MOST_UNAVAILABLE = 5
"""A run ends when this many letters in a row fail because the queue or the database is unavailable."""


def store_dead_letter(dead_letter: DeadLetter, *, memories: MemoryStore) -> None:
    """Store a message, under its message id, if a request of it has no other outcome.

    The empty namespace has the messages that name none.
    """
    kept, forgettings = without_forgotten(dead_letter, memories=memories)
    if kept and memories.store_dead_letter(kept, forgettings=forgettings):
        _log(kept, memories.namespace)


def _log(dead_letter: DeadLetter, namespace: str) -> None:
    """Log a dead letter; its cause only if the kind cannot quote the message."""
    kind = dead_letter.kind
    quotes = kind.is_of_sender or kind is DeadLetterKind.UNSTORABLE
    kept = {
        "namespace": namespace,
        "message_id": dead_letter.message_id,
        "subscription": dead_letter.subscription,
        "cause": kind,
        "error": kind.meaning if quotes else dead_letter.cause,
        "next_step": kind.next_step,
    }
    if kind.is_of_sender:
        log.warning("message_refused", **kept)
    else:
        log.error("dead_lettered", **kept)


def store_over_quota(dead_letter: DeadLetter, *, memories: MemoryStore) -> None:
    """Store a message that exceeded the quota, so that the operator can redrive it once there is room.

    Letters need space too, so a namespace with BEYOND_QUOTA_KEPT letters gets no further letter. The requests have
    failed and say why in any case.
    """
    kept, forgettings = without_forgotten(dead_letter, memories=memories)
    newly = bool(kept and memories.store_dead_letter(kept, forgettings=forgettings, unless=BEYOND_QUOTA_KEPT))
    log.info("beyond_quota", namespace=memories.namespace, message_id=dead_letter.message_id, newly_kept=newly)


def give_up(dead_letter: DeadLetter, message: IngestMessage, *, memories: MemoryStore) -> DeadLetter | None:
    """Store a message that was given up, so that it can be redriven, and record its requests as dead-lettered.

    Requests that can never be stored fail. The message is not stored if all other requests are already stored with the
    same content. Returns the dead letter as it is stored.
    """
    if not message.retry_reason:
        reject(message.rejected, memories=memories, cause=INVALID_RECORD)
    kept, forgettings = without_forgotten(dead_letter, memories=memories)
    if kept is None:
        return None
    waiting = message.waiting(dead_letter.cause)
    stored = memories.give_up(kept, waiting, contents=message.contents, forgettings=forgettings)
    if stored:
        _log(dead_letter, memories.namespace)
    return stored


def conclude(message: IngestMessage, letter_id: UUID | None, *, memories: MemoryStore) -> None:
    """Delete the letter of a republished message, once each of its requests has an outcome."""
    if letter_id:
        memories.conclude_dead_letter(letter_id, message.request_ids)


def request_ids_in(namespace: str, dead_letter: DeadLetter) -> list[UUID]:
    """Return the requests of a dead letter."""
    message = Published(message_id=dead_letter.message_id, data=dead_letter.data, attributes=dead_letter.attributes)
    return decode(message, allowed_namespace=namespace).request_ids


@dataclass(frozen=True, kw_only=True)
class Redrive:
    """A dead letter that can be published again, and how."""

    namespace: str
    letter: DeadLetter
    into: str
    request_ids: list[UUID]
    attributes: dict[str, str]

    @classmethod
    def of(cls, namespace: str, letter: DeadLetter, *, into: str | None = None) -> "Redrive":
        """Prepare a letter to be redriven in its namespace, or in the namespace `into` if it has none.

        Raises InvalidRequest if its message cannot be published again, with the reason.
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
                else f"the dead letter {letter.message_id} names no namespace: say into which one"
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

    def run(self, *, memories: MemoryStore, queue: IngestQueue, now: bool = False) -> None:
        """Publish the letter's message; `now` even if the letter backs off.

        Raises Conflict if the letter is in flight or backs off, NotFound if it is gone, InvalidRequest, Unavailable.
        """
        message_id = self.letter.message_id
        letter_id = memories.mark_redriven(message_id, self.request_ids, into=self.into, now=now)
        if letter_id is None:
            raise _refusal(message_id, memories)
        try:
            queue.republish(self.letter.data, self.attributes | {LETTER_ID: str(letter_id)})
        except BaseException:  # BaseException includes Ctrl-C: a letter that is marked cannot be redriven for 24 hours
            try:
                memories.unmark_redriven(letter_id, self.request_ids, into=self.into)
            except Unavailable as exc:
                about = fault_fields(exc, otherwise="redrive it again after 24 hours")
                log.warning("redrive_still_marked", namespace=self.namespace, message_id=message_id, **about)
            raise
        log.info("redriven", namespace=self.into, message_id=message_id, count=len(self.request_ids))


def _refusal(message_id: str, memories: MemoryStore) -> Conflict | NotFound:
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


def redrive(message_id: str, *, memories: MemoryStore, queue: IngestQueue) -> list[UUID]:
    """Publish the message of one dead letter again, even if it backs off, and return its requests.

    Raises NotFound, and the errors of Redrive.
    """
    letter = memories.dead_letter(message_id)
    if letter is None:
        raise _not_found(message_id)
    prepared = Redrive.of(memories.namespace, letter)
    prepared.run(memories=memories, queue=queue, now=True)
    return prepared.request_ids


@dataclass(frozen=True, kw_only=True)
class Redriven:
    """Result of redrive_chosen for one letter."""

    message_id: str
    letter: DeadLetter | None = None
    request_ids: Sequence[UUID] = ()
    problem: str = ""
    """Reason why the letter was not published again."""
    unavailable: bool = False
    """Whether the reason is that the queue or the database is unavailable."""


def redrive_chosen(
    choice: DeadLetterChoice,
    *,
    memories: MemoryStore,
    queue: IngestQueue,
    into: str | None = None,
    dry_run: bool = False,
    limit: int | None = None,
) -> Iterator[Redriven]:
    """Publish the messages of the chosen letters again, each at most once, oldest first.

    A letter that cannot be published does not stop the run. The run ends if MOST_UNAVAILABLE letters in a row fail
    because the queue or the database is unavailable. If letters are chosen by message id, those that cannot be redriven
    are reported.
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
                raise _refusal(message_id, memories)
            attempt = _redrive_one(message_id, memories, queue, into, choice.redrivable, dry_run=dry_run)
        except ServiceError as exc:
            unavailable += 1
            attempt = Redriven(message_id=message_id, problem=f"{message_id}: {exc}", unavailable=True)
        except MnemosyneError as exc:
            attempt = Redriven(message_id=message_id, problem=str(exc))
        except Exception as exc:  # an unexpected error with one letter must not stop the other letters
            log.exception("redrive_crashed", namespace=memories.namespace, message_id=message_id)
            attempt = Redriven(message_id=message_id, problem=f"{message_id}: {type(exc).__name__}: {exc}")
        else:
            unavailable = 0
        yield attempt
        if unavailable == MOST_UNAVAILABLE:
            return


def _redrive_one(
    message_id: str,
    memories: MemoryStore,
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
