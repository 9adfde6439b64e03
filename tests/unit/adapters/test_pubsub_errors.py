"""Errors of Pub/Sub: whether the deployment or a single message is the cause."""

import pytest
from google.api_core.exceptions import FailedPrecondition, GoogleAPICallError, InvalidArgument

from mnemosyne.adapters.queues.pubsub import PubSubQueue
from mnemosyne.errors import Broken, InvalidRequest, MnemosyneError

TOPIC = "projects/p/topics/t"


def _publish(monkeypatch: pytest.MonkeyPatch, error: GoogleAPICallError) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("google.pubsub_v1.PublisherClient.publish", refuse)
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
    with pytest.raises(expected) as raised:
        _publish(monkeypatch, error)
    assert type(raised.value) is expected
    assert str(raised.value).startswith(cause)
    assert str(error.message) in str(raised.value)
