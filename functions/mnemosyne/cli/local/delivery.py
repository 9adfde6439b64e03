"""Push the messages of the local queue to the functions, as Pub/Sub does in the cloud."""

import base64
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import fasteners
import httpx

from mnemosyne.adapters.queues.local import LocalQueue, QueuedMessage, next_step
from mnemosyne.cli.local.data_dir import acquire_now
from mnemosyne.cli.local.functions import WITHOUT_AUTHORITIES
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog

log = EventLog(__name__)

CONCURRENCY = 8
PREFETCH = 8
"""Number of messages that are read from the queue for each thread. With more than one, a thread that has ended a push
can begin the next push at once."""
DELIVERY_COUNT = "CloudPubSubDeadLetterSourceDeliveryCount"  # the attribute's name in Pub/Sub
POLL_SECONDS = 0.02
LOCK_POLL_SECONDS = 0.25
TIMEOUT_SECONDS = 120.0
"""Timeout of a push in seconds. In the cloud, Terraform sets the same timeout for the function. Even a message that
needs many transactions takes less time."""
MAX_DELIVERY_ATTEMPTS = 20
"""Maximum number of times that a message is pushed to the function `ingest`. If each push fails, this takes about
seven minutes. Then the message is pushed to the function `dead_letter`."""
FIRST_RETRY_SECONDS = 0.2
LONGEST_RETRY_SECONDS = 30.0
FAILURE_PAUSE_SECONDS = 3.0


class Delivery:
    """Pushes due messages to the functions until it is stopped.

    A message is deleted from the queue when a function has answered its push with 2xx. Each push runs in a thread of a
    pool, so a slow push does not delay other pushes while threads are free. If several processes use one data
    directory, only the process that holds `delivery_lock` pushes messages. When this process ends, another process gets
    the lock and continues.
    """

    def __init__(
        self,
        queue: LocalQueue,
        url: str,
        dead_letter_url: Callable[[], str],
        *,
        delivery_lock: fasteners.InterProcessLock,
        secret: str,
        concurrency: int = CONCURRENCY,
    ) -> None:
        """`dead_letter_url` returns the URL of a running function `dead_letter`, or raises Misconfigured."""
        self._queue = queue
        self._url = url
        self._dead_letter_url = dead_letter_url
        self._delivery_lock = delivery_lock
        self._headers = {"Authorization": f"Bearer {secret}"}
        self._concurrency = concurrency
        self._under_way: dict[int, Future[bool]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)

    def start(self) -> None:
        """Start to push messages."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Start no pushes from now on. This method does not wait for the running pushes."""
        self._stop.set()

    def stop(self) -> None:
        """Start no pushes from now on, and wait for the running pushes.

        Callers stop the functions before they call this method, so that the running pushes end soon.
        """
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        self._run_step(self._acquire_lock)
        while not self._delivery_lock.acquired:
            if self._stop.wait(LOCK_POLL_SECONDS):
                return
            self._run_step(self._acquire_lock)
        try:
            with (
                httpx.Client(
                    trust_env=False,
                    verify=WITHOUT_AUTHORITIES,
                    timeout=TIMEOUT_SECONDS,
                    headers=self._headers,
                    limits=httpx.Limits(max_connections=self._concurrency),
                ) as client,
                ThreadPoolExecutor(self._concurrency, thread_name_prefix="push") as pool,
            ):
                self._run_step(self._queue.reset_backoff)
                while not self._stop.is_set():
                    self._run_step(lambda: self._deliver(client, pool))
                wait(self._under_way.values())
                self._run_step(self._acknowledge)
        finally:
            self._delivery_lock.release()

    def _acquire_lock(self) -> None:
        acquire_now(self._delivery_lock)

    def _run_step(self, step: Callable[[], None]) -> None:
        """Run one step of the delivery. If the step fails, log the error, pause and return.

        No message is lost, because the messages are still in the queue's file.
        """
        try:
            step()
        except (sqlite3.Error, OSError) as exc:  # the disk is full, or the queue's file is damaged or locked
            log.error(
                "delivery_failed",
                cause="the queue file cannot be read or written",
                error=str(exc),
                next_step=next_step(exc),
            )
            self._stop.wait(FAILURE_PAUSE_SECONDS)
        except Exception:  # a bug must not end the only thread that pushes messages
            log.exception("delivery_crashed")
            self._stop.wait(FAILURE_PAUSE_SECONDS)

    def _deliver(self, client: httpx.Client, pool: ThreadPoolExecutor) -> None:
        """Delete the delivered messages, start pushes of due messages, and wait briefly until a push ends."""
        self._acknowledge()
        free = PREFETCH * self._concurrency - len(self._under_way)
        due = self._queue.due(time.time(), free, horizon=LONGEST_RETRY_SECONDS, excluded=list(self._under_way))
        for message in due:
            self._under_way[message.message_id] = pool.submit(self._push, client, message)
        if self._under_way:
            wait(self._under_way.values(), timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        else:
            self._stop.wait(POLL_SECONDS)

    def _acknowledge(self) -> None:
        """Delete the messages whose pushes were answered with 2xx.

        One transaction deletes all these messages, because each transaction writes to the disk.
        """
        finished_pushes = {message_id: push for message_id, push in self._under_way.items() if push.done()}
        delivered_ids = [
            message_id for message_id, push in finished_pushes.items() if push.exception() is None and push.result()
        ]
        if delivered_ids:
            self._queue.acknowledge(delivered_ids)
        for message_id in finished_pushes:
            del self._under_way[message_id]
        for push in finished_pushes.values():
            push.result()  # if `_push` raised an error, this call raises it again

    def _push(self, client: httpx.Client, message: QueuedMessage) -> bool:
        """Push one message, and return whether this succeeded. After a failure, schedule the next push."""
        if self._stop.is_set():
            return False
        try:
            given_up = message.attempts >= MAX_DELIVERY_ATTEMPTS
            url = self._dead_letter_url() if given_up else self._url
            response = client.post(url, json=push_envelope(message))
            if response.is_success:
                return True
            error = f"HTTP {response.status_code}: {response.text[:200]}"
        # Misconfigured or OSError is raised if `dead_letter` cannot start.
        except (httpx.HTTPError, Misconfigured, OSError) as exc:
            error = f"{type(exc).__name__}: {exc}"
        seconds = min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(message.attempts, 20))
        self._queue.postpone(message.message_id, due=time.time() + seconds, error=error)
        log.warning(
            "delivery_postponed",
            message_id=message.message_id,
            seconds=seconds,
            cause="a push was refused, and is repeated",
            error=error,
            next_step="read the log of the function for `push_postponed`",
        )
        return False


def push_envelope(message: QueuedMessage) -> dict[str, Any]:
    """Return the body of the request with which Pub/Sub would push the message.

    The format of the body: https://cloud.google.com/pubsub/docs/push#receive_push.
    """
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
