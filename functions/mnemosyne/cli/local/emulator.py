"""Create the topics and push subscriptions on a Pub/Sub emulator."""

from contextlib import suppress

import httpx

from mnemosyne.errors import Misconfigured

PROJECT = "mnemosyne-local"
TOPIC = f"projects/{PROJECT}/topics/ingest"
SUBSCRIPTION = f"projects/{PROJECT}/subscriptions/ingest"
DEAD_LETTER_TOPIC = f"projects/{PROJECT}/topics/dead-letter"
DEAD_LETTER_SUBSCRIPTION = f"projects/{PROJECT}/subscriptions/dead-letter"
ACK_DEADLINE_SECONDS = 60
MAX_DELIVERY_ATTEMPTS = 100
"""Maximum number of attempts to deliver a message. Pub/Sub allows no higher value. The emulator retries every second,
so a message survives an outage of 100 seconds."""


def is_served(host: str) -> bool:
    """Whether the emulator has a push subscription, and the function that gets its messages answers."""
    from google.api_core.exceptions import GoogleAPIError
    from google.cloud import pubsub_v1

    subscriber = pubsub_v1.SubscriberClient()
    try:
        subscription = subscriber.get_subscription(subscription=SUBSCRIPTION, retry=None, timeout=10)
        return (
            httpx.get(f"{subscription.push_config.push_endpoint}/health", timeout=5, trust_env=False).status_code == 200
        )
    except (GoogleAPIError, httpx.HTTPError, httpx.InvalidURL):
        return False
    finally:
        subscriber.close()


def prepare(
    host: str,
    ingest_url: str,
    dead_letter_url: str,
    *,
    max_delivery_attempts: int = MAX_DELIVERY_ATTEMPTS,
    ack_deadline_seconds: int = ACK_DEADLINE_SECONDS,
) -> None:
    """Create topics and push subscriptions on the emulator at `host`.

    Raises Misconfigured if the emulator does not answer.
    """
    from google.api_core.exceptions import AlreadyExists, GoogleAPIError
    from google.api_core.retry import Retry
    from google.cloud import pubsub_v1
    from google.pubsub_v1.types import DeadLetterPolicy, PushConfig

    patience = Retry(timeout=10)  # by default, the clients would retry for minutes
    publisher, subscriber = pubsub_v1.PublisherClient(), pubsub_v1.SubscriberClient()

    def subscribe(name: str, topic: str, url: str, **policy: object) -> None:
        with suppress(AlreadyExists):
            publisher.create_topic(name=topic, retry=patience, timeout=10)
        request = {
            "name": name,
            "topic": topic,
            "push_config": PushConfig(push_endpoint=url),
            "ack_deadline_seconds": ack_deadline_seconds,
            # Set no retry policy. With a retry policy, a late acknowledgement ends the emulator's task that returns
            # refused messages to the queue, and these messages are never delivered again.
            **policy,
        }
        try:
            subscriber.create_subscription(request=request, retry=patience, timeout=10)
        except AlreadyExists:  # an earlier run created the subscription, with another port
            subscriber.modify_push_config(
                subscription=name, push_config=PushConfig(push_endpoint=url), retry=patience, timeout=10
            )

    try:
        subscribe(DEAD_LETTER_SUBSCRIPTION, DEAD_LETTER_TOPIC, dead_letter_url)
        give_up = DeadLetterPolicy(dead_letter_topic=DEAD_LETTER_TOPIC, max_delivery_attempts=max_delivery_attempts)
        subscribe(SUBSCRIPTION, TOPIC, ingest_url, dead_letter_policy=give_up)
    except GoogleAPIError as exc:
        cause, next_step = f"the Pub/Sub emulator at {host} does not answer", "start it, or unset PUBSUB_EMULATOR_HOST"
        raise Misconfigured(cause, next_step=next_step, detail=str(exc)) from exc
    finally:
        publisher.stop()
        subscriber.close()
