"""Publish accepted requests, and their outcomes, to Pub/Sub topics with google-cloud-pubsub."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from mnemosyne.domain.memory import Reading
from mnemosyne.domain.message import encode
from mnemosyne.domain.outcome import Outcome
from mnemosyne.errors import Unavailable
from mnemosyne.observability import current_trace

PUBLISH_TIMEOUT_SECONDS = 20.0


class _Topic:
    """A topic `projects/P/topics/T` to publish to; the client honours PUBSUB_EMULATOR_HOST itself."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    @cached_property
    def _client(self) -> Any:
        from google.cloud import pubsub_v1  # 190 ms and a gRPC stack: only where something is published

        return pubsub_v1.PublisherClient(
            # One message a call and nothing to gain from waiting for company.
            batch_settings=pubsub_v1.types.BatchSettings(max_messages=100, max_latency=0.002)
        )

    def _publish(self, messages: Sequence[tuple[bytes, Mapping[str, str]]]) -> None:
        """Return once Pub/Sub has acknowledged every message; raises Unavailable where it has not in time."""
        from concurrent.futures import TimeoutError as FutureTimeoutError

        from google.api_core.exceptions import GoogleAPIError
        from google.auth.exceptions import GoogleAuthError

        try:
            under_way = [
                self._client.publish(self._topic, data, timeout=PUBLISH_TIMEOUT_SECONDS, **attributes)
                for data, attributes in messages
            ]
            for one in under_way:
                one.result(timeout=PUBLISH_TIMEOUT_SECONDS + 1)
        except (GoogleAPIError, GoogleAuthError, FutureTimeoutError) as exc:
            raise Unavailable(f"the topic {self._topic} did not accept a message ({type(exc).__name__})") from exc


class PubSubOutcomes(_Topic):
    """The OutcomeTopic on Pub/Sub."""

    def publish(self, outcomes: Sequence[Outcome]) -> None:
        """Return once Pub/Sub has acknowledged every event; raises Unavailable where it has not in time."""
        self._publish([outcome.encode() for outcome in outcomes])


class PubSubQueue(_Topic):
    """The IngestQueue on Pub/Sub."""

    def publish(self, namespace: str, readings: Sequence[Reading]) -> None:
        """Return once Pub/Sub has acknowledged the message; raises Unavailable where it has not in time."""
        trace = current_trace()
        self.republish(*encode(namespace, readings, trace.traceparent if trace else ""))

    def check(self) -> str:
        """Return what is seen of the topic; raises Unavailable where it cannot be published to."""
        from google.api_core.exceptions import GoogleAPIError, MethodNotImplemented
        from google.auth.exceptions import GoogleAuthError

        wanted = ["pubsub.topics.publish"]
        request = {"resource": self._topic, "permissions": wanted}
        try:
            try:
                given = self._client.test_iam_permissions(request=request, timeout=PUBLISH_TIMEOUT_SECONDS).permissions
            except MethodNotImplemented:  # the emulator knows no permissions
                self._client.get_topic(topic=self._topic, timeout=PUBLISH_TIMEOUT_SECONDS)
                return f"{self._topic} on the emulator"
        except (GoogleAPIError, GoogleAuthError) as exc:
            raise Unavailable(f"{self._topic}: {exc}") from exc
        if list(given) != wanted:
            raise Unavailable(f"{self._topic} may not be published to")
        return f"{self._topic} may be published to"

    def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        """Return once Pub/Sub has acknowledged the message; raises Unavailable where it has not in time."""
        try:
            self._publish([(data, attributes)])
        except Unavailable as exc:
            raise Unavailable(f"the queue did not accept the request ({exc}); nothing was stored") from exc
