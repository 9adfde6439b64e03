"""Report the outcomes of requests, on a topic, to the publishers of the messages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.outcome import Outcome
from mnemosyne.observability import EventLog
from mnemosyne.ports.queue import Topic

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

log = EventLog(__name__)


def announce(
    request_ids: Sequence[UUID],
    *,
    message_id: str,
    dead_letter: DeadLetter | None = None,
    memories: "MemoryStore",
    topic: Topic[Outcome],
) -> None:
    """Publish the outcomes that were not announced yet, and the dead letter if the message has one.

    Call this function before the message is acknowledged. After an error, the message is delivered again and the call
    is repeated. After a crash, an outcome may be published twice, with the same event id. Raises Unavailable.
    """
    waiting = memories.unannounced_outcomes(request_ids) if request_ids else []
    outcomes = [Outcome(namespace=memories.namespace, message_id=message_id, status=status) for status in waiting]
    if dead_letter:
        id_ = dead_letter.message_id
        outcomes.append(
            Outcome(namespace=memories.namespace, message_id=id_, dead_letter=dead_letter, delivery=message_id)
        )
    if not outcomes:
        return
    topic.publish(outcomes)
    if waiting:
        memories.mark_announced(waiting)
    log.info("outcomes_announced", namespace=memories.namespace, message_id=message_id, count=len(outcomes))
