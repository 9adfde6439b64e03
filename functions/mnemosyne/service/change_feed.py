"""Publish the events of the change feed."""

import time
from typing import Final

from mnemosyne.observability import EventLog
from mnemosyne.ports.admin import ChangeFeedStore
from mnemosyne.ports.queue import ChangeTopic

log = EventLog(__name__)

AT_ONCE: Final = 1_000
"""Number of events that are read, published and marked together."""
SECONDS: Final = 45.0
"""Seconds after which `announce` begins no further batch. The next run continues."""


def announce(feeds: ChangeFeedStore, topic: ChangeTopic) -> int:
    """Publish the events of the change feed that are not published yet, and return the number of events.

    The events of a memory are published in the order of its changes. After a crash between publishing and marking,
    events are published again under the same ids. If another process is publishing, the result is 0. Raises
    Unavailable.
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
