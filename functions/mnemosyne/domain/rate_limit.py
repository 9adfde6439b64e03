"""What a request costs its principal, in units, and the token bucket they are paid from. Pure.

One unit is a request that does next to nothing.

The weights follow what each takes from the others: time of the database and of the loop, memory, and money. A budget of
600 units a minute is 600 requests without weight, or 9 MiB in, 1,400 short memories, 200 hybrid searches or 100 exact
ones.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

REQUEST: Final = 1.0
MEMORY: Final = 0.2
TEXT: Final = 0.2
"""A text to be embedded; a long memory is cut into several."""
TEXT_CHARACTERS: Final = 2_000
SEARCH: Final = {"semantic": 1.0, "hybrid": 2.0, "exact": 5.0}
COUNTING: Final = 2.0
"""Whatever looks at all memories of a namespace."""
BYTES_IN: Final = 16 * 1024
"""Of a request, for one unit."""
BYTES_OUT: Final = 64 * 1024
"""Of an answer, for one unit."""


def networks_of(address: str) -> tuple[str, str]:
    """Return the small and the large network of an address: /64 and /48 of IPv6, one address and /24 of IPv4.

    A subscriber of IPv6 is given a /64 at least and often a /48 (RFC 6177), so a full address limits nobody. Everything
    that is not an address is one network.
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
    """Return the cost of storing what a caller hands over, whether or not it will be accepted."""
    if not isinstance(memories, Sequence) or isinstance(memories, str):
        return MEMORY
    return sum(MEMORY + TEXT * (1 + _length(one) // TEXT_CHARACTERS) for one in memories)


def cost_of_search(arguments: Mapping[str, Any], otherwise: str = "hybrid") -> float:
    """Return the cost of a search in the mode asked for; without a query it costs no more than any request."""
    mode = arguments.get("mode", otherwise)
    return SEARCH.get(mode if isinstance(mode, str) else otherwise, 0.0) if arguments.get("query") else 0.0


def _length(memory: object) -> int:
    content = memory.get("content") if isinstance(memory, Mapping) else None
    return len(content) if isinstance(content, str) else 0


@dataclass(frozen=True, kw_only=True)
class TokenBucket:
    """A token bucket: full it holds `per_minute` tokens, and fills at that rate.

    https://en.wikipedia.org/wiki/Token_bucket
    """

    per_minute: int
    tokens: float
    at: float

    @classmethod
    def full(cls, per_minute: int, now: float) -> Self:
        """Return a bucket nobody has taken from."""
        return cls(per_minute=per_minute, tokens=float(per_minute), at=now)

    def take(self, now: float, cost: float = 1, paid: float = 0) -> tuple[Self, float]:
        """Return the bucket afterwards, and how many seconds too early this was: 0 where the tokens were there.

        What costs more than a full bucket holds, with what was `paid` for it before, needs a full one, and the rest is
        owed. Who comes too early pays all of it once more.
        """
        filled, full = self._filled(now), float(self.per_minute)
        if filled.tokens >= min(cost, max(0.0, full - paid)):
            return self._with(filled.tokens - cost, now), 0.0
        return filled, (min(cost + paid, full) - filled.tokens) / (full / 60)

    def owing(self, now: float, cost: float) -> Self:
        """Return the bucket after tokens were taken that may not have been there.

        Nobody owes more than two full ones.
        """
        filled = self._filled(now)
        return self._with(max(-2.0 * self.per_minute, filled.tokens - cost), now)

    def _filled(self, now: float) -> Self:
        tokens = self.tokens + (now - self.at) * self.per_minute / 60
        return self._with(min(float(self.per_minute), tokens), now)

    def _with(self, tokens: float, at: float) -> Self:
        return type(self)(per_minute=self.per_minute, tokens=tokens, at=at)
