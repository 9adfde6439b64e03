"""Keep messages that were given up, and publish them again."""

from uuid import UUID

from mnemosyne.domain.memory import DeadLetter
from mnemosyne.domain.message import IngestMessage, decode
from mnemosyne.domain.object_import import OBJECT_NOTIFICATION
from mnemosyne.domain.published import Published
from mnemosyne.errors import InvalidRequest, Unavailable, Uncertain
from mnemosyne.observability import EventLog
from mnemosyne.ports import IngestQueue, MemoryStore
from mnemosyne.service import ingest

log = EventLog(__name__)

BEYOND_QUOTA_KEPT = 200
"""Dead letters that a namespace may have before messages over quota are no longer kept."""


def store_dead_letter(namespace: str, dead_letter: DeadLetter, *, memories: MemoryStore) -> None:
    """Keep a message of which something can be answered for in no other way, under its message id.

    A namespace of no characters is that of messages which name none.
    """
    if memories.store_dead_letter(namespace, dead_letter):
        log.error("dead_lettered", namespace=namespace, message_id=dead_letter.message_id)


def store_over_quota(namespace: str, dead_letter: DeadLetter, *, memories: MemoryStore) -> None:
    """Keep a message of which something had no room, so that the operator can redrive it once there is.

    Of a namespace so many are kept, for they take room too; its requests say why they failed in any case.
    """
    # Not newly where there are too many, or where an earlier delivery of it is kept.
    newly = memories.store_dead_letter(namespace, dead_letter, unless=BEYOND_QUOTA_KEPT)
    log.warning("beyond_quota", namespace=namespace, message_id=dead_letter.message_id, newly_kept=newly)


def give_up(
    namespace: str, dead_letter: DeadLetter, message: IngestMessage, *, memories: MemoryStore
) -> DeadLetter | None:
    """Keep a message that was given up, so that it can be redriven, and record its requests as dead-lettered.

    Those that can never be stored fail. It is not kept where each of the others is stored, with the same content.
    Returns the dead letter as it is stored.
    """
    if not message.postponed:
        ingest.reject(namespace, message.rejected, memories=memories)
    kept = memories.give_up(namespace, dead_letter, message.waiting(dead_letter.cause), contents=message.contents)
    if kept:
        log.error("dead_lettered", namespace=namespace, message_id=kept.message_id)
    return kept


def request_ids_in(namespace: str, dead_letter: DeadLetter) -> list[UUID]:
    """Return the requests of a dead letter."""
    message = Published(message_id=dead_letter.message_id, data=dead_letter.data, attributes=dead_letter.attributes)
    return decode(message, only=namespace).request_ids


def redrive(
    namespace: str, dead_letter: DeadLetter, *, memories: MemoryStore, queue: IngestQueue, into: str | None = None
) -> None:
    """Put a dead letter of the namespace back on the queue, for that namespace or for `into`.

    It is published first, and deleted last: where it could not be published nothing was changed, and a crash in between
    leaves it to be redriven once more, which stores nothing twice. Raises InvalidRequest, Unavailable, or Uncertain
    where it is on the queue and the database was away after that.
    """
    if OBJECT_NOTIFICATION in dead_letter.attributes:
        raise InvalidRequest(
            f"the dead letter {dead_letter.message_id} tells of an object of a bucket: mend the cause, then copy the "
            "object onto itself, which tells of it anew, and drop the dead letter"
        )
    target = into or namespace
    request_ids = request_ids_in(target, dead_letter)
    queue.republish(dead_letter.data, {**dead_letter.attributes, "namespace": target})
    try:
        memories.mark_queued(target, request_ids)
        memories.delete_dead_letter(namespace, dead_letter.message_id)
    except Unavailable as exc:
        raise Uncertain(
            f"the message {dead_letter.message_id} is on the queue again, but its dead letter may still be there: "
            f"redriven once more it stores nothing twice ({exc})"
        ) from exc
    log.info("redriven", namespace=target, message_id=dead_letter.message_id, count=len(request_ids))
