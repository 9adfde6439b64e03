"""Store messages as dead letters if they could not be processed."""

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from mnemosyne.domain.dead_letter import NEXT_STEP_WITHOUT_LETTER, RAISE_QUOTA, DeadLetter, DeadLetterKind
from mnemosyne.domain.message import IngestMessage, decode
from mnemosyne.observability import EventLog
from mnemosyne.service.forgetting import without_forgotten
from mnemosyne.service.rejection import OVER_QUOTA, reject, reject_invalid

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

log = EventLog(__name__)

OVER_QUOTA_LIMIT = 200
"""If a namespace has this number of dead letters, further messages that exceed the quota are not stored."""
CONFLICT_LIMIT = 200
"""If a namespace has this number of dead letters, further messages of the kind CONFLICT are not stored. In a message of
this kind, a memory or deletion has a request id that already belongs to another request. Without this limit, callers
could fill the database with such messages, because dead letters do not count towards the quota."""
UNREADABLE_LIMIT = 10_000
"""If a namespace has this number of dead letters, further messages that cannot be read, or have a newer schema version,
are not stored. The limit is higher than CONFLICT_LIMIT for two reasons. First, the contents of such a message are only
in its dead letter, because the status of a request does not report them. Second, if the message only lacks a namespace,
an operator can redrive it into a namespace, and its memories are then stored."""
_TOO_MANY_LETTERS = "the message is not kept, because the namespace has too many dead letters"
_NOT_KEPT = f"{_TOO_MANY_LETTERS}: publish it again"
_RAISE_AND_PUBLISH_AGAIN = (
    f"{RAISE_QUOTA}; then ask the publisher to publish the failed memories again, because a redrive cannot store them"
)


def store_dead_letter(dead_letter: DeadLetter, *, memories: "MemoryStore") -> DeadLetter:
    """Store a message as a dead letter, and return the dead letter with the message id under which it is stored.

    Call this function only for failures that cannot be recorded as outcomes of requests. A message that names no
    namespace is stored in the namespace ''. If the sender has caused the failure and the namespace has too many dead
    letters, the message is only logged and not stored.
    """
    remaining, forgettings = without_forgotten(dead_letter, memories=memories)
    if not remaining:
        return dead_letter
    message_id, is_new, is_kept = _store(remaining, forgettings, _limit_of_kind(dead_letter.kind), memories)
    if is_new or not is_kept:
        _log_dead_letter(remaining, memories.namespace, is_kept=is_kept)
    return replace(dead_letter, message_id=message_id)


def _store(
    dead_letter: DeadLetter,
    forgettings: int,
    limit: int | None,
    memories: "MemoryStore",
    *,
    has_unreported_part: bool = True,
) -> tuple[str, bool, bool]:
    """Store a dead letter. Return its message id, whether it is new, and whether the limit allowed to store it."""
    message_id, is_new = memories.store_dead_letter(
        dead_letter, forgettings=forgettings, unless=limit, has_unreported_part=has_unreported_part
    )
    # If the returned `message_id` differs from the id of the dead letter passed in, an older dead letter of the same
    # message was updated. A look-up would not always find the older one: it may be in the namespace '', which
    # `memories` cannot read.
    is_kept = is_new or limit is None or message_id != dead_letter.message_id or bool(memories.dead_letter(message_id))
    return message_id, is_new, is_kept


def _limit_of_kind(kind: DeadLetterKind) -> int | None:
    """Return the limit for a kind of dead letter; None if there is no limit.

    If a namespace has this number of dead letters of all kinds, no more dead letters of the given kind are stored.
    """
    if kind is DeadLetterKind.CONFLICT:
        return CONFLICT_LIMIT
    return UNREADABLE_LIMIT if kind.is_of_sender else None


def _log_dead_letter(dead_letter: DeadLetter, namespace: str, *, is_kept: bool = True) -> None:
    """Log a dead letter. If its cause may quote the message, log the meaning of the dead letter's kind instead."""
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
    """Store a message as a dead letter, because it exceeded the quota.

    The operator can redrive the dead letter when the namespace has room. If the namespace has OVER_QUOTA_LIMIT dead
    letters, the message is not stored, because dead letters need space, too. In both cases the requests have the state
    `failed` and report the reason.
    """
    remaining, forgettings = without_forgotten(dead_letter, memories=memories)
    if not remaining:
        return
    message_id, _, is_kept = _store(remaining, forgettings, OVER_QUOTA_LIMIT, memories, has_unreported_part=False)
    about = {"namespace": memories.namespace, "message_id": message_id, "kept": is_kept}
    if is_kept:
        log.info("beyond_quota", **about, next_step=DeadLetterKind.OVER_QUOTA.next_step)
    else:
        about |= {"cause": OVER_QUOTA, "error": _TOO_MANY_LETTERS, "next_step": _RAISE_AND_PUBLISH_AGAIN}
        log.warning("beyond_quota", **about)


def give_up(dead_letter: DeadLetter, message: IngestMessage, *, memories: "MemoryStore") -> DeadLetter | None:
    """Make a dead letter of a message that could not be stored, and record its valid requests as dead-lettered.

    Invalid requests are recorded as failed. If the message has a newer schema version than the server supports, and the
    namespace has too many dead letters, the message is not stored, and all its requests are recorded as failed.

    Returns the dead letter. Returns None if no dead letter is needed, for example because all valid requests are
    already stored with the same content. If the failure of an invalid request cannot be recorded, the returned dead
    letter has `has_unreported_part` set. This dead letter may not be stored yet, so the caller must store it.
    """
    invalid = () if message.retry_reason else reject_invalid(message, memories=memories)
    remaining, forgettings = without_forgotten(dead_letter, memories=memories)
    if remaining is None:
        return None
    waiting = message.waiting(dead_letter.cause)
    if message.retry_reason and not memories.has_room(remaining, unless=UNREADABLE_LIMIT):
        _log_dead_letter(dead_letter, memories.namespace, is_kept=False)
        failed = [replace(request, error=f"{request.error}; {_NOT_KEPT}") for request in waiting]
        reject(failed, memories=memories, cause=dead_letter.kind)
        return None
    letter = memories.give_up(remaining, waiting, contents=message.contents, forgettings=forgettings)
    if letter:
        _log_dead_letter(replace(dead_letter, message_id=letter.message_id), memories.namespace)
    return replace(letter or remaining, has_unreported_part=True) if invalid else letter


def conclude(message: IngestMessage, letter_id: UUID | None, *, memories: "MemoryStore") -> None:
    """Delete the dead letter of a republished message, if each request of the message has an outcome."""
    if letter_id:
        memories.conclude_dead_letter(letter_id, message.request_ids)


def request_ids_in(namespace: str, dead_letter: DeadLetter) -> list[UUID]:
    """Return the ids of the requests in a dead letter."""
    return decode(dead_letter.published, allowed_namespace=namespace).request_ids
