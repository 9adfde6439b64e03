"""Limits of calls to the Gemini API.

The limits are the numbers of texts and tokens in a call, and the total time of the calls for the same documents.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from mnemosyne.domain.batches import batches
from mnemosyne.domain.chunking import most_tokens
from mnemosyne.errors import Unavailable

CALL_TEXTS: Final = 100
"""Maximum number of texts in a call. This is the limit of the developer API; Vertex AI takes 250."""
CALL_TOKENS: Final = 20_000
"""Maximum number of tokens in a call. This is the limit of Vertex AI."""
DOCUMENTS_SECONDS: Final = 45.0
"""Time in seconds after which no further call is made for the same documents.

A delivery embeds its memories in groups, and begins no group after 60 seconds. With this limit, the last group ends
within the function's timeout of 120 seconds, if its last call needs no retry.
"""


def check_deadline(deadline: float, embedded: int, count: int) -> None:
    """Raise Unavailable if the deadline has passed. The message says how many of the `count` texts are embedded."""
    if time.monotonic() >= deadline:
        raise Unavailable(
            f"the embedding service is slow: {embedded} of {count} texts were embedded in the time of one attempt; the "
            "next attempt embeds the others"
        )


def calls(texts: Sequence[str]) -> Iterator[list[str]]:
    """Split the texts into parts, each within the service's limits for one call."""
    return batches(texts, most_tokens, most=CALL_TEXTS, largest=CALL_TOKENS)
