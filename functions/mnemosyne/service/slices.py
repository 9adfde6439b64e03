"""Divide a message's requests into slices, each embedded and stored in a separate transaction.

A slice that was committed is final at the next delivery, so an interruption costs the embeddings of one slice at most.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mnemosyne.domain.chunking import ChunkLimit
from mnemosyne.domain.memory import IngestRequest

SLICE_CHUNKS = 100
"""Most chunks of a slice, estimated. A memory with more chunks is a separate slice. The embedder takes 100 texts in one
call."""
DELIVERY_SECONDS = 60.0
"""Time after which a delivery begins no further slice: half of what Terraform gives the function."""


@dataclass
class Slice:
    """Requests that one transaction stores, and the number of their chunks, estimated."""

    requests: list[IngestRequest] = field(default_factory=list)
    chunks: float = 0.0


def slices(requests: Sequence[IngestRequest], limit: ChunkLimit) -> Iterator[Slice]:
    """Yield the requests in order, in slices of at most SLICE_CHUNKS chunks and at least one request."""
    current = Slice()
    for request in requests:
        chunks = max(1.0, limit.share(request.embedded_text))
        if current.requests and current.chunks + chunks > SLICE_CHUNKS:
            yield current
            current = Slice()
        current.requests.append(request)
        current.chunks += chunks
    if current.requests:
        yield current
