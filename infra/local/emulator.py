"""Use the Pub/Sub emulator: make the topic and the push subscription that delivers to the `ingest` function."""

from contextlib import suppress

from mnemosyne.errors import Misconfigured

PROJECT = "mnemosyne-local"
TOPIC = f"projects/{PROJECT}/topics/ingest"
SUBSCRIPTION = f"projects/{PROJECT}/subscriptions/ingest"
ACK_DEADLINE_SECONDS = 60


def prepare(host: str, push_url: str) -> None:
    """Make topic and subscription on the emulator at `host`; raises Misconfigured where it does not answer."""
    from google.api_core.exceptions import AlreadyExists, GoogleAPIError, NotFound
    from google.cloud import pubsub_v1
    from google.pubsub_v1.types import PushConfig, RetryPolicy

    publisher, subscriber = pubsub_v1.PublisherClient(), pubsub_v1.SubscriberClient()
    try:
        with suppress(AlreadyExists):
            publisher.create_topic(name=TOPIC, timeout=10)
        request = {
            "name": SUBSCRIPTION,
            "topic": TOPIC,
            "push_config": PushConfig(push_endpoint=push_url),
            "ack_deadline_seconds": ACK_DEADLINE_SECONDS,
            "retry_policy": RetryPolicy(minimum_backoff={"seconds": 1}, maximum_backoff={"seconds": 60}),
        }
        try:
            subscriber.create_subscription(request=request, timeout=10)
        except AlreadyExists:
            # Its endpoint is the port of an earlier run.
            with suppress(NotFound):
                subscriber.modify_push_config(
                    subscription=SUBSCRIPTION, push_config=PushConfig(push_endpoint=push_url), timeout=10
                )
    except GoogleAPIError as exc:
        raise Misconfigured(f"the Pub/Sub emulator at {host} does not answer: {exc}") from exc
    finally:
        publisher.stop()
        subscriber.close()
