"""Keep vectors that were bought before a later call failed, so that the next attempt does not buy them again."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from mnemosyne.ports.embedder import Vector

MOST = 2_000
"""Most vectors that are kept, about 25 MB at dimension 3,072. The oldest are dropped first."""


class KeptVectors:
    """Vectors by text, until they are taken. Safe between threads. Texts are kept as digests only."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors by their texts."""
        with self._lock:
            self._vectors.update((_digest(text), vector) for text, vector in vectors.items())
            while len(self._vectors) > self._most:
                self._vectors.popitem(last=False)

    def take(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of those of the texts that have one, and keep them no longer."""
        with self._lock:
            if not self._vectors:
                return {}
            found = ((text, self._vectors.pop(_digest(text), None)) for text in texts)
            return {text: vector for text, vector in found if vector is not None}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
