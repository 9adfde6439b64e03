"""`ingest_memory` and `ingest_status`: hand a memory over, and learn what became of it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from mnemosyne.domain import rate_limit
from mnemosyne.domain.memory import BATCH_LIMIT, IngestRequest, IngestState
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import Id, Input
from mnemosyne.domain.principal import Principal
from mnemosyne.ids import issue_request_id
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.ports import Services
from mnemosyne.service import ingest


class Queued(Result):
    """The memory is durably queued; it is not stored yet."""

    status: Literal["queued"] = "queued"
    request_id: UUID


def _accept(requests: Sequence[IngestRequest], principal: Principal, services: Services) -> None:
    known = services.known_quota(principal.namespace)
    ingest.accept(principal.namespace, requests, queue=services.queue, quota=known, clock=services.clock)


def _ingest_memory(arguments: MemoryInput, principal: Principal, services: Services) -> Reply:
    request = arguments.request(issue_request_id(principal.namespace))
    _accept([request], principal, services)
    return Reply(Queued(request_id=request.request_id))


INGEST_MEMORY = Tool(
    name="ingest_memory",
    title="Remember",
    description=(
        "Store one memory for later: a fact, decision, preference, event or document that will matter beyond this "
        "conversation.\n"
        "Answers `queued` with a `request_id` as soon as the memory is durably accepted; it can be searched a "
        "moment later. Ask `ingest_status` with that id if you must know that it is stored.\n"
        "The same content is stored once: sending it again is safe and ends as `duplicate`, and the title, tags, "
        "metadata and timestamp of the first stay. Contents cannot be changed afterwards.\n"
        'Example: {"content": "Ada prefers tea to coffee.", "timestamp": "2026-05-20T14:30:00Z", '
        '"tags": ["ada", "preference"]}'
    ),
    arguments=MemoryInput,
    result=Queued,
    units=lambda arguments: rate_limit.cost_of_memories([arguments]),
    run=_ingest_memory,
    idempotent=True,
    needs_database=False,
)


class BatchInput(Input):
    """Several memories at once."""

    memories: Annotated[
        list[MemoryInput],
        Field(min_length=1, max_length=BATCH_LIMIT, description="1 to 100 memories, each as for ingest_memory."),
    ]


class BatchQueued(Result):
    """All memories are durably queued; `request_ids` in the order of the memories."""

    status: Literal["queued"] = "queued"
    request_ids: list[UUID]


def _ingest_memories(arguments: BatchInput, principal: Principal, services: Services) -> Reply:
    requests = [memory.request(issue_request_id(principal.namespace)) for memory in arguments.memories]
    _accept(requests, principal, services)
    return Reply(BatchQueued(request_ids=[request.request_id for request in requests]))


INGEST_MEMORIES = Tool(
    name="ingest_memories",
    title="Remember several",
    description=(
        "Store 1 to 100 memories in one call, all or none: one bad memory refuses the call, naming it as "
        "memories[3].content. A request takes 4 MiB. Each has an outcome of its own: ask ingest_status with "
        "request_ids."
    ),
    arguments=BatchInput,
    result=BatchQueued,
    units=lambda arguments: rate_limit.cost_of_memories(arguments.get("memories")),
    run=_ingest_memories,
    idempotent=True,
    needs_database=False,
)


class StatusArguments(Input):
    """Which requests to ask about."""

    request_id: Annotated[Id | None, Field(description="The id that ingest_memory answered.")] = None
    request_ids: Annotated[
        list[Id] | None,
        Field(min_length=1, max_length=BATCH_LIMIT, description="Up to 100 ids; instead of request_id."),
    ] = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.request_id is None) == (self.request_ids is None):
            raise ValueError("give exactly one of request_id and request_ids")
        return self


class SimilarMemory(Result):
    """A memory that nearly says the same."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    id: UUID
    title: str


class RequestStatus(Result):
    """What became of one request."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    request_id: UUID
    state: IngestState
    memory_id: UUID | None
    attempts: int
    error: str | None
    updated_at: datetime | None
    similar: list[SimilarMemory] | None = None


class Statuses(Result):
    """One entry per request asked about, in that order."""

    requests: list[RequestStatus]


def _ingest_status(arguments: StatusArguments, principal: Principal, services: Services) -> Reply:
    asked = [arguments.request_id] if arguments.request_id else arguments.request_ids or []
    statuses = ingest.status(principal.namespace, asked, memories=services.memories, clock=services.clock)
    shown = [RequestStatus.model_validate(status) for status in statuses]
    if arguments.request_id:  # of one: each is a search
        found = ingest.similar(principal.namespace, statuses[0], memories=services.memories)
        shown[0] = shown[0].model_copy(update={"similar": [SimilarMemory.model_validate(one) for one in found] or None})
    return Reply(Statuses(requests=shown))


INGEST_STATUS = Tool(
    name="ingest_status",
    title="Was it remembered?",
    description=(
        "What became of one or up to 100 ingest requests. States: `queued` (accepted, not stored yet: ask again "
        "in a second; `error` says why an attempt failed), `stored` (done: `memory_id`), `duplicate` (the same "
        "content was there already: `memory_id` is it), `failed` (not stored: `error` says why), "
        "`dead_lettered` (given up after repeated faults: the operator can redrive it), `unknown` (no such "
        "request was accepted here within 7 days).\n"
        "Asked with `request_id`, `similar` names up to 3 memories that nearly say the same: to replace one, call "
        "update_memory with its id and superseded_by."
    ),
    arguments=StatusArguments,
    result=Statuses,
    gives_stored=True,
    units=lambda arguments: rate_limit.SEARCH["semantic"] if arguments.get("request_id") else 0.0,
    run=_ingest_status,
    read_only=True,
    idempotent=True,
)
