"""Record embeddings of a collection in a file, so that retrieval can be measured without the model's API key."""

import hashlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from infra.benchmarks.collection import Collection
from mnemosyne.domain.chunking import ChunkLimit, chunks
from mnemosyne.errors import Misconfigured
from mnemosyne.ports.embedder import Embedder, Vector


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def record(embedder: Embedder, collection: Collection, file: Path) -> None:
    """Write the vectors of the collection's questions and documents.

    Each document has a vector with its tags and one without.

    The vectors are half floats, as in the database.
    """
    requests = [request for tags in (False, True) for _, request in collection.requests(sessions=False, tags=tags)]
    parts = chain.from_iterable(chunks(request.embedded_text, embedder.chunk_limit) for request in requests)
    documents = list(dict.fromkeys(parts))
    questions = list(dict.fromkeys(question.text for question in collection.questions))
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        file,
        about=np.array([embedder.model, str(embedder.lexical_weight)]),
        chunk_limit=np.array([embedder.chunk_limit.characters, embedder.chunk_limit.tokens or 0]),
        document_keys=np.array([_key(text) for text in documents]),
        documents=np.array(embedder.embed_documents(documents), dtype=np.float16),
        query_keys=np.array([_key(text) for text in questions]),
        queries=np.array([embedder.embed_query(text) for text in questions], dtype=np.float16),
    )


class RecordedEmbedder:
    """An embedder that reads vectors from a file. A text without a vector in the file raises Misconfigured."""

    def __init__(self, file: Path) -> None:
        with np.load(file) as recorded:
            self.model, weight = map(str, recorded["about"])
            characters, tokens = map(int, recorded["chunk_limit"])
            self._documents = dict(zip(recorded["document_keys"], recorded["documents"], strict=True))
            self._queries = dict(zip(recorded["query_keys"], recorded["queries"], strict=True))
            self.dimension = recorded["documents"].shape[1]
        self.chunk_limit, self.lexical_weight = ChunkLimit(characters=characters, tokens=tokens or None), float(weight)
        self._file = file

    def for_namespace(self, namespace: str) -> "RecordedEmbedder":
        """Return itself: the vectors are the same in all namespaces."""
        return self

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return the recorded vectors of the texts. Raises Misconfigured if one is missing."""
        return [self._recorded(self._documents, text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        """Return the recorded vector of the query. Raises Misconfigured if it is missing."""
        return self._recorded(self._queries, text)

    def _recorded(self, vectors: dict[str, Vector], text: str) -> Vector:
        vector = vectors.get(_key(text))
        if vector is None:
            raise Misconfigured(f"{self._file.name} has no vector of {text[:60]!r}: record the collection again")
        return np.asarray(vector, dtype=np.float32)
