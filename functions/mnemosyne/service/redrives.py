"""Publish the messages of dead letters again (redrive them).

A dead letter is redriven in four steps. A crash between two steps loses nothing:

1. In one transaction, the dead letter is marked as in flight, and its requests get the state `queued`.
2. The message is published again, with the id of the dead letter as an attribute.
3. The subscriber commits the outcomes of the requests. If the message fails again, the subscriber updates the dead
   letter.
4. If every request has an outcome, the subscriber deletes the dead letter before it acknowledges the message.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from mnemosyne.domain.dead_letter import DeadLetter, DeadLetterChoice, Redrivable
from mnemosyne.domain.object_import import OBJECT_NOTIFICATION
from mnemosyne.domain.pubsub_message import LETTER_ID, check_attributes
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.errors import (
    Conflict,
    InvalidRequest,
    MnemosyneError,
    NotFound,
    PartialChange,
    ServiceError,
    Unavailable,
)
from mnemosyne.observability import EventLog, fault_fields
from mnemosyne.ports.queue import IngestQueue
from mnemosyne.service.dead_letters import request_ids_in

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

log = EventLog(__name__)

MOST_UNAVAILABLE = 5
"""Number of consecutive failures after which `redrive_chosen` ends. Only failures of the queue or the database
count."""


def _attributes_to_publish(letter: DeadLetter, namespace: str, into: str | None) -> dict[str, str]:
    """Return the attributes with which the message of a dead letter is published again, such as the namespace.

    A message that names no namespace is stored in the namespace `into`. Raises InvalidRequest, with the reason, if the
    message cannot be published again.
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
    return attributes


def _refusal_error(message_id: str, memories: "MemoryStore") -> Conflict | NotFound:
    letter = memories.dead_letter(message_id)
    if letter is None:
        return _not_found_error(message_id)
    if letter.redriven_at:
        return Conflict(
            f"the dead letter {message_id} was redriven at {rfc3339(letter.redriven_at)} and has no outcome yet: it "
            f"can be redriven again if it fails, or from {rfc3339(letter.due_at)} on"
        )
    return Conflict(
        f"the dead letter {message_id} has failed {letter.failures} times and is not due before "
        f"{rfc3339(letter.due_at)}: redrive it by its message id, or with --now"
    )


def _not_found_error(message_id: str) -> NotFound:
    return NotFound(f"no dead letter has the message id {message_id[:100]!r}: it may have been redriven or dropped")


def redrive(message_id: str, *, memories: "MemoryStore", queue: IngestQueue, now: bool = True) -> Sequence[UUID]:
    """Publish the message of one dead letter again, and return the ids of its requests.

    With `now`, the waiting time after a failed redrive is ignored. Raises Conflict if the dead letter is in flight or
    must wait, NotFound if the dead letter does not exist, InvalidRequest if the message cannot be published again, and
    Unavailable if the queue or the database is unavailable. If the dead letter stays in flight although its message is
    perhaps not published, the error is a PartialChange, which is a kind of Unavailable.
    """
    redrivable = Redrivable.NOW if now else Redrivable.DUE
    return _redrive_one(message_id, memories, queue, None, redrivable, dry_run=False).request_ids


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

    A dead letter that cannot be redriven does not stop the run. The run ends early if the queue or the database was
    unavailable MOST_UNAVAILABLE times and no dead letter was redriven in between. If the choice names message ids, each
    of these ids gets a result, even if its dead letter cannot be redriven.
    """
    ids = memories.dead_letter_ids(choice)
    redrivable = set(ids)
    unavailable = 0
    for message_id in [*ids[:limit], *(unknown for unknown in choice.message_ids or () if unknown not in redrivable)]:
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
        raise _not_found_error(message_id)
    attributes = _attributes_to_publish(letter, memories.namespace, into)
    target = attributes["namespace"]
    request_ids = request_ids_in(target, letter)
    if dry_run:
        return Redriven(message_id=message_id, letter=letter, request_ids=request_ids)
    letter_id = memories.mark_redriven(message_id, request_ids, into=target, now=redrivable is Redrivable.NOW)
    if letter_id is None:
        raise _refusal_error(message_id, memories)
    try:
        queue.republish(letter.data, attributes | {LETTER_ID: str(letter_id)})
    except BaseException as failure:
        # Remove the mark "in flight" even after Ctrl-C, because the mark prevents another redrive for 24 hours.
        try:
            memories.unmark_redriven(letter_id, request_ids, into=target)
        except Unavailable as exc:
            about = fault_fields(exc, otherwise="redrive it again after 24 hours")
            log.warning("redrive_still_marked", namespace=memories.namespace, message_id=message_id, **about)
            if isinstance(failure, ServiceError):
                raise PartialChange(
                    f"the dead letter {message_id} was marked as in flight, but perhaps not published: redrive it "
                    "again after 24 hours",
                    failure,
                ) from failure
        raise
    log.info("redriven", namespace=target, message_id=message_id, count=len(request_ids))
    return Redriven(message_id=message_id, letter=letter, request_ids=request_ids)
