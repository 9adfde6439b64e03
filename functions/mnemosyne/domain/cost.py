"""What a request costs its principal, in units: one is a request that does next to nothing. Pure.

The weights follow what each takes from the others: time of the database and of the loop, memory, and money. A budget of
600 units a minute is 600 requests without weight, or 9 MiB in, 1,400 short memories, 200 hybrid searches or 100 exact
ones.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

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


def of_memories(memories: object) -> float:
    """The cost of storing what a caller hands over, whether or not it will be accepted."""
    if not isinstance(memories, Sequence) or isinstance(memories, str):
        return MEMORY
    return sum(MEMORY + TEXT * (1 + _length(one) // TEXT_CHARACTERS) for one in memories)


def of_search(arguments: Mapping[str, Any], otherwise: str = "semantic") -> float:
    """The cost of a search in the mode asked for; without a query it costs no more than any request."""
    mode = arguments.get("mode", otherwise)
    return SEARCH.get(mode if isinstance(mode, str) else otherwise, 0.0) if arguments.get("query") else 0.0


def _length(memory: object) -> int:
    content = memory.get("content") if isinstance(memory, Mapping) else None
    return len(content) if isinstance(content, str) else 0
