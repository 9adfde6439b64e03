"""Cache of the hashes of recently stored contents. With it, contents that are sent again cost the database less."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from cachetools import TTLCache

from mnemosyne.domain.memory import IngestRequest

CACHE_SECONDS = 10 * 60.0
CACHE_ENTRIES = 50_000
"""Maximum number of entries, of about 300 bytes each."""


class ContentCache:
    """Hashes of contents that this process stored, or found in the database, within the last ten minutes.

    A content with an entry is probably stored, but its memory may have been deleted meanwhile. Therefore a cached
    content is still looked up in the database, but without the locks that storing needs.
    """

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._hashes: TTLCache[tuple[str, str], None] = TTLCache(CACHE_ENTRIES, CACHE_SECONDS, timer)
        self._lock = threading.Lock()

    def add(self, namespace: str, hashes: Iterable[str]) -> None:
        """Add the hashes of stored contents. The caller has committed the transaction that stored them."""
        with self._lock:
            for content_hash in hashes:
                self._hashes[namespace, content_hash] = None

    def cached_requests(self, namespace: str, requests: Sequence[IngestRequest]) -> list[IngestRequest]:
        """Return the requests whose content hash is in the cache, but no requests that store versions of records.

        A record is a text with a source and key. A request that stores a version of a record must be handled even if
        its content is stored already, because the request can change which version of the record is the current one.
        """
        with self._lock:
            return [
                request
                for request in requests
                if request.external_id is None and (namespace, request.content_hash) in self._hashes
            ]
