"""Join the calls to the embedding service that an instance makes for several Pub/Sub messages at the same time."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from mnemosyne.errors import ItemUnavailable, MnemosyneError, ServiceError
from mnemosyne.ports.embedder import Embedder, Vector

WAIT_SECONDS = 0.025
BATCH_TEXTS = 100


@dataclass
class _Batch:
    """Texts of several callers. The first caller sends the texts of all callers to the service in one call."""

    texts: list[str] = field(default_factory=list)
    full: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    vectors: Sequence[Vector] | None = None
    fault: ServiceError | None = None


class MicroBatchingEmbedder:
    """An Embedder that joins concurrent calls of `embed_documents`.

    A call is made at once and alone if it has 100 texts or more, or if no other call is in progress. Otherwise the
    caller waits. The first waiting caller collects the texts of other callers for at most 25 ms, and makes one call for
    all. Such a joined call has at most 100 texts.

    If the service fails, all callers of the joined call get its error. If the joined call fails because of a text, each
    caller makes its own call, so that only the caller with this text gets an error.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._calls_in_progress = 0
        self._open_batch: _Batch | None = None
        self.model = embedder.model
        self.dimension = embedder.dimension
        self.chunk_limit = embedder.chunk_limit
        self.lexical_weight = embedder.lexical_weight

    def for_namespace(self, namespace: str) -> Embedder:
        """Return the embedder for a namespace.

        If the wrapped embedder has a separate embedder for each namespace, return the separate embedder, and its calls
        are not joined. Otherwise return this object, which joins the calls of all namespaces.
        """
        own = self._embedder.for_namespace(namespace)
        return self if own is self._embedder else own

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. The call is not joined with other calls, so that a search does not wait."""
        return self._embedder.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        with self._lock:
            is_alone = not self._calls_in_progress or len(texts) >= BATCH_TEXTS
            if is_alone:
                self._calls_in_progress += 1
            else:
                batch, start, leads = self._join_batch(texts)
        if is_alone:
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

    def _join_batch(self, texts: Sequence[str]) -> tuple[_Batch, int, bool]:
        batch = self._open_batch
        leads = batch is None or len(batch.texts) + len(texts) > BATCH_TEXTS
        if batch is None or leads:
            if batch is not None:
                batch.full.set()
            batch = self._open_batch = _Batch()
        start = len(batch.texts)
        batch.texts += texts
        if len(batch.texts) >= BATCH_TEXTS:
            batch.full.set()
        return batch, start, leads

    def _run_batch(self, batch: _Batch) -> None:
        batch.full.wait(WAIT_SECONDS)
        with self._lock:
            if self._open_batch is batch:
                self._open_batch = None
            self._calls_in_progress += 1
        try:
            batch.vectors = self._call(batch.texts)
        except ItemUnavailable:
            # One text is the cause. Each caller now makes its own call, so that no caller gets the error of another
            # caller's text.
            batch.vectors = None
        except ServiceError as exc:
            # The service has failed. All callers get the error and make no call of their own, because each caller would
            # wait again for a hanging service.
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
                self._calls_in_progress -= 1
