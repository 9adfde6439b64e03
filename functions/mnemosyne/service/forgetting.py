"""Forget memories: delete them and their texts, and prevent earlier messages from storing them again.

A forgetting deletes the memories that a selection matches, and their texts in requests and dead letters.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from mnemosyne.domain.audit import current_action
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.forgetting import Forgetting, Selection
from mnemosyne.domain.memory import FailedRequest, IngestRequest, Reading
from mnemosyne.domain.message import FORGOTTEN, as_failed, decode, first_of_each_id, read_each, without_text
from mnemosyne.domain.redaction import redact
from mnemosyne.errors import Conflict, NotFound
from mnemosyne.ids import new_id
from mnemosyne.observability import EventLog

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

log = EventLog(__name__)

LETTERS_AT_ONCE = 10
"""Number of dead letters that are read at a time. The number is low, because the message of a dead letter can have 10
MB."""
_PARTLY_FORGOTTEN = "a part of the message was forgotten"
_WITHOUT_TEXTS = re.compile(
    "the namespace's quota of |another (content or record|request) has this |schema_version |given up after |"
    "a bug in Mnemosyne"
)
"""Pattern of the beginnings of some causes of dead letters. If a cause begins like this, the part before its first
parenthesis quotes no text of the message. Any other cause, such as an error of a service or of an invalid memory, may
quote such a text."""


def begin(
    selection: Selection, token: str, requested_by: str, *, memories: "MemoryStore", forgetting_id: UUID | None = None
) -> UUID:
    """Begin a forgetting of the memories that a selection matches, and return the id of the forgetting.

    If a forgetting with the id `forgetting_id` has begun already, do nothing. `token` comes from a preview of the
    forgetting, and identifies the set of memories that the selection matched then. Raises Conflict if the selection now
    matches another set, or if a legal hold keeps one of the memories.
    """
    if forgetting_id and memories.forgetting(forgetting_id):
        if action := current_action():
            action.recorded = True  # by the transaction that began the forgetting
        return forgetting_id
    forgetting_id = forgetting_id or new_id()
    count = memories.begin_forgetting(forgetting_id, selection, token, requested_by)
    log.info("forgetting_began", namespace=memories.namespace, forgetting_id=forgetting_id, count=count)
    return forgetting_id


def proceed(forgetting_id: UUID, *, memories: "MemoryStore", deadline: float) -> Forgetting:
    """Continue a forgetting until it is finished or the deadline has passed, and return its state.

    `deadline` is a time of `time.monotonic`. Raises NotFound, and Conflict if a legal hold that was placed after
    `begin` keeps one of the memories.
    """
    forgetting = read(forgetting_id, memories=memories)
    try:
        if forgetting.finished_at is None and _continue_forgetting(forgetting, memories, deadline):
            log.info("forgetting_finished", namespace=memories.namespace, forgetting_id=forgetting_id)
    except Conflict as exc:
        state = read(forgetting_id, memories=memories)
        raise Conflict(
            f"{exc}; {state.memories - state.left} of the {state.memories} memories are deleted: when the hold is "
            f"released, continue the forgetting {forgetting_id}"
        ) from exc
    return read(forgetting_id, memories=memories)


def _continue_forgetting(forgetting: Forgetting, memories: "MemoryStore", deadline: float) -> bool:
    while memories.forget_some(forgetting.id):
        if time.monotonic() > deadline:
            return False
    after = forgetting.letter
    while page := memories.dead_letters(LETTERS_AT_ONCE, after=after):
        for letter in page:
            _forget_in_letter(letter, forgetting.id, memories)
        after = page[-1].cursor
        memories.record_checked_letter(forgetting.id, after)
        if time.monotonic() > deadline:
            return False
    memories.finish_forgetting(forgetting.id)
    return True


def read(forgetting_id: UUID, *, memories: "MemoryStore") -> Forgetting:
    """Read the state of a forgetting (a deletion of selected memories). Raises NotFound."""
    forgetting = memories.forgetting(forgetting_id)
    if forgetting is None:
        raise NotFound(f"no forgetting has the id {forgetting_id}")
    return forgetting


def _forget_in_letter(letter: DeadLetter | None, forgetting_id: UUID, memories: "MemoryStore") -> None:
    while letter:
        forgotten = _find_forgotten(letter, memories, forgetting_id)
        if not forgotten.any_forgotten or memories.forget_in_letter(
            forgetting_id, letter, forgotten.data, forgotten.cause, forgotten.requests
        ):
            return
        # Another forgetting has changed the dead letter in the meantime: read the dead letter again.
        letter = memories.dead_letter(letter.message_id)


@dataclass(frozen=True)
class _ForgottenRequests:
    """The changes that forgettings (deletions of selected memories) require in a dead letter."""

    data: bytes | None
    """The data of the dead letter without the forgotten memories; None if nothing is left."""
    cause: str
    """The cause of the dead letter without forgotten texts."""
    requests: Sequence[Reading]
    """The forgotten requests, to be recorded as deleted, one for each request id. A request whose id also belongs to a
    kept request is left out."""
    forgettings: int
    """Number of forgettings of the namespace when the dead letter was read. A different number later shows that another
    forgetting has begun."""
    any_forgotten: bool


def _find_forgotten(
    letter: DeadLetter, memories: "MemoryStore", forgetting_id: UUID | None = None
) -> _ForgottenRequests:
    """Find the memories in a dead letter to which a forgetting (deletion of selected memories) applies.

    If `forgetting_id` is given, only this forgetting is considered, otherwise all forgettings of the namespace.
    """
    message = letter.published
    parsed_message = decode(message, allowed_namespace=memories.namespace)
    unreadable = bool(parsed_message.dead_letter_reason or parsed_message.retry_reason) and not parsed_message.requests
    entries = [] if unreadable else read_each(message, memories.namespace)
    # Identify each memory by its position in the message instead of its request id, because several memories may have
    # the same request id.
    readings = [
        replace(reading, request_id=UUID(int=index))
        for index, (_, reading) in enumerate(entries)
        if isinstance(reading, IngestRequest)
    ]
    effects = memories.forgetting_effects(readings, forgetting_id)
    forgotten = {covered.int for covered in effects.covered}
    if is_before(message.first_published_at, effects.all_before):
        if unreadable:
            return _ForgottenRequests(None, letter.cause, [], effects.forgettings, any_forgotten=True)
        forgotten |= {index for index, (_, reading) in enumerate(entries) if isinstance(reading, FailedRequest)}
    if not forgotten:
        return _ForgottenRequests(letter.data, letter.cause, [], effects.forgettings, any_forgotten=False)
    kept_ids = {reading.request_id for index, (_, reading) in enumerate(entries) if index not in forgotten}
    deleted = [entries[index][1] for index in sorted(forgotten) if entries[index][1].request_id not in kept_ids]
    # If several forgotten records have the same request id, keep the first valid record, as `decode` does.
    valid_first = sorted(deleted, key=lambda reading: isinstance(reading, FailedRequest))
    requests = tuple(first_of_each_id(valid_first).values())
    data = redact(entries, forgotten)
    cause = letter.cause.partition(" (")[0] if _WITHOUT_TEXTS.match(letter.cause) else ""
    if data and parsed_message.dead_letter_reason:
        cause = decode(replace(message, data=data), allowed_namespace=memories.namespace).dead_letter_reason
    cause = "; ".join(filter(None, [cause.removesuffix(f"; {_PARTLY_FORGOTTEN}"), _PARTLY_FORGOTTEN]))
    return _ForgottenRequests(data, cause, requests, effects.forgettings, any_forgotten=True)


def without_forgotten(letter: DeadLetter, *, memories: "MemoryStore") -> tuple[DeadLetter | None, int]:
    """Remove memories that were forgotten (deleted on request) from a dead letter, before it is stored.

    The requests of the forgotten memories are recorded as deleted. Returns a pair. The first value is the remaining
    dead letter, or None if no memory is left. The second value is the number of forgettings (deletions) in the
    namespace. If this number has changed when the dead letter is stored, another forgetting has begun since.
    """
    if not memories.namespace:
        return letter, 0
    forgotten = _find_forgotten(letter, memories)
    if not forgotten.any_forgotten:
        return letter, forgotten.forgettings
    if forgotten.requests:
        memories.record_deleted([without_text(as_failed(reading, FORGOTTEN)) for reading in forgotten.requests])
    if forgotten.data is None:
        return None, forgotten.forgettings
    return replace(letter, data=forgotten.data, cause=forgotten.cause), forgotten.forgettings


def without_old_texts(
    requests: Sequence[FailedRequest], published: datetime | None, latest: datetime | None
) -> Sequence[FailedRequest]:
    """Remove the beginning of the content (`first_words`) from the requests of an old message.

    The message is old if it was published before the latest forgetting (deletion of selected memories), which may apply
    to its memories. The time `published` is when the message was first published, and `latest` is the time of the
    forgetting. The requests of a newer message are returned unchanged.
    """
    return list(map(without_text, requests)) if is_before(published, latest) else requests


def is_before(first: datetime | None, at: datetime | None) -> bool:
    """Whether a message was first published before the time `at`.

    An unknown time of publication counts as earlier than every time.
    """
    return at is not None and (first is None or first < at)
