"""Handle one Pub/Sub delivery: store the memories of its message, make it a dead letter, or import an object."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mnemosyne.domain.dead_letter import DeadLetter, DeadLetterKind
from mnemosyne.domain.message import IngestMessage, decode
from mnemosyne.domain.object_import import OBJECT_NOTIFICATION, StoredObject
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import InvalidRequest, ItemUnavailable, ServiceError
from mnemosyne.observability import EventLog
from mnemosyne.ports.services import ImportServices, SubscriberServices
from mnemosyne.service import dead_letters, ingest, object_import, outcomes
from mnemosyne.service.group_commit import DELIVERY_SECONDS, GroupCommit
from mnemosyne.service.request_status import RETENTION

log = EventLog(__name__)

SOURCE_SUBSCRIPTION = "CloudPubSubDeadLetterSourceSubscription"
"""Attribute that Pub/Sub adds to a message in a dead-letter topic:
https://cloud.google.com/pubsub/docs/handling-failures."""
LAST_DAY = timedelta(days=1)
"""Length of the last period before Pub/Sub deletes an undelivered message. If a message cannot be stored in this period
either, it becomes a dead letter, so that it is not lost."""


@dataclass(frozen=True)
class Push:
    """One delivery of one message."""

    message: Published
    attempt: int
    allowed_namespace: str | None = None
    """The only namespace to which publishers of the subscription may write. None if every namespace is allowed."""
    of_bucket: bool = False
    """Whether the messages of the subscription are notifications about the objects of a bucket."""
    subscription: str = ""
    """Name of the subscription."""

    @property
    def age(self) -> timedelta | None:
        """Time since the message was published; None if the push does not have the time of publishing."""
        try:
            return datetime.now(UTC) - datetime.fromisoformat(self.message.publish_time)
        except (ValueError, TypeError):  # the time is missing, or has no UTC offset
            return None

    @property
    def expires_soon(self) -> bool:
        """Whether Pub/Sub will delete the message within LAST_DAY."""
        return self.age is not None and self.age > RETENTION - LAST_DAY

    def decode(self) -> IngestMessage:
        """Decode the message."""
        return decode(self.message, allowed_namespace=self.allowed_namespace)

    def dead_letter(self, cause: str, kind: DeadLetterKind) -> DeadLetter:
        """Build a dead letter from the message, with the cause and the kind of its failure."""
        return DeadLetter(
            message_id=self.message.message_id,
            data=self.message.data,
            attributes=self.message.kept_attributes | ({OBJECT_NOTIFICATION: "true"} if self.of_bucket else {}),
            cause=cause,
            dead_lettered_at=datetime.now(UTC),
            letter_id=self.message.letter_id,
            kind=kind,
            subscription=self.message.attributes.get(SOURCE_SUBSCRIPTION) or self.subscription,
        )


def store(push: Push, services: SubscriberServices, *, group_commit: GroupCommit[ingest.Stored] | None = None) -> None:
    """Handle a push to the service `ingest`: store the memories of the message.

    An invalid request is recorded as failed. An unreadable message becomes a dead letter.
    """
    message = push.decode()
    reason, is_over_quota, letter = message.dead_letter_reason, False, None
    memories = services.memories_of(message.namespace)
    if reason and not message.contents:
        # Store the dead letter first, so that it is kept even if the outcomes of very many requests cannot be recorded.
        letter = dead_letters.store_dead_letter(push.dead_letter(reason, DeadLetterKind.UNREADABLE), memories=memories)
    if message.namespace:
        result = ingest.store(
            message,
            memories=memories,
            embedder=services.embedder,
            group_commit=group_commit,
            deadline=time.monotonic() + DELIVERY_SECONDS,
        )
        reason, is_over_quota = "; ".join(filter(None, [reason, result.dead_letter_reason])), bool(result.over_quota)
        if is_over_quota and not reason:
            dead_letter = push.dead_letter(next(iter(result.over_quota.values())), DeadLetterKind.OVER_QUOTA)
            dead_letters.store_over_quota(dead_letter, memories=memories)
    if reason and not letter:
        kind = DeadLetterKind.UNREADABLE if message.dead_letter_reason else DeadLetterKind.CONFLICT
        letter = dead_letters.store_dead_letter(push.dead_letter(reason, kind), memories=memories)
    _announce(push, message, letter, services)
    if not reason and not is_over_quota:
        dead_letters.conclude(message, push.message.letter_id, memories=memories)


def give_up(push: Push, services: SubscriberServices) -> None:
    """Handle a push to the service `dead_letter`: store the memories of a message that `ingest` could not store.

    `ingest` has failed to store the memories `max_delivery_attempts` times. If they cannot be stored here either, the
    result depends on the cause:

    - A memory of the message is the cause, and a second attempt, if there is time for one, fails, too: the message
      becomes a dead letter.
    - Another service fails: the message is delivered again, so that an outage makes no dead letters.
    - Pub/Sub will delete the message within LAST_DAY: the message becomes a dead letter.
    - An internal error occurs: the message becomes a dead letter, because no other service handles it afterwards.
    """
    cause, kind = "", DeadLetterKind.EXPIRED
    if not push.expires_soon:
        try:
            _store_with_retry(push, services)
        except ItemUnavailable as exc:
            cause, kind = str(exc), DeadLetterKind.UNSTORABLE
        except ServiceError:
            raise
        except Exception as exc:
            log.exception("push_crashed", message_id=push.message.message_id)
            cause, kind = f"a bug in Mnemosyne: {type(exc).__name__}", DeadLetterKind.CRASHED
        else:
            return
    try:
        _make_dead_letter(push, services, cause, kind)
    except ServiceError:
        raise
    except Exception as exc:
        log.exception("push_crashed", message_id=push.message.message_id)
        dead_letter = push.dead_letter(
            f"a bug in Mnemosyne while the message was dead-lettered: {type(exc).__name__}", DeadLetterKind.CRASHED
        )
        dead_letters.store_dead_letter(dead_letter, memories=services.memories_of(push.allowed_namespace or ""))


def _store_with_retry(push: Push, services: SubscriberServices) -> None:
    """Store the memories of a message. If only a single memory cannot be stored, try once more.

    The error of a single memory may be temporary, for example because the database was slow at the end of an outage. If
    the first attempt took long, the function does not try again, because both attempts must end before the timeout of
    the service.
    """
    start = time.monotonic()
    try:
        store(push, services)
    except ItemUnavailable:
        if time.monotonic() - start > DELIVERY_SECONDS / 2:
            raise
        store(push, services)


def _make_dead_letter(push: Push, services: SubscriberServices, cause: str, kind: DeadLetterKind) -> None:
    count = push.message.attributes.get("CloudPubSubDeadLetterSourceDeliveryCount", "several")
    message = push.decode()
    if message.retry_reason:
        kind = DeadLetterKind.NEWER
    elif message.dead_letter_reason:
        kind = DeadLetterKind.UNREADABLE
    dead_letter = push.dead_letter(
        message.retry_reason or message.dead_letter_reason or cause or f"given up after {count} deliveries", kind
    )
    memories = services.memories_of(message.namespace)
    letter = dead_letters.give_up(dead_letter, message, memories=memories) if message.request_ids else None
    is_unreported = message.dead_letter_reason or (letter and letter.has_unreported_part)
    if is_unreported:
        dead_letter = dead_letters.store_dead_letter(dead_letter, memories=memories)
    _announce(push, message, dead_letter if is_unreported else None, services)
    if not message.dead_letter_reason and not letter:
        dead_letters.conclude(message, push.message.letter_id, memories=memories)


def import_object(push: Push, services: ImportServices) -> None:
    """Handle a push to the service `import_object`: import the object of a notification into the bucket's namespace.

    A message becomes a dead letter if it is not a notification, if the subscription does not push to
    /objects/NAMESPACE, or if Pub/Sub will delete the message within LAST_DAY.
    """
    try:
        stored_object = StoredObject.of(push.message.attributes)
        if push.allowed_namespace is None or not push.of_bucket:
            raise InvalidRequest("a bucket's subscription must push to /objects/NAMESPACE")
        if push.expires_soon:
            raise InvalidRequest("the object of this notification could not be imported for several days")
    except InvalidRequest as exc:
        is_expired = push.of_bucket and push.expires_soon
        kind = DeadLetterKind.EXPIRED if is_expired else DeadLetterKind.NOTIFICATION
        dead_letters.store_dead_letter(
            push.dead_letter(str(exc), kind), memories=services.memories_of(push.allowed_namespace or "")
        )
        return
    if stored_object:
        object_import.import_object(push.allowed_namespace, stored_object, services, message_id=push.message.message_id)


def _announce(push: Push, message: IngestMessage, dead_letter: DeadLetter | None, services: SubscriberServices) -> None:
    """Publish the outcomes of the message's requests and, if there is one, of its dead letter."""
    if services.outcome_topic:
        outcomes.announce(
            message.request_ids,
            message_id=push.message.message_id,
            dead_letter=dead_letter,
            memories=services.memories_of(message.namespace),
            topic=services.outcome_topic,
        )
