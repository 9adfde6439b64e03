"""Deliver the local queue's messages to the `ingest` function, as Pub/Sub's push would."""

import base64
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import fasteners
import httpx

from mnemosyne.adapters.queues.local import LocalQueue, QueuedMessage
from mnemosyne.observability import EventLog

log = EventLog(__name__)

CONCURRENCY = 8
DELIVERY_COUNT = "CloudPubSubDeadLetterSourceDeliveryCount"  # as Pub/Sub names it
POLL_SECONDS = 0.02
LOCK_POLL_SECONDS = 0.25
TIMEOUT_SECONDS = 60.0
MAX_DELIVERY_ATTEMPTS = 20
"""About eight minutes of trying; then the message goes to the `dead_letter` function."""
FIRST_RETRY_SECONDS = 0.2
LONGEST_RETRY_SECONDS = 30.0


class Delivery:
    """Threads that push what is due until told to stop; a message leaves the queue once it is answered 2xx.

    Of several processes on one directory only the one that holds `delivery_lock` delivers; the next takes over when it
    ends.
    """

    def __init__(
        self,
        queue: LocalQueue,
        url: str,
        dead_letter_url: str,
        *,
        delivery_lock: fasteners.InterProcessLock,
        secret: str,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self._queue = queue
        self._url = url
        self._dead_letter_url = dead_letter_url
        self._delivery_lock = delivery_lock
        self._headers = {"Authorization": f"Bearer {secret}"}
        self._concurrency = concurrency
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the pushes under way and end."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._delivery_lock.acquire(blocking=False):
            if self._stop.wait(LOCK_POLL_SECONDS):
                return
        try:
            self._queue.reset_backoff()
            self._deliver()
        finally:
            self._delivery_lock.release()

    def _deliver(self) -> None:
        with (
            httpx.Client(
                trust_env=False,
                timeout=TIMEOUT_SECONDS,
                headers=self._headers,
                limits=httpx.Limits(max_connections=self._concurrency),
            ) as client,
            ThreadPoolExecutor(self._concurrency, thread_name_prefix="push") as pool,
        ):
            while not self._stop.is_set():
                try:
                    due = self._queue.due(time.time(), self._concurrency * 8)
                    taken = pool.map(lambda message: self._push(client, message), due)
                    # Together: each time the file is written to the disk. A crash before it delivers them once more.
                    self._queue.acknowledge([one for one in taken if one is not None])
                except sqlite3.Error as exc:  # a full disk, a lock held too long: the messages are still there
                    log.error("delivery_failed", error=str(exc))
                    self._stop.wait(LONGEST_RETRY_SECONDS / 10)
                    continue
                if not due:
                    self._stop.wait(POLL_SECONDS)

    def _push(self, client: httpx.Client, message: QueuedMessage) -> int | None:
        """Deliver one message: return its id where it is taken; else its next delivery is set."""
        if self._stop.is_set():
            return None
        try:
            given_up = message.attempts >= MAX_DELIVERY_ATTEMPTS
            url = self._dead_letter_url if given_up else self._url
            response = client.post(url, json=push_envelope(message))
            if response.is_success:
                return message.message_id
            error = f"HTTP {response.status_code}: {response.text[:200]}"
        except httpx.HTTPError as exc:
            error = f"{type(exc).__name__}: {exc}"
        wait = min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(message.attempts, 20))
        self._queue.postpone(message.message_id, due=time.time() + wait, error=error)
        log.warning("delivery_postponed", message_id=message.message_id, seconds=wait, error=error)
        return None


def push_envelope(message: QueuedMessage) -> dict[str, Any]:
    """Return the body that Pub/Sub would post: https://cloud.google.com/pubsub/docs/push#receive_push."""
    return {
        "message": {
            "data": base64.b64encode(message.data).decode(),
            "attributes": dict(message.attributes)
            | ({DELIVERY_COUNT: str(message.attempts)} if message.attempts >= MAX_DELIVERY_ATTEMPTS else {}),
            "messageId": str(message.message_id),
            "publishTime": message.publish_time,
        },
        "subscription": "projects/local/subscriptions/ingest",
        "deliveryAttempt": message.attempts + 1,
    }
