"""Cache of quotas, for callers that must not wait for the database."""

import threading
from collections.abc import Callable

from cachetools import TTLCache

from mnemosyne.domain.quota import Quota
from mnemosyne.errors import MnemosyneError
from mnemosyne.observability import EventLog

log = EventLog(__name__)

FRESH_SECONDS = 30.0
NAMESPACES_REMEMBERED = 10_000
ASKED_AT_ONCE = 2
"""Connections that these questions may take from the pool."""


class QuotaCache:
    """Caches quotas for 30 seconds. A missing one is looked up in the background, for the next caller.

    `ingest` judges for certain; this spares an agent from hearing so only later.
    """

    def __init__(self, look: Callable[[str], Quota]) -> None:
        self._look = look
        self._known: TTLCache[str, Quota] = TTLCache(NAMESPACES_REMEMBERED, FRESH_SECONDS)
        self._asked: set[str] = set()
        self._lock = threading.Lock()

    def of(self, namespace: str) -> Quota | None:
        """Return the namespace's quota; None where it is not known."""
        with self._lock:
            known = self._known.get(namespace)
            ask = known is None and namespace not in self._asked and len(self._asked) < ASKED_AT_ONCE
            if ask:
                self._asked.add(namespace)
        if ask:
            threading.Thread(target=self._find, args=(namespace,), name="quota", daemon=True).start()
        return known

    def _find(self, namespace: str) -> None:
        try:
            quota = self._look(namespace)
            with self._lock:
                self._known[namespace] = quota
        except MnemosyneError as exc:
            log.warning("quota_unknown", namespace=namespace, error=str(exc))
        finally:
            with self._lock:
                self._asked.discard(namespace)
