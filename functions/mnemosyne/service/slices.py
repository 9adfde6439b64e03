"""Divide the requests of a message into slices. Each slice is embedded and stored in its own transaction.

The next delivery of the message does not store a committed slice again. An interruption therefore costs at most the
embeddings of one slice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mnemosyne.domain.chunking import ChunkLimit
from mnemosyne.domain.memory import IngestRequest

SLICE_CHUNKS = 100
"""Maximum number of chunks of a slice, as estimated. A memory with more chunks is a separate slice. The embedder takes
100 texts in one call."""
DELIVERY_SECONDS = 60.0
"""Seconds after which a delivery begins no further slice: half of the time that Terraform gives the service."""


@dataclass
class Slice:
    """The requests that one transaction stores, and an estimate of the number of their chunks."""

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
