"""`ingest_status`: the outcomes of ingest requests."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, Field, model_validator

from mnemosyne.domain import rate_limit
from mnemosyne.domain.memory import BATCH_LIMIT, IngestState, MemorySummary
from mnemosyne.domain.parsing import Id, Input
from mnemosyne.domain.principal import Principal
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.ports.services import Services
from mnemosyne.service import request_status

LISTED = 10
"""Up to this number of requests, the text of an answer has the status of each request. For more requests, the text has
only counts, and the ids of the requests that need attention. 100 statuses would cost a model about 10,000 tokens."""


class StatusArguments(Input):
    """The requests whose status is returned."""

    request_ids: Annotated[
        list[Id] | None,
        Field(min_length=1, max_length=BATCH_LIMIT, description="Up to 100."),
        AfterValidator(lambda ids: ids and list(dict.fromkeys(ids))),
    ] = None
    request_id: Id | None = None

    @model_validator(mode="after")
    def _check_one_of_both(self) -> Self:
        if (self.request_id is None) == (self.request_ids is None):
            raise ValueError("give exactly one of request_id and request_ids")
        return self


class HintedMemory(Result):
    """A stored memory that is similar to a new memory.

    Both have nearly the same meaning, or they state different values of the same fact.
    """

    id: UUID
    title: str


class RequestStatus(Result):
    """Status of one request."""

    request_id: UUID
    state: IngestState
    memory_id: UUID | None
    attempts: int
    error: str | None
    note: str | None = None
    source: str | None = None
    key: str | None = None
    updated_at: datetime | None
    similar: list[HintedMemory] | None = None
    may_replace: list[HintedMemory] | None = None

    @property
    def has_stored_text(self) -> bool:
        """Whether the status can contain text of publishers. Errors and notes can quote it."""
        return bool(self.error or self.note or self.source or self.similar or self.may_replace)


class Statuses(Result):
    """One status per requested id, in the order in which the ids first appear in the arguments."""

    requests: list[RequestStatus]


def statuses(principal: Principal, request_ids: Sequence[UUID], services: Services) -> list[RequestStatus]:
    """Return the status of each request.

    If there is only one request, its status also has the memories that are similar to the stored memory. They are not
    looked up for several requests, because each look-up is a search.
    """
    memories = services.memories_of(principal.namespace)
    statuses = request_status.status(request_ids, memories=memories, clock=services.clock)
    results = [
        RequestStatus.model_validate(status).model_copy(update=vars(status.external_id) if status.external_id else {})
        for status in statuses
    ]
    if len(results) == 1 and results[0].state is IngestState.STORED and results[0].memory_id:
        neighbours = memories.neighbours(results[0].memory_id)
        hints = {"similar": _to_hints(neighbours.similar), "may_replace": _to_hints(neighbours.may_replace)}
        results[0] = results[0].model_copy(update=hints)
    return results


def _to_hints(memories: Sequence[MemorySummary]) -> list[HintedMemory] | None:
    return [HintedMemory.model_validate(memory) for memory in memories] or None


def _summary(requests: Sequence[RequestStatus]) -> str:
    """Return a line for each state and each error or note, with the number of requests and their ids.

    The ids of requests whose memory is in the store are left out, unless there is a note on the request.
    """
    ids = defaultdict(list)
    for request in requests:
        ids[request.state, request.error or request.note].append(str(request.request_id))
    lines = []
    for (state, reason), group in ids.items():
        is_done = state in (IngestState.STORED, IngestState.DUPLICATE) and not reason
        lines.append(": ".join(filter(None, (f"{len(group)} {state}", reason, "" if is_done else ", ".join(group)))))
    return "\n".join(lines)


def _units_of_status(arguments: Mapping[str, Any]) -> float:
    several = isinstance(ids := arguments.get("request_ids"), list) and len(ids) > 1
    return 0.0 if several else rate_limit.SEARCH["semantic"]


@tool(
    title="Was it remembered?",
    description=(
        "Outcomes of ingest requests: `queued` (ask again), `stored`, `duplicate` (of memory_id), "
        "`deleted`, `failed` (error says why), `dead_lettered` (the operator can redrive it) or `unknown`. `similar` "
        "names memories that say nearly the same: update_memory can supersede them."
    ),
    result=Statuses,
    units=_units_of_status,
    unlisted=("request_id",),
    read_only=True,
)
def ingest_status(arguments: StatusArguments, principal: Principal, services: Services) -> Reply:
    request_ids = arguments.request_ids or ([arguments.request_id] if arguments.request_id else [])
    requests = statuses(principal, request_ids, services)
    is_long = len(requests) > LISTED
    return Reply(
        Statuses(requests=requests),
        text=_summary(requests) if is_long else None,
        notes=(f"To see the memory_id of requests, ask for at most {LISTED} of them.",) if is_long else (),
        has_stored_text=any(request.has_stored_text for request in requests),
    )
