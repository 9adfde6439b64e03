"""`ingest_memory` and `ingest_status`: hand a memory over, and learn what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from mnemosyne.domain import rate_limit
from mnemosyne.domain.memory import BATCH_LIMIT, MEMORY_FIELDS, IngestRequest, IngestState, Origin
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import Id, Input, Key, Source, Text
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.domain.rfc3339 import moment
from mnemosyne.domain.time.window import zone
from mnemosyne.errors import InvalidRequest
from mnemosyne.ids import issue_request_id, version_id
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.ports import Services
from mnemosyne.service import ingest

LONGEST_WAIT = 10
"""Seconds: clients give up on a call after thirty to sixty."""


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
    timezone: Annotated[Text, AfterValidator(_zone), Field(description="IANA name; else UTC.")] = "UTC"

    source: Annotated[Source | None, Field(description="What the key is unique in, best a URI.")] = None
    key: Annotated[Key | None, Field(description="What the source calls this memory: called again, stored once.")] = (
        None
    )

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if (self.source is None) != (self.key is None):
            raise ValueError("source and key must be given together")
        return self

    def request_at(self, namespace: str, now: datetime) -> IngestRequest:
        """Return the request, under a new id or the id of its version of the source's record.

        Raises InvalidRequest for a time that its zone moves out of all years.
        """
        try:
            when = now if self.timestamp is None else moment(self.timestamp, zone(self.timezone))
        except ValueError as exc:
            raise InvalidRequest(f"timestamp {exc}") from exc
        said = {name: getattr(self, name) for name in MEMORY_FIELDS}
        origin = Origin(self.source, self.key) if self.source and self.key else None
        request = IngestRequest.of(issue_request_id(namespace), origin=origin, **said | {"timestamp": when})
        if origin is None:
            return request
        version = version_id(origin.source, origin.key, request.content_hash, when)
        return replace(request, request_id=version)


class IngestArguments(MemoryArguments):
    """One memory, and for how long to wait for what becomes of it."""

    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the outcome.")] = 0


class Queued(Result):
    """The memory is durably queued; it is not stored yet."""

    status: Literal["queued"] = "queued"
    request_id: UUID


def _accept(requests: Sequence[IngestRequest], principal: Principal, services: Services) -> None:
    known = services.known_quota(principal.namespace)
    ingest.accept(principal.namespace, requests, queue=services.queue, quota=known, clock=services.clock)


def _ingest_memory(arguments: IngestArguments, principal: Principal, services: Services) -> Reply:
    if arguments.wait and not principal.may(Scope.READ):
        raise InvalidRequest("wait needs the scope read: leave it out")
    request = arguments.request_at(principal.namespace, services.clock())
    _accept([request], principal, services)
    return Reply(Queued(request_id=request.request_id))


class BatchInput(Input):
    """Several memories at once."""

    memories: Annotated[
        list[MemoryArguments],
        Field(min_length=1, max_length=BATCH_LIMIT, description="As ingest_memory takes them."),
    ]


class BatchQueued(Result):
    """All memories are durably queued; `request_ids` in the order of the memories."""

    status: Literal["queued"] = "queued"
    request_ids: list[UUID]


def _ingest_memories(arguments: BatchInput, principal: Principal, services: Services) -> Reply:
    now = services.clock()
    requests = [memory.request_at(principal.namespace, now) for memory in arguments.memories]
    if len({request.request_id for request in requests}) < len(requests):
        raise InvalidRequest("two memories have the same source, key, content and timestamp: send each once")
    _accept(requests, principal, services)
    return Reply(BatchQueued(request_ids=[request.request_id for request in requests]))


INGEST_MEMORIES = Tool(
    name="ingest_memories",
    title="Remember several",
    description="Store up to 100 memories, all or none; each has an outcome of its own.",
    arguments=BatchInput,
    result=BatchQueued,
    unlisted=("timezone", "source", "key"),
    units=lambda arguments: rate_limit.cost_of_memories(arguments.get("memories")),
    run=_ingest_memories,
    idempotent=True,
    needs_database=False,
)


class StatusArguments(Input):
    """Which requests to ask about."""

    request_ids: Annotated[
        list[Id] | None,
        Field(min_length=1, max_length=BATCH_LIMIT, description="Up to 100."),
    ] = None
    request_id: Id | None = None

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


def _statuses(principal: Principal, asked: Sequence[UUID], services: Services) -> list[RequestStatus]:
    """Return what became of them; of one alone with what nearly says the same, which takes a search."""
    statuses = ingest.status(principal.namespace, asked, memories=services.memories, clock=services.clock)
    shown = [RequestStatus.model_validate(status) for status in statuses]
    if len(asked) == 1:
        found = ingest.similar(principal.namespace, statuses[0], memories=services.memories)
        shown[0] = shown[0].model_copy(update={"similar": [SimilarMemory.model_validate(one) for one in found] or None})
    return shown


def _ingest_status(arguments: StatusArguments, principal: Principal, services: Services) -> Reply:
    asked = arguments.request_ids or ([arguments.request_id] if arguments.request_id else [])
    return Reply(Statuses(requests=_statuses(principal, asked, services)))


class Outcome(Result):
    """What became of a memory that was waited for: `status` is the state that ingest_status names."""

    status: IngestState
    request_id: UUID
    memory_id: UUID | None = None
    error: str | None = None
    similar: list[SimilarMemory] | None = None


def _outcome(queued: Mapping[str, Any], principal: Principal, services: Services) -> Reply | None:
    (found,) = _statuses(principal, [UUID(queued["request_id"])], services)
    if found.state in (IngestState.QUEUED, IngestState.UNKNOWN):  # of a derived id nobody knows that it was accepted
        return None
    return Reply(
        Outcome(
            status=found.state,
            request_id=found.request_id,
            memory_id=found.memory_id,
            error=found.error,
            similar=found.similar,
        )
    )


INGEST_MEMORY = Tool(
    name="ingest_memory",
    title="Remember",
    description=(
        "Store one memory: a fact, decision, preference, event or document that matters beyond this conversation. It "
        "is `queued` and found a moment later; ingest_status tells its outcome. The same "
        "content is stored once a session, and never changed.\n"
        'Example: {"content": "Ada prefers tea to coffee.", "tags": ["ada"]}'
    ),
    arguments=IngestArguments,
    result=Queued,
    units=lambda arguments: (
        rate_limit.cost_of_memories([arguments]) + (rate_limit.SEARCH["semantic"] if arguments.get("wait") else 0.0)
    ),
    outcome=_outcome,
    unlisted=("source", "key"),
    run=_ingest_memory,
    idempotent=True,
    needs_database=False,
)


def _units_of_status(arguments: Mapping[str, Any]) -> float:
    several = isinstance(ids := arguments.get("request_ids"), list) and len(ids) > 1
    return 0.0 if several else rate_limit.SEARCH["semantic"]


INGEST_STATUS = Tool(
    name="ingest_status",
    title="Was it remembered?",
    description=(
        "What became of ingest requests: `queued` (ask again in a second), `stored`, `duplicate` (of memory_id), "
        "`failed` (error says why), `dead_lettered` (the operator can redrive it) or `unknown`. `similar` names "
        "memories that nearly say the same as the one asked about: update_memory can supersede them."
    ),
    arguments=StatusArguments,
    result=Statuses,
    gives_stored=True,
    units=_units_of_status,
    unlisted=("request_id",),
    run=_ingest_status,
    read_only=True,
    idempotent=True,
)
