"""Publish accepted requests, their outcomes, and changes of memories to Pub/Sub topics with google-cloud-pubsub."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mnemosyne.adapters import service_error_tables, service_errors
from mnemosyne.domain.batches import batches
from mnemosyne.domain.change_feed import ChangeEvent
from mnemosyne.domain.memory import Reading
from mnemosyne.domain.message import encode
from mnemosyne.domain.outcome import Outcome
from mnemosyne.domain.provenance import Publisher
from mnemosyne.domain.pubsub_message import check_attributes
from mnemosyne.errors import MnemosyneError
from mnemosyne.observability import current_trace
from mnemosyne.once import once

PUBLISH_TIMEOUT_SECONDS = 20.0
REQUEST_MESSAGES = 1_000
REQUEST_BYTES = 9_500_000
"""Limits of one publish request. Pub/Sub allows 1,000 messages and 10,000,000 bytes:
https://cloud.google.com/pubsub/quotas#resource_limits."""

_NOT_SENT = re.compile("failed to connect|connection refused|resolution failed|metadata from plugin", re.IGNORECASE)
"""Messages of gRPC about a request that was not sent, because there is no connection or no credential."""


class _Topic:
    """A topic `projects/P/topics/T` to publish to.

    If the environment variable PUBSUB_EMULATOR_HOST has an address, the client library uses the emulator there.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic

    @once
    def _client(self) -> Any:
        from google.cloud import pubsub_v1  # imported here: it takes 190 ms, and only publishers need it

        return pubsub_v1.PublisherClient()

    def _publish(self, messages: Sequence[tuple[bytes, Mapping[str, str]]], ordering_key: str = "") -> None:
        """Publish messages, and return when Pub/Sub has acknowledged every message.

        A subscription with message ordering receives the messages of one `ordering_key` in the order of publication.

        Raises InvalidRequest if Pub/Sub would never accept a message. Raises UncertainPublication if Pub/Sub has not
        answered, but may have accepted the messages. Raises a ServiceError of another class if Pub/Sub has not accepted
        a message.
        """
        from google.api_core import exceptions
        from google.api_core.retry import Retry, if_exception_type
        from google.api_core.timeout import ConstantTimeout
        from google.auth.exceptions import GoogleAuthError
        from google.pubsub_v1 import PublisherClient, PubsubMessage

        for _, attributes in messages:
            check_attributes(attributes)
        pubsub_messages = [
            PubsubMessage(data=data, attributes=dict(attributes), ordering_key=ordering_key)
            for data, attributes in messages
        ]
        # An attempt begins only in the first half of PUBLISH_TIMEOUT_SECONDS, and takes at most `half` seconds. So even
        # an attempt that begins at the end of the first half ends before the timeout.
        half, failures = PUBLISH_TIMEOUT_SECONDS / 2, list[Exception]()
        is_temporary = if_exception_type(*_temporary_errors())
        retry = Retry(predicate=is_temporary, initial=0.1, maximum=2.0, timeout=half, on_error=failures.append)
        try:
            for batch in batches(pubsub_messages, _maximum_size, most=REQUEST_MESSAGES, largest=REQUEST_BYTES):
                # Call the method of the base class. The method in pubsub_v1 takes attributes as keyword arguments, so
                # an attribute named `topic` would raise a TypeError, and an attribute named `timeout` would change how
                # the client publishes.
                PublisherClient.publish(
                    self._client, topic=self._topic, messages=batch, retry=retry, timeout=ConstantTimeout(half)
                )
        except (exceptions.GoogleAPIError, GoogleAuthError) as exc:
            if any(map(_may_be_accepted, failures)):
                unanswered = service_errors.UNANSWERED
                raise service_errors.error(service_error_tables.TOPIC, unanswered, str(exc), topic=self._topic) from exc
            raise self._translate_error(exc) from exc

    def _translate_error(self, exc: Exception) -> MnemosyneError:
        from google.api_core.exceptions import FailedPrecondition

        # FailedPrecondition means a problem with billing or with the encryption key:
        # https://cloud.google.com/pubsub/docs/error-codes.
        if isinstance(exc, FailedPrecondition):
            code, message = service_errors.PRECONDITION, str(exc.message)
            return service_errors.error(service_error_tables.TOPIC, code, message, topic=self._topic)
        return service_errors.google_error(service_error_tables.TOPIC, exc, topic=self._topic)


def _temporary_errors() -> tuple[type[Exception], ...]:
    from google.api_core import exceptions

    return (
        exceptions.Aborted,
        exceptions.Cancelled,
        exceptions.DeadlineExceeded,
        exceptions.InternalServerError,
        exceptions.ResourceExhausted,
        exceptions.ServiceUnavailable,
        exceptions.Unknown,
    )


def _may_be_accepted(failure: Exception) -> bool:
    """Whether Pub/Sub may have accepted the messages of an attempt that failed, for example because it timed out."""
    from google.api_core.exceptions import ResourceExhausted

    return not isinstance(failure, ResourceExhausted) and _NOT_SENT.search(str(failure)) is None


def _maximum_size(message: Any) -> int:
    """Return an upper bound of the number of bytes that a message takes in a publish request."""
    return len(message.data) + sum(len(name) + 4 * len(value) for name, value in message.attributes.items()) + 100


class PubSubTopic(_Topic):
    """The Topic on Pub/Sub, which reports outcomes of requests and changes of memories."""

    def publish(self, messages: Sequence[Outcome | ChangeEvent]) -> None:
        """Publish messages, and return when Pub/Sub has accepted all.

        Each ordering key has its own publish request, because all messages of a request must have the same key. Raises
        a ServiceError if Pub/Sub refuses a message or does not answer.
        """
        by_key: dict[str, list[Outcome | ChangeEvent]] = {}
        for message in messages:
            by_key.setdefault(message.ordering_key, []).append(message)
        for key, group in by_key.items():
            self._publish([message.encode() for message in group], key)


class PubSubQueue(_Topic):
    """The IngestQueue on Pub/Sub: accepted requests that wait to be stored."""

    def publish(self, namespace: str, readings: Sequence[Reading], publisher: Publisher | None = None) -> None:
        trace = current_trace()
        self._publish([encode(namespace, readings, trace.traceparent if trace else "", publisher)])

    def check(self) -> str:
        from google.api_core.exceptions import GoogleAPIError, MethodNotImplemented
        from google.auth.exceptions import GoogleAuthError

        permissions = ["pubsub.topics.publish"]
        request = {"resource": self._topic, "permissions": permissions}
        try:
            try:
                granted_permissions = self._client.test_iam_permissions(
                    request=request, timeout=PUBLISH_TIMEOUT_SECONDS
                ).permissions
            except MethodNotImplemented:  # the emulator has no permissions
                self._client.get_topic(topic=self._topic, timeout=PUBLISH_TIMEOUT_SECONDS)
                return f"{self._topic} on the emulator"
        except (GoogleAPIError, GoogleAuthError) as exc:
            raise self._translate_error(exc) from exc
        if list(granted_permissions) != permissions:
            raise service_errors.error(service_error_tables.TOPIC, 403, "no pubsub.topics.publish", topic=self._topic)
        return f"{self._topic}: publishing is allowed"

    def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        self._publish([(data, attributes)])
