"""Cost of requests in units, and the token bucket that limits units per minute. Pure.

One unit is the cost of a minimal request. The costs reflect database time, CPU time, memory and money. For example, 600
units per minute are enough for 600 minimal requests, or 9 MiB of request bodies, or 1,400 short memories, or 200 hybrid
searches, or 100 exact searches.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

REQUEST: Final = 1.0
MEMORY: Final = 0.2
TEXT: Final = 0.2
"""Cost of embedding one text. A long memory is split into several texts."""
TEXT_CHARACTERS: Final = 2_000
SEARCH: Final = {"semantic": 1.0, "hybrid": 2.0, "exact": 5.0}
TYPING: Final = 1.0
"""Cost of a search for a query that is still being typed. Such a search is by words only."""
COUNTING: Final = 2.0
"""Cost of a query that reads all memories, requests or audit events of a namespace."""
VALUES: Final = 20
"""Number of values in conditions on metadata that cost one unit. Each value is compared with the metadata of every
memory."""
FORGETTING: Final = 20.0
"""Cost of a dry run or of a step of a forgetting (a deletion of selected memories). Each may read or delete all
memories of a namespace."""
BYTES_IN: Final = 16 * 1024
"""Number of bytes of a request that cost one unit."""
BYTES_OUT: Final = 64 * 1024
"""Number of bytes of a response that cost one unit."""


def networks_of(address: str) -> tuple[str, str]:
    """Return the small and the large network of an address: /64 and /48 for IPv6, /32 and /24 for IPv4.

    A limit per IPv6 address would have no effect, because a subscriber has at least a /64 and often a /48 (RFC 6177).
    All invalid addresses belong to one network, `unknown`.
    """
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown", "unknown"
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    small, large = (32, 24) if ip.version == 4 else (64, 48)
    return tuple(str(ipaddress.ip_network((ip, bits), strict=False)) for bits in (small, large))  # type: ignore[return-value]


def cost_of_memories(memories: object) -> float:
    """Return the cost of storing the memories in a call's arguments. The memories need not be valid."""
    if not isinstance(memories, Sequence) or isinstance(memories, str):
        return MEMORY
    return sum(MEMORY + TEXT * (1 + _content_length(memory) // TEXT_CHARACTERS) for memory in memories)


def cost_of_search(arguments: Mapping[str, Any]) -> float:
    """Return the cost of a search, in addition to the basic cost of a request (`REQUEST`).

    A search without a query costs at least as much as a list of memories (`cost_of_list`).
    """
    mode = arguments.get("mode", "hybrid")
    # A search with `as_of` uses the titles, tags and metadata that memories had at an earlier time. The indexes have
    # only the current titles, tags and metadata, so such a search reads all memories.
    earlier = COUNTING if arguments.get("as_of") else 0.0
    if not arguments.get("query"):
        return max(earlier, cost_of_list(arguments))
    cost = SEARCH.get(mode if isinstance(mode, str) else "hybrid", 0.0)
    return earlier + (min(cost, TYPING) if arguments.get("typing") is True else cost)


def cost_of_list(arguments: Mapping[str, Any]) -> float:
    """Return the cost of listing memories by timestamp, in addition to the basic cost of a request (`REQUEST`).

    Only a filter by tags or metadata has an additional cost: if few memories match, the database reads all memories.
    """
    return COUNTING if arguments.get("tags") or arguments.get("metadata") else 0.0


def cost_of_conditions(arguments: Mapping[str, Any]) -> float:
    """Return the cost of the values in conditions on metadata, in addition to the other costs of the call."""
    conditions = arguments.get("metadata")
    if not isinstance(conditions, list):
        return 0.0
    values = [condition.get("values") for condition in conditions if isinstance(condition, Mapping)]
    return sum(len(each) for each in values if isinstance(each, list)) / VALUES


def cost_of_changes(arguments: Mapping[str, Any]) -> float:
    """Return the cost of changing the memories in `ids`, in addition to the basic cost of a request (`REQUEST`).

    Each memory costs as much as storing a memory without embedding its text, because it is indexed again.
    """
    ids = arguments.get("ids")
    return MEMORY * len(ids) if isinstance(ids, list) else 0.0


def _content_length(memory: object) -> int:
    content = memory.get("content") if isinstance(memory, Mapping) else None
    return len(content) if isinstance(content, str) else 0


@dataclass(frozen=True, kw_only=True)
class TokenBucket:
    """A token bucket that holds at most `per_minute` tokens, and gains `per_minute` tokens per minute.

    https://en.wikipedia.org/wiki/Token_bucket
    """

    per_minute: int
    tokens: float
    at: float

    @classmethod
    def full(cls, per_minute: int, now: float) -> Self:
        """Return a full bucket."""
        return cls(per_minute=per_minute, tokens=float(per_minute), at=now)

    def take(self, now: float, cost: float = 1, paid: float = 0) -> tuple[Self, float]:
        """Take `cost` tokens if the bucket has enough. Return the new bucket, and the seconds to wait before a retry.

        If the tokens were taken, the seconds are 0. `paid` is the number of tokens that earlier calls have taken for
        the same request. If this call does not take its tokens, the client must repeat the whole request and pay `paid`
        again. Therefore the bucket has enough tokens for `paid` and `cost` together after the returned seconds. A
        request may cost more tokens than a full bucket has. Then a full bucket is enough, and its balance becomes
        negative.
        """
        tokens, full = self._tokens_at(now), float(self.per_minute)
        if tokens >= min(cost, max(0.0, full - paid)):
            return self._replace_tokens(tokens - cost, now), 0.0
        return self._replace_tokens(tokens, now), (min(cost + paid, full) - tokens) / (full / 60)

    def overdraw(self, now: float, cost: float) -> Self:
        """Take tokens even if the balance becomes negative. The balance never falls below minus two full buckets."""
        return self._replace_tokens(max(-2.0 * self.per_minute, self._tokens_at(now) - cost), now)

    def _tokens_at(self, now: float) -> float:
        return min(float(self.per_minute), self.tokens + (now - self.at) * self.per_minute / 60)

    def _replace_tokens(self, tokens: float, at: float) -> Self:
        return type(self)(per_minute=self.per_minute, tokens=tokens, at=at)
