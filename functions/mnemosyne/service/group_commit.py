"""Group commit: what arrives while a transaction is under way is stored by the next one, together.

As databases write their logs: https://www.postgresql.org/docs/17/runtime-config-wal.html#GUC-COMMIT-DELAY. Here nobody
waits in the hope of company: a message that arrives alone is stored at once.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mnemosyne.domain.memory import IngestRequest

ResultT = TypeVar("ResultT")

SMALL = 10
"""Requests of a message up to which it joins others: larger ones gain nothing, and would keep the others waiting."""
LARGEST_GROUP = 100
"""As many as a message of `mnemosyne import` has; the embedder takes them in one call."""


@dataclass(eq=False)
class _Waiting(Generic[ResultT]):
    """One message that waits for its turn: to lead the next group, to read its result, or to go alone."""

    requests: Sequence[IngestRequest]
    turn: threading.Event = field(default_factory=threading.Event)
    result: ResultT | None = None
    alone: bool = False


class GroupCommit(Generic[ResultT]):
    """One transaction at a time for the small messages of each namespace. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, list[_Waiting[ResultT]]] = {}
        """By namespace, as long as one of its groups is under way."""

    def store(
        self, namespace: str, requests: Sequence[IngestRequest], work: Callable[[Sequence[IngestRequest]], ResultT]
    ) -> ResultT:
        """Return what `work` returned for these requests, or for a group that has them.

        Where the work raises for a group, each of its messages is tried alone: none pays for another's fault.
        """
        if len(requests) > SMALL:
            return work(requests)
        mine: _Waiting[ResultT] = _Waiting(requests)
        with self._lock:
            waiting = self._waiting.get(namespace)
            if waiting is None:
                self._waiting[namespace] = [mine]
            else:
                waiting.append(mine)
        if waiting is not None:
            mine.turn.wait()
        if mine.result is None and not mine.alone:
            self._lead(namespace, work)
        return work(requests) if mine.result is None else mine.result

    def _lead(self, namespace: str, work: Callable[[Sequence[IngestRequest]], ResultT]) -> None:
        with self._lock:
            group = _group(self._waiting[namespace])
        try:
            if len(group) == 1:
                group[0].result = work(group[0].requests)
            else:
                result = work([request for one in group for request in one.requests])
                for one in group:
                    one.result = result
        except Exception:
            if len(group) == 1:
                raise
        finally:
            with self._lock:
                waiting = self._waiting[namespace]
                del waiting[: len(group)]
                if not waiting:
                    del self._waiting[namespace]
            for one in group:
                one.alone = one.result is None
                one.turn.set()
            if waiting:
                waiting[0].turn.set()


def _group(waiting: Sequence[_Waiting[ResultT]]) -> list[_Waiting[ResultT]]:
    """Return the first of those that wait: as many as fit, and no request twice."""
    group, met = [waiting[0]], {request.request_id for request in waiting[0].requests}
    for one in waiting[1:]:
        ids = {request.request_id for request in one.requests}
        if met & ids or len(met) + len(ids) > LARGEST_GROUP:
            break
        group.append(one)
        met |= ids
    return group
