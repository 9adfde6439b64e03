"""Enforce a namespace's quota before its texts are embedded."""

from collections.abc import Sequence
from datetime import datetime

from mnemosyne.domain.chunking import ChunkLimit, chunks
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.quota import Quota


def within(
    quota: Quota, requests: Sequence[IngestRequest], now: datetime, chunk_limit: ChunkLimit
) -> tuple[list[IngestRequest], list[tuple[IngestRequest, str]]]:
    """Return the requests that fit the quota, and the requests that exceed it with the reason, each in order.

    Requests with equal content count as one memory. Each chunk counts as one embedded text.
    """
    fitting: list[IngestRequest] = []
    refused: list[tuple[IngestRequest, str]] = []
    counted: dict[str, str | None] = {}
    for request in requests:
        if request.content_hash not in counted:
            size, texts = request.size, len(chunks(request.embedded_text, chunk_limit))
            why = counted[request.content_hash] = quota.refusal(now, size=size, texts=texts)
            if why is None:
                quota = quota.with_more(1, size, texts)
        reason = counted[request.content_hash]
        if reason is None:
            fitting.append(request)
        else:
            refused.append((request, reason))
    return fitting, refused
