"""Which contents were lately seen stored, so that settling their duplicates costs the database less."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from cachetools import TTLCache

from mnemosyne.domain.memory import IngestRequest

KNOWN_SECONDS = 10 * 60.0
KNOWN_CONTENTS = 50_000
"""Of some 300 bytes each."""


class KnownContents:
    """Content hashes that this process has seen committed within the last ten minutes.

    A hint and no more: a memory may have been deleted since. What is known here is still looked up in the database,
    only without preparing to store it.
    """

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._seen: TTLCache[tuple[str, str], None] = TTLCache(KNOWN_CONTENTS, KNOWN_SECONDS, timer)
        self._lock = threading.Lock()

    def add(self, namespace: str, hashes: Iterable[str]) -> None:
        """Note contents as stored; to be called once they are committed."""
        with self._lock:
            for content_hash in hashes:
                self._seen[namespace, content_hash] = None

    def among(self, namespace: str, requests: Sequence[IngestRequest]) -> list[IngestRequest]:
        """Return the requests whose content is known, except versions of records, whose order matters as well."""
        with self._lock:
            return [one for one in requests if one.origin is None and (namespace, one.content_hash) in self._seen]
