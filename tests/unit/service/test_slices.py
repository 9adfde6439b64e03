"""A message is divided into slices of bounded size, in order."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.chunking import ChunkLimit, chunks
from mnemosyne.service.group_commit import DELIVERY_SECONDS, SLICE_CHUNKS, slices
from tests.fakes import request

LIMIT = ChunkLimit(characters=100)
TERRAFORM = Path(__file__).parents[3] / "terraform" / "modules" / "mnemosyne" / "functions.tf"


@given(st.lists(st.one_of(st.integers(0, 30), st.integers(0, 4_000)), max_size=20))
def test_slices_keep_the_order_and_only_a_slice_of_one_request_may_exceed_the_chunk_limit(words: list[int]) -> None:
    requests = [request(f"{n} {'abcd ' * count}") for n, count in enumerate(words)]
    divided = list(slices(requests, LIMIT))
    assert [request for part in divided for request in part.requests] == requests
    for part in divided:
        count = sum(len(chunks(request.embedded_text, LIMIT)) for request in part.requests)
        assert len(part.requests) == 1 or count <= 1.5 * SLICE_CHUNKS


@given(st.integers(1, 500))
def test_small_requests_share_a_slice(count: int) -> None:
    divided = list(slices([request(f"word {n}") for n in range(count)], LIMIT))
    assert len(divided) == -(-count // SLICE_CHUNKS)


def test_a_delivery_ends_before_the_function_is_stopped() -> None:
    (timeout,) = re.findall(r"^ *ingest_timeout *= (\d+)$", TERRAFORM.read_text(), re.MULTILINE)
    assert int(timeout) >= 2 * DELIVERY_SECONDS
