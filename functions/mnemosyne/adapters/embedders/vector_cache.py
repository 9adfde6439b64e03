"""Cache of the vectors that a retry uses again.

If one of several calls to a provider fails, the vectors of the successful calls are cached. So a retry of all
calls does not pay for these vectors again.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from mnemosyne.ports.embedder import Vector

CACHE_ENTRIES = 2_000
"""Maximum number of vectors, about 25 MB at dimension 3,072. The oldest are dropped first."""


class VectorCache:
    """Cache of the vectors of texts, with the digests of the texts as keys. Thread-safe."""

    def __init__(self, most: int = CACHE_ENTRIES) -> None:
        self._most = most
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, vectors: Mapping[str, Vector]) -> None:
        """Cache the vectors of texts. If the cache is full, drop the oldest vectors."""
        with self._lock:
            self._vectors.update((_digest(text), vector) for text, vector in vectors.items())
            while len(self._vectors) > self._most:
                self._vectors.popitem(last=False)

    def take(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Remove the cached vectors of the texts, and return a mapping from text to vector."""
        with self._lock:
            if not self._vectors:
                return {}
            cached = ((text, self._vectors.pop(_digest(text), None)) for text in texts)
            return {text: vector for text, vector in cached if vector is not None}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
