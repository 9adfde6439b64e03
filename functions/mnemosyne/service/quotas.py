"""Hold a namespace to its quota, before anything is paid for."""

from collections.abc import Sequence
from datetime import datetime

from mnemosyne.domain.chunking import chunks
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.quota import Quota


def within(
    quota: Quota, requests: Sequence[IngestRequest], now: datetime, *, chunk_characters: int
) -> tuple[list[IngestRequest], list[tuple[IngestRequest, str]]]:
    """Return the requests there is room for, first come first served, and the others with the reason.

    Requests of equal content are one memory.
    """
    fitting: list[IngestRequest] = []
    refused: list[tuple[IngestRequest, str]] = []
    counted: dict[str, str | None] = {}
    for request in requests:
        if request.content_hash not in counted:
            size, texts = request.size, len(chunks(request.embedded_text, limit=chunk_characters))
            why = counted[request.content_hash] = quota.refusal(now, size=size, texts=texts)
            if why is None:
                quota = quota.with_more(1, size, texts)
        reason = counted[request.content_hash]
        if reason is None:
            fitting.append(request)
        else:
            refused.append((request, reason))
    return fitting, refused
