"""Cache of quotas, for callers that must not wait for the database."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime

from cachetools import TTLCache

from mnemosyne.domain.quota import Quota
from mnemosyne.errors import MnemosyneError, ServiceError
from mnemosyne.observability import EventLog, fault_fields

log = EventLog(__name__)

FRESH_SECONDS = 30.0
CACHE_ENTRIES = 10_000
LOOK_UPS_AT_ONCE = 2
"""Maximum number of look-ups at the same time. Each look-up uses a connection of the pool."""


class QuotaCache:
    """Caches quotas for 30 seconds.

    If a quota is not cached or is used up, it is looked up in the background for the next caller.

    The service `ingest` enforces the quota when it stores memories. With this cache, the service `mcp` refuses a
    request over quota earlier, while the agent waits for the answer.
    """

    def __init__(self, look: Callable[[str], Quota]) -> None:
        self._look = look
        self._quotas: TTLCache[str, Quota] = TTLCache(CACHE_ENTRIES, FRESH_SECONDS)
        self._pending: dict[str, object] = {}
        """The look-ups in progress, by namespace. The value is a new object for each look-up."""
        self._lock = threading.Lock()

    def of(self, namespace: str) -> Quota | None:
        """Return the cached quota of a namespace, or None.

        A quota that is used up is looked up again, because a refused caller may have deleted memories since.
        """
        with self._lock:
            quota = self._quotas.get(namespace)
            is_outdated = quota is None or quota.refusal(datetime.now(UTC)) is not None
            ask = is_outdated and namespace not in self._pending and len(self._pending) < LOOK_UPS_AT_ONCE
            if ask:
                look_up = self._pending[namespace] = object()
        if ask:
            threading.Thread(target=self._look_up, args=(namespace, look_up), name="quota", daemon=True).start()
        return quota

    def discard(self, namespace: str) -> None:
        """Remove the quota of a namespace from the cache, because memories were deleted.

        The result of a look-up in progress is ignored, because it may have read the usage before the deletion.
        """
        with self._lock:
            self._quotas.pop(namespace, None)
            self._pending.pop(namespace, None)

    def _look_up(self, namespace: str, look_up: object) -> None:
        try:
            quota = self._look(namespace)
            with self._lock:
                if self._pending.get(namespace) is look_up:
                    self._quotas[namespace] = quota
        except MnemosyneError as exc:
            about = fault_fields(exc) if isinstance(exc, ServiceError) else {}
            log.warning("quota_unknown", namespace=namespace, **about)
        finally:
            with self._lock:
                if self._pending.get(namespace) is look_up:
                    del self._pending[namespace]
