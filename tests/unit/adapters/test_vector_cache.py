"""The cache keeps the vectors that were computed before a call of the embedding service failed."""

import numpy as np
import pytest

from mnemosyne.adapters.embedders.vector_cache import VectorCache
from mnemosyne.ports.embedder import Vector


def _vectors(*texts: str) -> dict[str, Vector]:
    return {text: np.full(2, len(text), dtype=np.float32) for text in texts}


@pytest.mark.parametrize("text", ["tea", "", "日本", "lone \ud800 surrogate", "x" * 100_000])
def test_a_cached_vector_can_be_taken_once(text: str) -> None:
    cache = VectorCache()
    cache.add(_vectors(text))
    assert list(cache.take([text, "another"])) == [text]
    assert cache.take([text]) == {}


@pytest.mark.parametrize(("count", "remaining"), [(2, ["a", "b"]), (3, ["a", "b", "c"]), (5, ["c", "d", "e"])])
def test_the_oldest_vectors_are_dropped_when_the_cache_is_full(count: int, remaining: list[str]) -> None:
    cache = VectorCache(most=3)
    for text in "abcde"[:count]:
        cache.add(_vectors(text))
    assert list(cache.take(list("abcde"))) == remaining
