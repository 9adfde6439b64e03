"""`ingest_memory` and `ingest_status`: hand a memory over, and learn what became of it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from mnemosyne.domain import rate_limit
from mnemosyne.domain.memory import BATCH_LIMIT, MEMORY_FIELDS, IngestRequest, IngestState
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import Id, Input, Text
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.rfc3339 import moment
from mnemosyne.domain.time.window import zone
from mnemosyne.errors import InvalidRequest
from mnemosyne.ids import issue_request_id
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.ports import Services
from mnemosyne.service import ingest


def _zone(name: str) -> str:
    try:
        zone(name)
    except InvalidRequest as exc:
        raise ValueError(str(exc).removeprefix("timezone ")) from exc
    return name


def _written(text: str) -> str:
    moment(text, UTC)
    return text


class MemoryArguments(MemoryInput):
    """One memory as an agent hands it over: it may know the day alone, or no time but now."""

    timestamp: Annotated[
        str | None,
        AfterValidator(_written),
        Field(description="When it happened: RFC 3339, or a date or local time in `timezone`. Default: now."),
    ] = None  # type: ignore[assignment]
    timezone: Annotated[Text, AfterValidator(_zone), Field(description="IANA name, such as Europe/Berlin.")] = "UTC"

    def request_at(self, request_id: UUID, now: datetime) -> IngestRequest:
        """Return the request, under that id; raises InvalidRequest for a time that its zone moves out of all years."""
        try:
            when = now if self.timestamp is None else moment(self.timestamp, zone(self.timezone))
        except ValueError as exc:
            raise InvalidRequest(f"timestamp {exc}") from exc
        said = {name: getattr(self, name) for name in MEMORY_FIELDS}
        return IngestRequest.of(request_id, **said | {"timestamp": when})


class Queued(Result):
    """The memory is durably queued; it is not stored yet."""

    status: Literal["queued"] = "queued"
    request_id: UUID


def _accept(requests: Sequence[IngestRequest], principal: Principal, services: Services) -> None:
    known = services.known_quota(principal.namespace)
    ingest.accept(principal.namespace, requests, queue=services.queue, quota=known, clock=services.clock)


def _ingest_memory(arguments: MemoryArguments, principal: Principal, services: Services) -> Reply:
    request = arguments.request_at(issue_request_id(principal.namespace), services.clock())
    _accept([request], principal, services)
    return Reply(Queued(request_id=request.request_id))


INGEST_MEMORY = Tool(
    name="ingest_memory",
    title="Remember",
    description=(
        "Store one memory: a fact, decision, preference, event or document that matters beyond this conversation. It "
        "is durably `queued` under a `request_id` and can be searched a moment later; ingest_status tells its outcome. "
        "The same content is stored once. Contents cannot be changed afterwards.\n"
        'Example: {"content": "Ada prefers tea to coffee.", "tags": ["ada"]}'
    ),
    arguments=MemoryArguments,
    result=Queued,
    units=lambda arguments: rate_limit.cost_of_memories([arguments]),
    run=_ingest_memory,
    idempotent=True,
    needs_database=False,
)


class BatchInput(Input):
    """Several memories at once."""

    memories: Annotated[
        list[MemoryArguments],
        Field(min_length=1, max_length=BATCH_LIMIT, description="Each as for ingest_memory."),
    ]


class BatchQueued(Result):
    """All memories are durably queued; `request_ids` in the order of the memories."""

    status: Literal["queued"] = "queued"
    request_ids: list[UUID]


def _ingest_memories(arguments: BatchInput, principal: Principal, services: Services) -> Reply:
    now = services.clock()
    requests = [memory.request_at(issue_request_id(principal.namespace), now) for memory in arguments.memories]
    _accept(requests, principal, services)
    return Reply(BatchQueued(request_ids=[request.request_id for request in requests]))


INGEST_MEMORIES = Tool(
    name="ingest_memories",
    title="Remember several",
    description=("Store 1 to 100 memories in one call of at most 4 MiB, all or none; each has an outcome of its own."),
    arguments=BatchInput,
    result=BatchQueued,
    units=lambda arguments: rate_limit.cost_of_memories(arguments.get("memories")),
    run=_ingest_memories,
    idempotent=True,
    needs_database=False,
)


class StatusArguments(Input):
    """Which requests to ask about."""

    request_id: Annotated[Id | None, Field(description="One id, or")] = None
    request_ids: Annotated[
        list[Id] | None,
        Field(min_length=1, max_length=BATCH_LIMIT, description="up to 100."),
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
        "What became of ingest requests: `queued` (ask again in a second), `stored`, `duplicate` (memory_id has the "
        "same content), `failed` (error says why), `dead_lettered` (the operator can redrive it) or `unknown`. Of one "
        "that was stored, `similar` names memories that nearly say the same: update_memory can supersede them."
    ),
    arguments=StatusArguments,
    result=Statuses,
    gives_stored=True,
    units=lambda arguments: rate_limit.SEARCH["semantic"] if arguments.get("request_id") else 0.0,
    run=_ingest_status,
    read_only=True,
    idempotent=True,
)
