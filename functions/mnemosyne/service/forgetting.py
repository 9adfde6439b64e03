"""Forget memories: delete them with their texts everywhere, so that no earlier message stores them again."""

import time
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from mnemosyne.domain.forgetting import Forgetting, Selection
from mnemosyne.domain.memory import DeadLetter, KeysetCursor
from mnemosyne.domain.message import FORGOTTEN, IngestMessage, decode, redacted, unstored, without_text
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import NotFound
from mnemosyne.ids import new_id
from mnemosyne.observability import EventLog
from mnemosyne.ports.memories import MemoryStore

log = EventLog(__name__)

LETTERS_AT_ONCE = 10
"""Dead letters read at a time: a message can have 10 MB."""


def begin(selection: Selection, token: str, requested_by: str, *, memories: MemoryStore) -> UUID:
    """Begin to forget the set of memories that a dry run's token confirms, and return the forgetting's id.

    Raises Conflict if the token is not for this set, or a hold keeps one of the memories.
    """
    forgetting_id = new_id()
    count = memories.begin_forgetting(forgetting_id, selection, token, requested_by)
    log.info("forgetting_began", namespace=memories.namespace, forgetting_id=forgetting_id, count=count)
    return forgetting_id


def proceed(
    forgetting_id: UUID, *, memories: MemoryStore, deadline: float, after: KeysetCursor | None = None
) -> KeysetCursor | None:
    """Continue a forgetting until it is finished or `deadline`, a time of `time.monotonic`.

    Returns the dead letter after which to continue, or None. Raises Conflict if a hold keeps a memory meanwhile.
    """
    while after is None and memories.forget_some(forgetting_id):
        if time.monotonic() > deadline:
            return None
    while page := memories.dead_letters(LETTERS_AT_ONCE, after=after):
        for letter in page:
            _forget_in(letter, forgetting_id, memories)
        after = KeysetCursor(timestamp=page[-1].dead_lettered_at, key=page[-1].message_id)
        if time.monotonic() > deadline:
            return after
    memories.finish_forgetting(forgetting_id)
    log.info("forgetting_finished", namespace=memories.namespace, forgetting_id=forgetting_id)
    return None


def read(forgetting_id: UUID, *, memories: MemoryStore) -> Forgetting:
    """Return a forgetting; raises NotFound."""
    forgetting = memories.forgetting(forgetting_id)
    if forgetting is None:
        raise NotFound(f"no forgetting has the id {forgetting_id}")
    return forgetting


def _forget_in(letter: DeadLetter, forgetting_id: UUID, memories: MemoryStore) -> None:
    message = _message(letter, memories.namespace)
    standing = memories.standing(message.requests, forgetting_id)
    forgotten = [request for request in message.requests if request.request_id in standing.covered]
    if forgotten:
        data = redacted(_published(letter), memories.namespace, standing.covered)
    elif _is_unreadable(message) and _is_before(letter, standing.all_before):
        data = None
    else:
        return
    memories.forget_in_letter(forgetting_id, letter, data, forgotten)


def without_forgotten(letter: DeadLetter, *, memories: MemoryStore) -> tuple[DeadLetter | None, int]:
    """Return a letter to be stored without its forgotten memories, and the number of the namespace's forgettings.

    The letter is None if nothing else is in it. The requests of the forgotten memories are recorded as deleted.
    """
    if not memories.namespace:
        return letter, 0
    message = _message(letter, memories.namespace)
    standing = memories.standing(message.requests)
    forgotten = [request for request in message.requests if request.request_id in standing.covered]
    if forgotten:
        memories.record_deleted([without_text(unstored(request, FORGOTTEN)) for request in forgotten])
        data = redacted(_published(letter), memories.namespace, standing.covered)
        return None if data is None else replace(letter, data=data), standing.forgettings
    if _is_unreadable(message) and _is_before(letter, standing.all_before):
        return None, standing.forgettings
    return letter, standing.forgettings


def _is_unreadable(message: IngestMessage) -> bool:
    return bool(message.dead_letter_reason or message.retry_reason) and not message.requests


def _is_before(letter: DeadLetter, at: datetime | None) -> bool:
    first = _published(letter).first_published_at
    return at is not None and (first is None or first < at)


def _message(letter: DeadLetter, namespace: str) -> IngestMessage:
    return decode(_published(letter), allowed_namespace=namespace)


def _published(letter: DeadLetter) -> Published:
    return Published(message_id=letter.message_id, data=letter.data, attributes=letter.attributes)
