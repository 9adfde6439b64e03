"""Errors of Pub/Sub are classified: either the deployment or a single message is the cause."""

from collections.abc import Callable
from itertools import chain, repeat

import pytest
from google.api_core.exceptions import (
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    GoogleAPICallError,
    InternalServerError,
    InvalidArgument,
    PermissionDenied,
    ResourceExhausted,
    ServiceUnavailable,
)
from google.api_core.retry import Retry

from mnemosyne.adapters.queues.pubsub import PubSubQueue
from mnemosyne.errors import Broken, InvalidRequest, MnemosyneError, ServiceError, UncertainPublication

TOPIC = "projects/p/topics/t"


def _publish(monkeypatch: pytest.MonkeyPatch, publish: Callable[..., None]) -> None:
    """Publish a message with a client whose method `publish` is replaced."""
    monkeypatch.setattr("google.pubsub_v1.PublisherClient.publish", publish)
    queue = PubSubQueue(TOPIC)
    vars(queue)["_client"] = None
    queue.republish(b"{}", {"namespace": "ns"})


@pytest.mark.parametrize(
    ("error", "expected", "cause"),
    [
        (FailedPrecondition("Cloud KMS key is disabled."), Broken, f"Pub/Sub cannot use the topic {TOPIC}"),
        (InvalidArgument("The value for data is too large."), InvalidRequest, f"the topic {TOPIC} refused a message"),
    ],
)
def test_a_topic_that_cannot_be_used_needs_an_operator_and_an_invalid_message_does_not(
    monkeypatch: pytest.MonkeyPatch, error: GoogleAPICallError, expected: type[MnemosyneError], cause: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    with pytest.raises(expected) as raised:
        _publish(monkeypatch, refuse)
    assert type(raised.value) is expected
    assert str(raised.value).startswith(cause)
    assert str(error.message) in str(raised.value)


CUT = ServiceUnavailable("Socket closed")
NO_CONNECTION = ServiceUnavailable("failed to connect to all addresses; last error: UNKNOWN: Connection refused")


@pytest.mark.parametrize(
    ("failures", "may_be_accepted"),
    [
        ([DeadlineExceeded("Deadline Exceeded")], True),
        ([CUT], True),
        ([InternalServerError("Received RST_STREAM")], True),
        ([Cancelled("the stream was cancelled")], True),
        ([CUT, NO_CONNECTION], True),
        ([NO_CONNECTION, CUT], True),
        ([CUT, PermissionDenied("no right")], True),
        ([NO_CONNECTION], False),
        ([ServiceUnavailable("DNS resolution failed for pubsub.googleapis.com")], False),
        ([ServiceUnavailable("Getting metadata from plugin failed with error: no metadata server")], False),
        ([ResourceExhausted("quota")], False),
        ([NO_CONNECTION, PermissionDenied("no right")], False),
    ],
)
def test_a_topic_that_lost_an_answer_may_have_accepted_the_message(
    monkeypatch: pytest.MonkeyPatch, failures: list[GoogleAPICallError], may_be_accepted: bool
) -> None:
    attempts = chain(failures, repeat(failures[-1]))

    def publish(*_: object, retry: Retry, **__: object) -> None:
        def attempt() -> None:
            raise next(attempts)

        retry.with_delay(initial=0.001, maximum=0.001).with_timeout(0.05)(attempt)()

    with pytest.raises(ServiceError) as raised:
        _publish(monkeypatch, publish)
    assert isinstance(raised.value, UncertainPublication) is may_be_accepted
