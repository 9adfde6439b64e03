"""Divide messages into slices (groups of requests), and store the small slices of several messages together.

If no transaction of the namespace is in progress, a slice is stored at once. While a transaction is in progress,
further small slices are collected, and the next transaction stores them together. Large slices do not wait. Databases
write their logs in the same way (group commit):
https://www.postgresql.org/docs/17/runtime-config-wal.html#GUC-COMMIT-DELAY.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import UUID

from mnemosyne.domain.chunking import ChunkLimit
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.errors import ItemUnavailable, ServiceError

SLICE_CHUNKS = 100
"""Maximum estimated number of chunks of a slice. A memory with more chunks is alone in its slice. The number is 100,
because the embedder takes 100 texts in one call."""
DELIVERY_SECONDS = 60.0
"""Seconds after which a delivery does not begin another slice. This is half of the service's timeout in Terraform."""


@dataclass
class Slice:
    """The requests that one transaction stores, and an estimate of the number of their chunks."""

    requests: list[IngestRequest] = field(default_factory=list)
    chunks: float = 0.0


def slices(requests: Sequence[IngestRequest], limit: ChunkLimit) -> Iterator[Slice]:
    """Yield the requests in order, in slices of at most SLICE_CHUNKS chunks. A larger request is alone in its slice.

    Each slice is embedded and stored in its own transaction. The next delivery of the message does not store a
    committed slice again, so an interruption costs at most the embeddings of one slice.
    """
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


ResultT = TypeVar("ResultT")

SMALL = 10
"""Maximum number of chunks of a slice that joins a group. A larger slice would gain nothing from a group, and would
delay the other slices."""


@dataclass(eq=False)
class _QueuedSlice(Generic[ResultT]):
    """A slice that waits for a transaction.

    A thread waits for each queued slice. It wakes up in one of three cases: the slice has a result or an error; the
    thread must store the slice alone (`alone`); or the thread must store the next group, which begins with this slice.
    """

    slice: Slice
    turn: threading.Event = field(default_factory=threading.Event)
    result: ResultT | None = None
    fault: ServiceError | None = None
    """Service error with which the whole group failed. The slice is not tried alone, because it would fail with the
    same error."""
    alone: bool = False


class GroupCommit(Generic[ResultT]):
    """Stores the small slices of a namespace together, in one transaction at a time. Safe to call from several
    threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, list[_QueuedSlice[ResultT]]] = {}
        """Slices by namespace, including the slices of the group in progress. A namespace without slices is removed."""

    def store(self, namespace: str, part: Slice, work: Callable[[Sequence[IngestRequest]], ResultT]) -> ResultT:
        """Call `work` for the slice, alone or in a group with other slices, and return the result.

        If the database or the embedder fails, the call of `store` for each slice of the group raises this failure. Any
        other error may be caused by a single request. Then `work` is called again for each slice alone, so that no
        slice fails because of another slice's requests.
        """
        if part.chunks > SMALL:
            return work(part.requests)
        queued: _QueuedSlice[ResultT] = _QueuedSlice(part)
        with self._lock:
            waiting = self._waiting.setdefault(namespace, [])
            waiting.append(queued)
            is_first = len(waiting) == 1
        if not is_first:
            queued.turn.wait()
        if queued.result is None and queued.fault is None and not queued.alone:
            self._run_group(namespace, work)
        if queued.fault is not None:
            raise queued.fault
        return work(part.requests) if queued.result is None else queued.result

    def _run_group(self, namespace: str, work: Callable[[Sequence[IngestRequest]], ResultT]) -> None:
        with self._lock:
            group = _next_group(self._waiting[namespace])
        try:
            if len(group) == 1:
                group[0].result = work(group[0].slice.requests)
            else:
                result = work([request for member in group for request in member.slice.requests])
                for member in group:
                    member.result = result
        except Exception as exc:
            if len(group) == 1:
                raise
            if isinstance(exc, ServiceError) and not isinstance(exc, ItemUnavailable):
                for member in group:
                    member.fault = exc
        finally:
            with self._lock:
                waiting = self._waiting[namespace]
                del waiting[: len(group)]
                if not waiting:
                    del self._waiting[namespace]
            for member in group:
                member.alone = member.result is None
                member.turn.set()
            if waiting:
                waiting[0].turn.set()


def _next_group(waiting: Sequence[_QueuedSlice[ResultT]]) -> list[_QueuedSlice[ResultT]]:
    """Return the next group of waiting slices: at most SLICE_CHUNKS chunks in total, and no request twice."""
    group: list[_QueuedSlice[ResultT]] = []
    request_ids: set[UUID] = set()
    chunks = 0.0
    for candidate in waiting:
        ids = {request.request_id for request in candidate.slice.requests}
        chunks += candidate.slice.chunks
        if group and (request_ids & ids or chunks > SLICE_CHUNKS):
            break
        group.append(candidate)
        request_ids |= ids
    return group
