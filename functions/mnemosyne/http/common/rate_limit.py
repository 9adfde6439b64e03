"""Hold each principal to a budget of cost: nobody is served at others' expense."""

import math
import threading
import time

from cachetools import LRUCache

from mnemosyne.domain.rate_limit import TokenBucket, networks_of

REMEMBERED = 10_000
LARGE_NETWORK = 4
"""Budgets of a small network that a large one has together: an office has few addresses, an attacker a whole /48."""


class Budgets:
    """Token buckets, one for each principal or address, that fill with `per_minute` units a minute.

    Counted by each instance for itself, so that accepting a memory needs no database: a principal gets at most the
    budget times the number of instances. Own code, because a cost that is known only afterwards (the bytes of an
    answer) must be owed, and no library's bucket can owe.
    """

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(REMEMBERED)
        self._lock = threading.Lock()

    def take(self, who: str, cost: float, paid: float = 0) -> int:
        """Spend so many units; the seconds until that could be done, where it cannot yet, and 0 where it was.

        `paid` is what the same request has spent before, and would spend again.
        """
        if not self.per_minute:
            return 0
        now = time.monotonic()
        with self._lock:
            bucket = self._buckets.get(who) or TokenBucket.full(self.per_minute, now)
            self._buckets[who], early = bucket.take(now, cost, paid)
        return math.ceil(early)

    def early(self, who: str) -> int:
        """Return the seconds until anything could be spent; 0 where it can be now. Spends nothing."""
        with self._lock:
            bucket = self._buckets.get(who)
        return math.ceil(bucket.take(time.monotonic(), 1)[1]) if bucket else 0

    def owe(self, who: str, cost: float) -> None:
        """Spend units that are spent already, whether or not they are there."""
        if self.per_minute:
            now = time.monotonic()
            with self._lock:
                bucket = self._buckets.get(who) or TokenBucket.full(self.per_minute, now)
                self._buckets[who] = bucket.owing(now, cost)


class NetworkBudgets:
    """Budgets of callers without a credential, by the small and the large network of their address."""

    def __init__(self, per_minute: int) -> None:
        self._small = Budgets(per_minute)
        self._large = Budgets(per_minute * LARGE_NETWORK)

    def take(self, address: str, cost: float = 1) -> int:
        """Spend units of both networks; return the seconds until that is possible, and 0 if it was."""
        small, large = networks_of(address)
        if seconds := self.early(address):
            return seconds
        return self._small.take(small, cost) or self._large.take(large, cost)

    def early(self, address: str) -> int:
        """Return the seconds until a unit can be spent; 0 if it can be now. Spends nothing."""
        small, large = networks_of(address)
        return self._small.early(small) or self._large.early(large)
