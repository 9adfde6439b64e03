"""Rate limits in units of cost, for each principal (authenticated caller) and each network.

The module also determines the address of a caller.
"""

import math
import threading
import time
from collections import OrderedDict

from starlette.datastructures import Headers
from starlette.types import Scope as AsgiScope

from mnemosyne.domain.rate_limit import TokenBucket, networks_of

MAX_BUCKETS = 10_000
LARGE_NETWORK = 4
"""Budget of a large network, as a multiple of the budget of a small network. The multiple is low, to limit an attacker
with a whole /48 of addresses. Even so, the budget suffices for an office, which has few addresses."""


class Budgets:
    """Token buckets, one per principal or network, refilled with `per_minute` units a minute.

    Each instance counts separately, so a principal gets at most the budget times the number of instances. The cost of a
    response is known only after the response is sent, so a balance can become negative. This class exists because
    libraries for rate limits do not allow negative balances.
    """

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        """Buckets by key, the least recently used first. An LRUCache of cachetools would take four times the CPU
        time."""
        self._lock = threading.Lock()

    def spend(self, key: str, cost: float, paid: float = 0) -> int:
        """Spend `cost` units. Returns 0, or the seconds to wait if the budget does not suffice.

        `paid` is the number of units that the same request has already spent. A retry of the request spends these
        units again. Therefore the seconds to wait are long enough for `paid` and `cost` together.
        """
        if not self.per_minute:
            return 0
        now = time.monotonic()
        with self._lock:
            bucket = self._buckets.get(key) or TokenBucket.full(self.per_minute, now)
            bucket, wait = bucket.take(now, cost, paid)
            self._store(key, bucket)
        return math.ceil(wait)

    def retry_after(self, key: str) -> int:
        """Return the seconds until the budget has a unit to spend; 0 if it has one now. Spends nothing."""
        with self._lock:
            if bucket := self._buckets.get(key):
                self._buckets.move_to_end(key)
        return math.ceil(bucket.take(time.monotonic(), 1)[1]) if bucket else 0

    def charge(self, key: str, cost: float) -> None:
        """Spend `cost` units even if the balance becomes negative."""
        if self.per_minute:
            now = time.monotonic()
            with self._lock:
                bucket = self._buckets.get(key) or TokenBucket.full(self.per_minute, now)
                self._store(key, bucket.overdraw(now, cost))

    def _store(self, key: str, bucket: TokenBucket) -> None:
        self._buckets[key] = bucket
        self._buckets.move_to_end(key)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)


class NetworkBudgets:
    """Budgets of networks, for callers that are not authenticated.

    Each small network (IPv4 address, IPv6 /64) and each large network (IPv4 /24, IPv6 /48) has a budget.
    """

    def __init__(self, per_minute: int) -> None:
        self._small = Budgets(per_minute)
        self._large = Budgets(per_minute * LARGE_NETWORK)

    def spend(self, address: str, cost: float = 1) -> int:
        """Charge `cost` units to the small and the large network of the address.

        Returns 0, or the seconds to wait if one of their budgets does not suffice.
        """
        small, large = networks_of(address)
        if seconds := self.retry_after(address):
            return seconds
        return self._small.spend(small, cost) or self._large.spend(large, cost)

    def retry_after(self, address: str) -> int:
        """Return the seconds to wait if the budget of the small or large network is used up, else 0. Spends nothing."""
        small, large = networks_of(address)
        return self._small.retry_after(small) or self._large.retry_after(large)


def client_address(scope: AsgiScope, headers: Headers, proxies: int | None) -> str:
    """Return the address from which the outermost trusted proxy received the request.

    Without proxies, return the address of the peer.

    Only the last addresses in X-Forwarded-For come from trusted proxies. Callers can forge all earlier addresses. A
    load balancer appends two addresses: https://cloud.google.com/load-balancing/docs/https#x-forwarded-for_header.
    """
    hops = [part.strip() for line in headers.getlist("x-forwarded-for") for part in line.split(",")]
    if proxies is not None and len(hops) > proxies:
        return hops[-1 - proxies][:100]
    return str((scope.get("client") or ("unknown",))[0])
