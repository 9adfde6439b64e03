"""Ports of embedding models and of rerankers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mnemosyne.domain.chunking import ChunkLimit

if TYPE_CHECKING:  # 60 ms of a cold start, and only the embedders compute
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
else:
    Vector = Any
"""One L2-normalised embedding."""


class Embedder(Protocol):
    """Turns text into L2-normalised vectors of one embedding space."""

    @property
    def model(self) -> str:
        """The model's name. Vectors of different models cannot be compared."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""

    @property
    def chunk_limit(self) -> ChunkLimit:
        """Most that `embed_documents` takes as one text. Longer texts are embedded in chunks."""

    @property
    def lexical_weight(self) -> float:
        """Weight of the lexical score in a hybrid search, in [0, 1], from measurements of retrieval quality."""

    def for_namespace(self, namespace: str) -> "Embedder":
        """Return the embedder for a namespace. It must not reveal what it learned from the texts of others."""

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector per text, in order, for texts that searches should find.

        Raises TextTooLong if the model would not read a text whole, InvalidRequest if it refuses a text for another
        reason, and Unavailable.
        """

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query of any length. Raises Unavailable or InvalidRequest."""


class Reranker(Protocol):
    """Reads texts together with a query, and says how well each answers it."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a relevance in [0, 1] for each, in order; raises Unavailable, after a third of a second at most."""

    def check(self) -> str:
        """Return what is seen of it; raises Unavailable where it could not be asked."""
