"""Store, find and delete a memory, to check that the parts of a deployment work together.

The canary memory is in a separate namespace, so that no user sees it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from mnemosyne.domain.health import Check
from mnemosyne.domain.memory import IngestRequest, IngestState
from mnemosyne.domain.search import Filters, SearchQuery
from mnemosyne.errors import MnemosyneError, ServiceError
from mnemosyne.ids import issue_request_id
from mnemosyne.observability import EventLog, milliseconds, normalize_cause
from mnemosyne.ports.services import Services
from mnemosyne.service import ingest, search

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

log = EventLog(__name__)

NAMESPACE = "mnemosyne-canary"
WAIT_SECONDS = 40.0
"""Seconds within which the memory must be stored. The uptime check waits for at most 60 seconds."""
PAUSE_SECONDS = 0.5
OLD = timedelta(minutes=10)
LEFT_OVER = 100
"""Maximum number of old canary memories that a check deletes. They are left over from checks that failed after
publishing. A memory is old if its age exceeds OLD."""


_READ_INGEST = "read the log of ingest: push_postponed, push_crashed or a refused push has the cause"
_READ_MCP = "read the log of mcp: embedder_failed, tool_unavailable or tool_crashed has the cause"


class _FailedStepError(Exception):
    def __init__(self, step: str, cause: str, next_step: str) -> None:
        super().__init__(f"{step}: {cause}")
        self.step = step
        self.next_step = next_step


def check_canary(services: Services, *, wait: float = WAIT_SECONDS) -> Check:
    """Store, find and delete a memory, and return the result of the check.

    Logs `canary_passed`, or `canary_failed` with the failed step, the cause and the next step.
    """
    started = time.perf_counter()
    try:
        stored_ms = _run_steps(services, wait)
    except _FailedStepError as exc:
        cause = str(exc)
        log.error("canary_failed", step=exc.step, cause=normalize_cause(cause), error=cause, next_step=exc.next_step)
        return Check("canary", cause, exc.next_step)
    log.info("canary_passed", stored_ms=stored_ms, duration_ms=milliseconds(started))
    return Check("canary", f"stored within {stored_ms:.0f} ms, found and deleted")


def _run_steps(services: Services, wait: float) -> float:
    memories = services.memories_of(NAMESPACE)
    request_id, started = issue_request_id(NAMESPACE), time.perf_counter()
    content = f"The canary {request_id} is stored, found and deleted."
    request = IngestRequest.of(
        request_id, content=content, timestamp=services.clock(), tags=("canary",), title=None, metadata=None
    )
    with _name_failed_step(
        "publish", "run `make deploy`, which creates the topic and grants mcp roles/pubsub.publisher on it"
    ):
        ingest.accept(NAMESPACE, [request], services)
    with _name_failed_step("store", _READ_INGEST):
        memory_id = _wait_for_memory(request_id, memories, time.monotonic() + wait)
    stored_ms = milliseconds(started)
    with _name_failed_step("search", _READ_MCP):
        query = SearchQuery(query=content, limit=3)
        # Search without the reranker, which may be slow after a cold start. The search does not need the reranker to
        # find the memory.
        result = search.search(query, memories=memories, embedder=services.embedder)
        if result.degraded:
            raise _FailedStepError("search", result.degraded, _READ_MCP)
        if memory_id not in [hit.id for hit in result.hits]:
            raise _FailedStepError(
                "search", "a search does not find a stored memory", "run `mnemosyne doctor --project MY-PROJECT`"
            )
    with _name_failed_step("delete", _READ_MCP):
        old = memories.list(Filters(before=request.timestamp - OLD), LEFT_OVER)
        memories.delete_many([memory_id, *(memory.id for memory in old)])
    return stored_ms


def _wait_for_memory(request_id: UUID, memories: "MemoryStore", deadline: float) -> UUID:
    """Wait for the outcome of the request, and return the id of the stored memory."""
    while True:
        status = memories.statuses([request_id]).get(request_id)
        if status and status.state is IngestState.STORED and status.memory_id:
            return status.memory_id
        if status and status.state is not IngestState.QUEUED:
            raise _FailedStepError("store", f"{status.state}: {status.error}", _READ_INGEST)
        if time.monotonic() >= deadline:
            cause = (status and status.error) or "no delivery has reached the database"
            raise _FailedStepError("store", f"still queued: {cause}", _READ_INGEST)
        time.sleep(PAUSE_SECONDS)


@contextmanager
def _name_failed_step(name: str, next_step: str) -> Iterator[None]:
    """Convert errors of Mnemosyne in the `with` block to _FailedStepError, with the name of the step."""
    try:
        yield
    except ServiceError as exc:
        raise _FailedStepError(name, exc.cause, exc.next_step or next_step) from exc
    except MnemosyneError as exc:
        raise _FailedStepError(name, str(exc), next_step) from exc
