"""The real google-genai client against a local server: requests, and the error for each fault."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import count, product
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.adapters.embedders.gemini_calls import ONE_BY_ONE_SECONDS
from mnemosyne.domain.chunking import embed_whole
from mnemosyne.errors import Broken, ItemUnavailable, Misconfigured, ServiceError, Unavailable
from tests.fakes_wire.gemini import GeminiServer, error
from tests.fakes_wire.http import Reply


def test_the_first_calls_of_several_threads_share_a_client(gemini: GeminiServer) -> None:
    """The client closes its connections when it is garbage-collected, even if a thread still uses them."""
    embedder, together = GeminiEmbedder("gemini-embedding-001", 64), Barrier(8)

    def embed(number: int) -> int:
        together.wait()
        return len(embedder.embed_documents([f"memory {number}"]))

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(embed, range(8))) == [1] * 8


def test_temporary_faults_are_retried(gemini: GeminiServer) -> None:
    gemini.fault = lambda s: error(429) if s.calls == 1 else error(503) if s.calls == 2 else None
    assert len(GeminiEmbedder("gemini-embedding-001", 64, pause_seconds=0.01).embed_documents(["tea"])) == 1
    assert gemini.calls == 3


FAULTS = [
    (error(400, "API key not valid"), Misconfigured, "answered 400: API key not valid", "add a valid key"),
    (error(402, "Payment required"), Unavailable, "answered 402: Payment required", ""),
    (error(403, "no permission"), Broken, "answered 403: no permission", "let the key call the Gemini API"),
    (error(404, "models/x is not found"), Misconfigured, "answered 404: models/x", "set embedding_model"),
    (error(429, "quota"), Unavailable, "answered 429: quota", "lower max_instances.ingest"),
    (error(500, "boom"), Unavailable, "answered 500: boom", ""),
    ((200, "no JSON"), Unavailable, "returned no embeddings", ""),
    ((200, 100_000 * "["), Unavailable, "returned no embeddings (RecursionError)", ""),
    ((200, Reply(b"{}", {"Content-Encoding": "gzip"})), Unavailable, "returned no embeddings (DecodingError)", ""),
    ((200, Reply(b"{}", cut=True)), Unavailable, "the connection broke off (RemoteProtocolError", ""),
    ((200, {"embeddings": "none"}), Unavailable, "returned no embeddings", ""),
    ((200, [1]), Unavailable, "returned 0 vectors for 1 texts", ""),
    ((200, {"embeddings": []}), Unavailable, "returned 0 vectors for 1 texts", ""),
    ((200, {"embeddings": [{"values": [1.0]}] * 3}), Unavailable, "returned 3 vectors for 1 texts", ""),
    ((200, {"embeddings": [{"values": [1.0] * 63}]}), Misconfigured, "dimension 63, not 64", "embedding_dimension"),
    ((200, {"embeddings": [{"values": [float("nan")] * 64}]}), Unavailable, "not finite or zero", ""),
    ((200, {"embeddings": [{"values": [0.0] * 64}]}), Unavailable, "not finite or zero", ""),
    ((200, {"embeddings": [{"values": []}]}), Unavailable, "returned a vector that is empty", ""),
]


@pytest.mark.parametrize("texts", [["tea"], ["tea", "cars"]], ids=["one text", "two texts"])
@pytest.mark.parametrize(("fault", "expected", "cause", "next_step"), FAULTS, ids=[row[2] for row in FAULTS])
def test_a_fault_of_the_service_is_classified_with_its_cause_and_the_next_step(
    gemini: GeminiServer,
    fault: tuple[int, object],
    expected: type[ServiceError],
    cause: str,
    next_step: str,
    texts: list[str],
) -> None:
    gemini.fault = lambda s: fault
    embedder = GeminiEmbedder("gemini-embedding-001", 64, pause_seconds=0.01)
    for embed in (lambda: embedder.embed_documents(texts), lambda: embedder.embed_query(texts[0])):
        with pytest.raises(ServiceError) as raised:
            embed()
        assert type(raised.value) is expected
        assert cause.replace("1 texts", "") in str(raised.value)
        assert next_step in raised.value.next_step
        assert bool(raised.value.next_step) == bool(next_step)
    assert gemini.embedded == []


@pytest.mark.parametrize(
    "fault",
    [
        error(500, "boom"),
        (200, {"embeddings": []}),
        (200, Reply(b"{}", cut=True)),
    ],
    ids=["500", "no vector", "broken off"],
)
@pytest.mark.parametrize("texts", [["poison"], ["tea", "poison"]], ids=["alone", "among others"])
def test_a_fault_for_a_single_text_is_reported_for_this_text(
    gemini: GeminiServer, fault: tuple[int, object], texts: list[str]
) -> None:
    gemini.fault = lambda s: fault if "poison" in str(s.requests[-1]) else None
    with pytest.raises(ItemUnavailable):
        GeminiEmbedder("gemini-embedding-001", 64, pause_seconds=0.01).embed_documents(texts)


REFUSALS = [
    "User location is not supported for the API use.",
    "The project has exceeded its token budget.",
    "output_dimensionality must be one of 768, 1536, 3072",
    "Request contains an invalid argument.",
    "",
]


@pytest.mark.parametrize(
    ("message", "texts"), [*product(REFUSALS, (["tea"], ["tea", "cars"])), (REFUSALS[0], ["tea " * 2_000])]
)
def test_a_400_for_every_text_is_a_fault_of_the_service_and_marks_no_text_invalid(
    gemini: GeminiServer, message: str, texts: list[str]
) -> None:
    gemini.fault = lambda s: error(400, message)
    embedder = GeminiEmbedder("gemini-embedding-001", 64)
    for embed in (
        lambda: embed_whole(texts, embedder.chunk_limit, embedder.embed_documents),
        lambda: embedder.embed_query(texts[0]),
    ):
        with pytest.raises(ServiceError) as raised:
            embed()
        assert raised.value.needs_operator
        assert raised.value.next_step
    gemini.fault = None
    assert embed_whole(texts, embedder.chunk_limit, embedder.embed_documents)


@pytest.mark.parametrize("key", ["\ufeffAQ.a-secret-key", "AQ.a-secret-key\nAQ.another"])
def test_a_key_that_cannot_be_sent_is_refused_without_quoting_it(
    gemini: GeminiServer, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", key)
    with pytest.raises(Misconfigured, match="refuses the API key: add a valid key") as raised:
        GeminiEmbedder("gemini-embedding-001", 64).embed_query("tea")
    assert "a-secret-key" not in str(raised.value)
    assert gemini.calls == 0


@pytest.mark.parametrize("status", [400, 404])
def test_some_time_after_a_refusal_texts_are_sent_together_again(
    gemini: GeminiServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    gemini.fault = lambda s: error(status, "a temporary refusal") if s.calls == 1 else None
    embedder = GeminiEmbedder("gemini-embedding-001", 64)
    for _ in range(2):
        assert len(embedder.embed_documents(["tea", "cars", "rain"])) == 3
    assert gemini.calls == 1 + 3 + 3
    later = time.monotonic() + ONE_BY_ONE_SECONDS
    monkeypatch.setattr("mnemosyne.adapters.embedders.gemini.time", SimpleNamespace(monotonic=lambda: later))
    assert len(embedder.embed_documents(["tea", "cars", "rain"])) == 3
    assert gemini.calls == 1 + 3 + 3 + 1


@pytest.mark.parametrize(("status", "calls"), [(429, 3), (500, 3 + 1)])
def test_a_fault_while_texts_are_sent_one_by_one_ends_the_calls(gemini: GeminiServer, status: int, calls: int) -> None:
    """The failed text has three attempts. After a 5xx, the test text has one."""
    gemini.fault = lambda s: error(400, "one text at a time") if _many(s) else error(status) if s.calls > 3 else None
    with pytest.raises(Unavailable):
        GeminiEmbedder("gemini-embedding-001", 64, pause_seconds=0).embed_documents(list("abcdefghij"))
    assert gemini.calls == 1 + 2 + calls


@pytest.mark.parametrize(
    ("texts_per_call", "succeed", "fault"),
    [
        (100, 2, error(500, "An internal error has occurred")),
        (1, 7, error(403, "The caller does not have permission")),
    ],
)
def test_vectors_of_calls_before_a_fault_are_not_computed_again(
    gemini: GeminiServer, texts_per_call: int, succeed: int, fault: tuple[int, Any]
) -> None:
    texts = [f"memory {number}" for number in range(210)]
    answer_count = 0

    def fails_later(s: GeminiServer) -> tuple[int, Any] | None:
        nonlocal answer_count
        if len(s.requests[-1]["requests"]) > texts_per_call:
            return error(400, "one text at a time")
        answer_count += 1
        return fault if answer_count > succeed else None

    embedder = GeminiEmbedder("gemini-embedding-001", 64, pause_seconds=0.01)
    gemini.fault = fails_later
    with pytest.raises(Unavailable):
        embedder.embed_documents(texts)
    assert len(gemini.embedded) == succeed * texts_per_call
    gemini.fault = None
    again = embedder.embed_documents(texts)
    assert sorted(gemini.embedded) == sorted(texts)
    assert np.array_equal(again, GeminiEmbedder("gemini-embedding-001", 64).embed_documents(texts))


def _many(gemini: GeminiServer) -> bool:
    return len(gemini.requests[-1]["requests"]) > 1


def test_a_call_that_hangs_times_out_and_further_calls_succeed(gemini: GeminiServer) -> None:
    def hang(s: GeminiServer) -> None:
        s.released.wait(20)

    embedder = GeminiEmbedder("gemini-embedding-001", 64, longest_seconds=0.3, pause_seconds=0.01)
    gemini.fault = hang
    with pytest.raises(Unavailable, match="cannot be reached") as raised:
        embedder.embed_documents(["tea"])
    assert type(raised.value) is Unavailable
    gemini.fault = None
    for _ in range(3):
        assert len(embedder.embed_documents(["tea"])) == 1


@pytest.mark.parametrize(("seconds", "is_late"), [(5, False), (13, True)])
def test_the_whole_body_of_an_answer_must_arrive_within_the_timeout(
    gemini: GeminiServer, monkeypatch: pytest.MonkeyPatch, seconds: float, is_late: bool
) -> None:
    clock = SimpleNamespace(monotonic=count(0, seconds).__next__)
    monkeypatch.setattr("mnemosyne.adapters.embedders.gemini_calls.time", clock)
    embedder = GeminiEmbedder("gemini-embedding-001", 64, pause_seconds=0)
    with pytest.raises(Unavailable, match="no answer in time") if is_late else nullcontext():
        assert len(embedder.embed_documents(["tea"])) == 1


def test_an_unreachable_service_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(Unavailable, match="cannot be reached"):
        GeminiEmbedder("gemini-embedding-001", 64).embed_query("tea")
