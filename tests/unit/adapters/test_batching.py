"""Concurrent callers share one call of the embedder, and no caller gets the error of another caller's text."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mnemosyne.adapters.embedders.batching import MicroBatchingEmbedder
from mnemosyne.domain.chunking import embed_whole
from mnemosyne.errors import Broken, InvalidRequest, TextTooLong
from mnemosyne.ports.embedder import Vector
from tests.fakes import FakeEmbedder


class Gated(FakeEmbedder):
    """Embedder that blocks the first call until `gate` is set, and records the number of texts of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.readable = 1_000
        self.broken = False
        self.entered, self.gate = threading.Event(), threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.sizes.append(len(texts))
        if len(self.sizes) == 1:
            self.entered.set()
            self.gate.wait(10)
        if "poison" in texts:
            raise InvalidRequest("refused")
        if self.broken and len(self.sizes) > 1:
            raise Broken("the service is broken")
        if any(len(text) > self.readable for text in texts):
            raise TextTooLong("too long")
        return super().embed_documents(texts)


def _under_load(inner: Gated, texts: list[str]) -> list[object]:
    """Embed each text in a separate thread while another call is running.

    Return the vectors or the error of each text.
    """
    batching = MicroBatchingEmbedder(inner)

    def embed(text: str) -> object:
        try:
            (vectors,) = embed_whole([text], batching.chunk_limit, batching.embed_documents)
            return vectors
        except (InvalidRequest, Broken) as exc:
            return str(exc)

    with ThreadPoolExecutor(len(texts) + 1) as pool:
        first = pool.submit(embed, "first")
        assert inner.entered.wait(10)
        rest = [pool.submit(embed, text) for text in texts]
        answers = [future.result(10) for future in rest]
        inner.gate.set()
        first.result(10)
    return answers


def test_a_single_call_is_sent_at_once() -> None:
    inner = FakeEmbedder()
    MicroBatchingEmbedder(inner).embed_documents(["a", "b"])
    assert inner.embedded == ["a", "b"]


def test_concurrent_calls_share_one_embedding_call_and_each_gets_its_own_vector() -> None:
    inner = Gated()
    texts = [f"word{n} tea" for n in range(10)]
    answers = _under_load(inner, texts)
    for text, answer in zip(texts, answers, strict=True):
        assert np.array_equal(np.asarray(answer), [inner.embed_query(text)])
    assert len(inner.sizes) < 1 + len(texts)
    assert max(inner.sizes) <= 100


def test_a_refused_text_does_not_fail_the_other_texts() -> None:
    answers = _under_load(Gated(), ["good tea", "poison", "other tea"])
    assert answers[1] == "refused"
    assert not isinstance(answers[0], str)
    assert not isinstance(answers[2], str)


def test_all_callers_get_the_service_s_error_after_one_call() -> None:
    inner = Gated()
    inner.broken = True
    answers = _under_load(inner, [f"word{n}" for n in range(10)])
    assert answers == ["the service is broken"] * 10
    assert len(inner.sizes) < 1 + len(answers)


def test_only_the_text_that_is_too_long_is_cut_into_smaller_chunks() -> None:
    inner = Gated()
    inner.readable = 110
    long = " ".join(f"word{n:03}" for n in range(24))
    answers = _under_load(inner, ["good tea", long, "other tea"])
    short, cut, other = (len(np.asarray(vectors)) for vectors in answers)
    assert (short, other) == (1, 1)
    assert cut > 1
