"""A sentence embedder whose weights arrive in a PyPI package: no key, no download, no GPU.

The weights are WordLlama's 256-dimensional token embeddings, distilled from Llama 2's token embeddings; the
package is MIT, the original falls under Meta's Llama 2 licence. A text's vector is the mean of its tokens'
vectors. Read here through `tokenizers` and `safetensors`, a quarter of the package's own loading time and memory.
"""

import hashlib
import importlib.util
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemosyne.domain.chunking import ChunkLimit
from mnemosyne.domain.embedding_space import PROVIDERS, EmbeddingSpace
from mnemosyne.errors import Misconfigured
from mnemosyne.ports import Vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from mnemosyne.settings import Settings

SPACE = EmbeddingSpace("offline", PROVIDERS["offline"].model, PROVIDERS["offline"].dimension)

# A query's tokens are weighted by inverse document frequency: in conversations, the words that stand in every
# memory (names of the speakers, "said", "about") would otherwise dominate the mean. Before enough memories
# have been counted, frequencies are taken from the vocabulary, which byte-pair merging has sorted by frequency.
_PRIOR_DOCUMENTS = 50.0
_PRIOR_TOKENS_PER_DOCUMENT = 60.0
_FIRST_MERGE = 259
_FIRST_SINGLE_CHARACTER = 29_871


def build(settings: "Settings", space: EmbeddingSpace) -> "OfflineEmbedder":
    """Build the embedder; it counts tokens where the settings name a directory for that."""
    return OfflineEmbedder(Path(settings.offline_statistics) if settings.offline_statistics else None)


class OfflineEmbedder:
    """The Embedder for one machine; loads on first use (a quarter second), then about 0.03 ms a text.

    With `statistics`, a directory shared by the processes of one machine, it counts for each namespace in how many
    documents each token stands, and reads those counts for its queries. The counts are an estimate: losing them costs
    ranking, not data.
    """

    model = SPACE.model
    dimension = SPACE.dimension
    chunk_limit = ChunkLimit(characters=1_200)
    lexical_weight = 0.5  # recall@10 by weight: `benchmarks/retrieval.py --weights`

    def __init__(self, statistics: Path | None = None) -> None:
        self._statistics = statistics
        self._own: dict[str, _NamespaceEmbedder] = {}
        self._adding = threading.Lock()

    def for_namespace(self, namespace: str) -> "OfflineEmbedder | _NamespaceEmbedder":
        """Return the embedder that counts the tokens of that namespace's texts alone; itself where none are counted."""
        if self._statistics is None:
            return self
        with self._adding:
            if namespace not in self._own:
                self._own[namespace] = _NamespaceEmbedder(self, counts_file(self._statistics, namespace))
            return self._own[namespace]

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector per text, in order."""
        return self.vectors(self.tokens(texts))

    def embed_query(self, text: str) -> Vector:
        """Return the vector to search with: the query's tokens weighted by how rare they are in general."""
        ids = self.tokens([text])[0]
        return self.weighted(ids, None)

    def vectors(self, tokens: Sequence[NDArray[np.intp]]) -> list[Vector]:
        """Return the mean of each text's tokens."""
        return [_normalised(self._weights[ids].mean(axis=0)) for ids in tokens]

    def weighted(self, ids: NDArray[np.intp], counts: NDArray[np.uint32] | None) -> Vector:
        """Return the tokens' sum, each weighted by how rare it is by those counts."""
        return _normalised((self._weights[ids] * self._rarity(ids, counts)[:, np.newaxis]).sum(axis=0))

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return len(self._weights)

    @cached_property
    def _package(self) -> Path:
        spec = importlib.util.find_spec("wordllama")  # found, not imported: importing it configures logging
        if spec is None or spec.origin is None:
            raise Misconfigured(
                "the offline embedder needs the package wordllama: pip install 'mnemosyne-serverless[local]'"
            )
        return Path(spec.origin).parent

    @cached_property
    def _weights(self) -> Vector:
        from safetensors.numpy import load_file

        (weights,) = load_file(self._package / "weights" / "l2_supercat_256.safetensors").values()
        return np.ascontiguousarray(weights, dtype=np.float32)

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def tokens(self, texts: Sequence[str]) -> list[NDArray[np.intp]]:
        """Return the numbers of each text's tokens; at least one."""
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [np.asarray(one.ids or [0], dtype=np.intp) % len(self._weights) for one in encoded]

    @cached_property
    def _prior(self) -> Vector:
        """In how many of the prior's documents each token stands, by Zipf's law over its rank."""
        rank = np.arange(len(self._weights), dtype=np.float32) - _FIRST_MERGE + 1
        rank[_FIRST_SINGLE_CHARACTER:] = 50
        probability = 1.0 / (10.0 * np.maximum(rank, 1.0))
        return np.asarray(
            _PRIOR_DOCUMENTS * (1.0 - np.exp(-_PRIOR_TOKENS_PER_DOCUMENT * probability)), dtype=np.float32
        )

    def _rarity(self, ids: NDArray[np.intp], counts: NDArray[np.uint32] | None) -> Vector:
        documents, containing = _PRIOR_DOCUMENTS, self._prior[ids]
        if counts is not None:
            documents += float(counts[-1])
            containing = containing + counts[ids]
        return np.asarray(np.log((documents + 1.0) / (containing + 0.5)), dtype=np.float32)


class _NamespaceEmbedder:
    """The offline embedder for one namespace: what stands in others' texts changes nothing here."""

    model = OfflineEmbedder.model
    dimension = OfflineEmbedder.dimension
    chunk_limit = OfflineEmbedder.chunk_limit
    lexical_weight = OfflineEmbedder.lexical_weight

    def __init__(self, embedder: OfflineEmbedder, file: Path) -> None:
        self._embedder = embedder
        self._file = file
        self._counting = threading.Lock()

    def for_namespace(self, namespace: str) -> "OfflineEmbedder | _NamespaceEmbedder":
        """Return the embedder for another namespace."""
        return self._embedder.for_namespace(namespace)

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector per text, in order; their tokens are counted."""
        tokens = self._embedder.tokens(texts)
        with self._counting:
            for ids in tokens:
                self._counts[np.unique(ids)] += 1
            self._counts[-1] += len(tokens)
        return self._embedder.vectors(tokens)

    def embed_query(self, text: str) -> Vector:
        """Return the vector to search with: the query's tokens weighted by how rare they are in the namespace."""
        return self._embedder.weighted(self._embedder.tokens([text])[0], self._counts)

    @cached_property
    def _counts(self) -> NDArray[np.uint32]:
        """Documents per token and, last, documents in all; shared with the machine's other processes."""
        size = (self._embedder.vocabulary + 1) * 4
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._file.open("ab") as file:
            if file.tell() < size:
                file.truncate(size)
        return np.memmap(self._file, dtype=np.uint32, mode="r+", shape=(size // 4,))


def counts_file(directory: Path, namespace: str) -> Path:
    """Where a namespace's tokens are counted; a namespace may be any text, a file's name may not."""
    return directory / f"{hashlib.sha256(namespace.encode()).hexdigest()[:32]}.bin"


def _normalised(vector: Vector) -> Vector:
    length = float(np.linalg.norm(vector))
    if length < 1e-9:  # nothing known in the text: any fixed direction, for a zero vector has none
        vector, length = np.ones_like(vector), float(len(vector)) ** 0.5
    return np.asarray(vector / length, dtype=np.float32)
