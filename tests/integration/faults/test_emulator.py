"""Behaviour of the Pub/Sub emulator for rejected messages and late acknowledgements."""

import base64
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from google.cloud.pubsub_v1 import PublisherClient, SubscriberClient

from mnemosyne.cli.local import emulator as local_emulator
from mnemosyne.errors import Misconfigured
from tests.fakes_wire.http import JsonServer
from tests.waiting import wait_until

DEADLINE_SECONDS = 10


class _Endpoint(JsonServer):
    """Endpoint that refuses each message twice.

    Its second answer to the message `slow` comes just after the deadline.
    """

    def __init__(self) -> None:
        super().__init__()
        self.deliveries: Counter[str] = Counter()
        self.answered_late = threading.Event()

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        text = base64.b64decode(body["message"]["data"]).decode()
        self.deliveries[text] += 1
        if text != "slow":
            return (503 if self.deliveries[text] <= 2 else 204), ""
        if self.deliveries[text] == 2:
            self.released.wait(DEADLINE_SECONDS + 0.5)
            self.answered_late.set()
        return (503 if self.deliveries[text] == 1 else 204), ""


@pytest.mark.parametrize("listens", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_an_emulator_that_does_not_answer_is_reported_with_its_variable(
    listens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if listens:
            silent.listen()
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", host)
        assert not local_emulator.is_served(host)
        with pytest.raises(Misconfigured, match=f"emulator at {host} does not answer: .*unset PUBSUB_EMULATOR_HOST"):
            local_emulator.prepare(host, "http://127.0.0.1:9", "http://127.0.0.1:9")


@pytest.fixture
def endpoint(emulator: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Endpoint]:
    """The endpoint of the emulator's push subscription."""
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", emulator)
    with _Endpoint().serving() as server:
        local_emulator.prepare(emulator, server.url, server.url, ack_deadline_seconds=DEADLINE_SECONDS)
        try:
            yield server
        finally:
            with SubscriberClient() as client:
                for name in (local_emulator.SUBSCRIPTION, local_emulator.DEAD_LETTER_SUBSCRIPTION):
                    client.delete_subscription(subscription=name)


def test_the_subscriptions_have_no_retry_policy(endpoint: _Endpoint) -> None:
    with SubscriberClient() as client:
        for name in (local_emulator.SUBSCRIPTION, local_emulator.DEAD_LETTER_SUBSCRIPTION):
            assert "retry_policy" not in client.get_subscription(subscription=name)


@pytest.mark.nightly  # takes long, because an acknowledgement deadline is at least ten seconds
def test_a_late_acknowledgement_of_one_message_does_not_lose_other_messages(endpoint: _Endpoint) -> None:
    # With a retry policy, the emulator (0.8.20) redelivers refused messages in a separate task. This task ends for ever
    # if a message is acknowledged after it has been scheduled for redelivery: MessageBacklog.nackMessage fails for such
    # a message, and ExpireOutstandingMessagesRunnable catches only StatusException.
    client: Any = PublisherClient()
    with client:
        client.publish(local_emulator.TOPIC, b"slow").result(20)
        wait_until(endpoint.answered_late.is_set, "the message is acknowledged after its deadline")
        client.publish(local_emulator.TOPIC, b"refused").result(20)
        wait_until(lambda: endpoint.deliveries["refused"] == 3, "what is refused twice is delivered again")
