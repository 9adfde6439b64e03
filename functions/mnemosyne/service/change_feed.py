"""Publish the events of the change feed."""

import time
from typing import Final

from mnemosyne.observability import EventLog
from mnemosyne.ports.admin import ChangeFeedStore
from mnemosyne.ports.queue import ChangeTopic

log = EventLog(__name__)

AT_ONCE: Final = 1_000
"""Events that are read, published and marked together."""
SECONDS: Final = 45.0
"""Time after which `announce` begins no further batch. The next run continues."""


def announce(feeds: ChangeFeedStore, topic: ChangeTopic) -> int:
    """Publish the events that are not published yet, and return their number.

    The events of a memory are published in the order of its changes. A crash between publication and mark repeats
    events under the same ids. If another process publishes, nothing is done. Raises Unavailable.
    """
    deadline, count = time.monotonic() + SECONDS, 0
    with feeds.announcer() as announcer:
        while announcer and (events := announcer.unannounced(AT_ONCE)):
            topic.publish(events)
            announcer.mark(events)
            count += len(events)
            if time.monotonic() > deadline:
                break
    if count:
        log.info("changes_announced", count=count)
    return count
