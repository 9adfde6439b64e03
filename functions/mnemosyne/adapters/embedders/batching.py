"""Share embedding calls between the pushes that an instance handles at the same time."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from mnemosyne.errors import ItemUnavailable, MnemosyneError, ServiceError
from mnemosyne.ports.embedder import Embedder, Vector

WAIT_SECONDS = 0.025
BATCH_TEXTS = 100


@dataclass
class _Batch:
    """Texts of several callers. The first caller sends the texts of all of them in one call."""

    texts: list[str] = field(default_factory=list)
    full: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    vectors: Sequence[Vector] | None = None
    fault: ServiceError | None = None


class MicroBatchingEmbedder:
    """An Embedder that joins concurrent calls for documents into calls of at most 100 texts.

    A call is made at once if no other is in progress, or if it has 100 texts or more. Otherwise the first waiting
    caller collects the texts of other callers for at most 25 ms and makes one call for all. If the service fails, all
    callers get its error. If the call fails because of a text, each caller makes its own call and gets its own error.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._under_way = 0
        self._gathering: _Batch | None = None
        self.model = embedder.model
        self.dimension = embedder.dimension
        self.chunk_limit = embedder.chunk_limit
        self.lexical_weight = embedder.lexical_weight

    def for_namespace(self, namespace: str) -> Embedder:
        """Return this embedder.

        If the inner embedder learns from texts, return its embedder for the namespace instead.
        """
        own = self._embedder.for_namespace(namespace)
        return self if own is self._embedder else own

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. The call is not joined with others, so that a search does not wait."""
        return self._embedder.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        with self._lock:
            alone = not self._under_way or len(texts) >= BATCH_TEXTS
            if alone:
                self._under_way += 1
            else:
                batch, start, leads = self._join(texts)
        if alone:
            return self._call(texts)
        if leads:
            self._run_batch(batch)
        else:
            batch.done.wait()
        if batch.vectors is not None:
            return batch.vectors[start : start + len(texts)]
        if batch.fault is not None:
            raise batch.fault
        return self._embedder.embed_documents(texts)

    def _join(self, texts: Sequence[str]) -> tuple[_Batch, int, bool]:
        batch = self._gathering
        leads = batch is None or len(batch.texts) + len(texts) > BATCH_TEXTS
        if batch is None or leads:
            if batch is not None:
                batch.full.set()
            batch = self._gathering = _Batch()
        start = len(batch.texts)
        batch.texts += texts
        if len(batch.texts) >= BATCH_TEXTS:
            batch.full.set()
        return batch, start, leads

    def _run_batch(self, batch: _Batch) -> None:
        batch.full.wait(WAIT_SECONDS)
        with self._lock:
            if self._gathering is batch:
                self._gathering = None
            self._under_way += 1
        try:
            batch.vectors = self._call(batch.texts)
        except ItemUnavailable:
            batch.vectors = None  # each caller makes its own call, so that it gets no errors of other texts
        except ServiceError as exc:  # more calls would take more time, and wait longer if the service hangs
            batch.fault = exc
        except MnemosyneError:
            batch.vectors = None
        finally:
            batch.done.set()

    def _call(self, texts: Sequence[str]) -> Sequence[Vector]:
        try:
            return self._embedder.embed_documents(texts)
        finally:
            with self._lock:
                self._under_way -= 1
