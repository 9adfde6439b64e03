"""Ports of embedding models and of rerankers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mnemosyne.domain.chunking import ChunkLimit

if TYPE_CHECKING:  # importing NumPy takes 60 ms of a cold start, and only the embedders need it
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
else:
    Vector = Any
"""One embedding with length 1 (L2-normalised)."""


class Embedder(Protocol):
    """Embeds text as L2-normalised vectors of one embedding space."""

    @property
    def model(self) -> str:
        """The model's name. Vectors of different models cannot be compared."""

    @property
    def dimension(self) -> int:
        """Number of coordinates of every vector."""

    @property
    def chunk_limit(self) -> ChunkLimit:
        """Maximum size of a text for `embed_documents`, in characters and tokens.

        Longer texts are embedded in chunks.
        """

    @property
    def lexical_weight(self) -> float:
        """Weight of the lexical score (by words) in a hybrid search, from 0 to 1.

        It was chosen by measuring the quality of searches.
        """

    def for_namespace(self, namespace: str) -> "Embedder":
        """Return the embedder for a namespace. The vectors must not depend on texts of other namespaces."""

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector per text, in order, for texts to be stored.

        Raises TextTooLong if the model would truncate a text, InvalidRequest if it rejects a text for another reason,
        and Unavailable.
        """

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query of any length. Raises Unavailable or InvalidRequest."""


class Reranker(Protocol):
    """A model that rates how well each text answers a query."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a relevance in [0, 1] for each text, in order.

        Raises Unavailable if there is no answer within a third of a second.
        """

    def check(self) -> str:
        """Return a description of the reranker's state, for health checks.

        Raises Unavailable if the reranker does not answer.
        """
