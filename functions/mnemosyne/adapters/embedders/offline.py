"""A sentence embedder with weights from a PyPI package: no key, no download, no GPU.

The weights are WordLlama's 256-dimensional token embeddings, distilled from Llama 2's token embeddings. The package has
the MIT licence, and Llama 2 has its own licence. The vector of a text is the mean of its tokens' vectors. The files are
read with `tokenizers` and `safetensors`, in a quarter of the time and memory that the package takes.
"""

import hashlib
import importlib.util
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemosyne.domain.chunking import ChunkLimit
from mnemosyne.domain.embedding_space import PROVIDERS, EmbeddingSpace
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog
from mnemosyne.once import once
from mnemosyne.ports.embedder import Vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from mnemosyne.settings import Settings

log = EventLog(__name__)

SPACE = EmbeddingSpace("offline", PROVIDERS["offline"].model, PROVIDERS["offline"].dimension)

# The tokens of a query are weighted by inverse document frequency: rare tokens weigh more. Otherwise words that every
# memory has (names of speakers, "said", "about") would dominate the query's vector. Until enough memories are counted,
# the frequency of a token is estimated from its rank in the vocabulary: byte-pair encoding adds frequent tokens first.
_PRIOR_DOCUMENTS = 50.0
_PRIOR_TOKENS_PER_DOCUMENT = 60.0
_FIRST_MERGE = 259
_FIRST_SINGLE_CHARACTER = 29_871


def build(settings: "Settings", space: EmbeddingSpace) -> "OfflineEmbedder":
    """Build the embedder. It counts the tokens of documents if the settings name a directory for the counts."""
    return OfflineEmbedder(Path(settings.offline_statistics) if settings.offline_statistics else None)


def _package() -> Path:
    spec = importlib.util.find_spec("wordllama")  # an import of the package would configure logging
    if spec is None or spec.origin is None:
        raise Misconfigured(
            "the offline embedder needs the package wordllama: pip install 'mnemosyne-serverless[local]'"
        )
    return Path(spec.origin).parent


@cache
def _weights() -> Vector:
    from safetensors.numpy import load_file

    (weights,) = load_file(_package() / "weights" / "l2_supercat_256.safetensors").values()
    return np.ascontiguousarray(weights, dtype=np.float32)


@cache
def _tokenizer() -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_package() / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


class OfflineEmbedder:
    """The Embedder for a local server. Loads in a quarter of a second on first use, then takes 0.03 ms for a text.

    `statistics` is a directory that the processes of a machine share. In this directory the embedder keeps, for each
    namespace and token, the number of documents that contain the token. In the vector of a query, tokens that few
    documents contain weigh more. If the counts are lost, searches still work, but rank their results less well.
    """

    model = SPACE.model
    dimension = SPACE.dimension
    chunk_limit = ChunkLimit(characters=1_200)
    lexical_weight = 0.5  # chosen by recall@10 with `infra/benchmarks/retrieval.py --weights`

    def __init__(self, statistics: Path | None = None) -> None:
        self._statistics = statistics
        self._counting = threading.Lock()

    def for_namespace(self, namespace: str) -> "OfflineEmbedder | _NamespaceEmbedder":
        """Return an embedder that counts the tokens of the namespace's documents.

        Without `statistics`, return this embedder, which counts no tokens.
        """
        if self._statistics is None:
            return self
        counts = _TokenCounts(token_counts_file(self._statistics, namespace), self._counting)
        return _NamespaceEmbedder(self, counts)

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self.vectors(self.tokens(texts))

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, in which rare tokens weigh more.

        The frequency of a token is estimated for general texts, not counted in the documents of a namespace.
        """
        return self.weighted_sum(self.tokens([text])[0], None)

    def vectors(self, tokens: Sequence[NDArray[np.intp]]) -> list[Vector]:
        """Return the normalised mean of each text's token vectors."""
        return [_normalise(_weights()[ids].mean(axis=0)) for ids in tokens]

    def weighted_sum(self, ids: NDArray[np.intp], counts: NDArray[np.uint32] | None) -> Vector:
        """Return the normalised sum of the vectors of tokens. Rare tokens weigh more.

        `counts` has the number of documents that contain each token. Without `counts`, the numbers are estimated.
        """
        return _normalise((_weights()[ids] * self._compute_rarity(ids, counts)[:, np.newaxis]).sum(axis=0))

    @property
    def vocabulary(self) -> int:
        """Number of tokens in the vocabulary."""
        return len(_weights())

    def tokens(self, texts: Sequence[str]) -> list[NDArray[np.intp]]:
        """Return the token ids of each text. For a text without tokens, return the single id 0."""
        encodings = _tokenizer().encode_batch(list(texts), add_special_tokens=False)
        return [np.asarray(encoding.ids or [0], dtype=np.intp) % len(_weights()) for encoding in encodings]

    @once
    def _prior(self) -> Vector:
        """For each token, the assumed number of documents that contain the token.

        The assumed number is computed by Zipf's law from the rank of the token in the vocabulary. The counted number of
        documents is added to the assumed number.
        """
        rank = np.arange(len(_weights()), dtype=np.float32) - _FIRST_MERGE + 1
        rank[_FIRST_SINGLE_CHARACTER:] = 50
        probability = 1.0 / (10.0 * np.maximum(rank, 1.0))
        return np.asarray(
            _PRIOR_DOCUMENTS * (1.0 - np.exp(-_PRIOR_TOKENS_PER_DOCUMENT * probability)), dtype=np.float32
        )

    def _compute_rarity(self, ids: NDArray[np.intp], counts: NDArray[np.uint32] | None) -> Vector:
        documents, containing = _PRIOR_DOCUMENTS, self._prior[ids]
        if counts is not None:
            documents += float(counts[-1])
            containing = containing + counts[ids]
        return np.asarray(np.log((documents + 1.0) / (containing + 0.5)), dtype=np.float32)


class _NamespaceEmbedder:
    """The offline embedder for one namespace. The texts of other namespaces do not change its vectors."""

    model = OfflineEmbedder.model
    dimension = OfflineEmbedder.dimension
    chunk_limit = OfflineEmbedder.chunk_limit
    lexical_weight = OfflineEmbedder.lexical_weight

    def __init__(self, embedder: OfflineEmbedder, counts: "_TokenCounts") -> None:
        self._embedder = embedder
        self._counts = counts

    def for_namespace(self, namespace: str) -> "OfflineEmbedder | _NamespaceEmbedder":
        return self._embedder.for_namespace(namespace)

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector per text, in order, and count the tokens of the texts."""
        tokens = self._embedder.tokens(texts)
        self._counts.add(tokens, self._embedder.vocabulary)
        return self._embedder.vectors(tokens)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Tokens that are rare in the namespace weigh more."""
        return self._embedder.weighted_sum(
            self._embedder.tokens([text])[0], self._counts.read(self._embedder.vocabulary)
        )


class _TokenCounts:
    """A file with the number of documents that contain each token. The file ends with the number of all documents.

    The processes of a machine share the file. Each read and write transfers the whole file (128 kB). The file is not
    mapped into memory: with a mapped file, a full disk would end the process with SIGBUS. If the file cannot be
    read or written, texts are embedded without the counts, and searches rank their results less well.
    """

    def __init__(self, file: Path, counting: threading.Lock) -> None:
        self._file = file
        self._counting = counting

    def read(self, vocabulary: int) -> NDArray[np.uint32]:
        """Read the counts from the file. Return zeros if the file cannot be read."""
        counts = np.zeros(vocabulary + 1, dtype=np.uint32)
        with suppress(OSError), self._file.open("rb", buffering=0) as file:
            file.readinto(counts.data)
        return counts

    def add(self, documents: Sequence[NDArray[np.intp]], vocabulary: int) -> None:
        with self._counting:
            counts = self.read(vocabulary)
            for ids in documents:
                counts[np.unique(ids)] += 1
            counts[-1] += len(documents)
            try:
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file.touch(mode=0o600)
                with self._file.open("r+b", buffering=0) as file:
                    file.write(counts.data)
            except OSError as exc:
                log.warning(
                    "tokens_not_counted",
                    cause="the file of word counts cannot be written",
                    error=str(exc),
                    next_step="make the data directory writable",
                )


def token_counts_file(directory: Path, namespace: str) -> Path:
    """Return the file with a namespace's token counts. Its name is a hash, because a namespace may be any text."""
    return directory / f"{hashlib.sha256(namespace.encode()).hexdigest()[:32]}.bin"


def _normalise(vector: Vector) -> Vector:
    length = float(np.linalg.norm(vector))
    if length < 1e-9:  # for a zero vector (no known token), return any fixed unit vector
        vector, length = np.ones_like(vector), float(len(vector)) ** 0.5
    return np.asarray(vector / length, dtype=np.float32)
