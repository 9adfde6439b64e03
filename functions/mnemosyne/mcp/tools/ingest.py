"""`ingest_memory` and `ingest_status`: hand a memory over, and learn what became of it."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from mnemosyne.domain.memory import BATCH_LIMIT, IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.parsing import Content, Id, Input, Instant, JsonObject, Tags, Title
from mnemosyne.ids import new_id
from mnemosyne.mcp.tool import Caller, Reply, Result, Tool
from mnemosyne.ports import Services
from mnemosyne.service import ingest


class MemoryInput(Input):
    """One memory as an agent hands it over."""

    content: Annotated[
        Content,
        Field(
            description="The memory itself, stored verbatim: 1 to 100,000 characters. Write it so that it can be "
            "understood without this conversation. A first `TITLE:` line and a `TAGS:` line (comma-separated) in "
            "it are read as title and tags."
        ),
    ]
    timestamp: Annotated[
        Instant,
        Field(
            description="When it happened, RFC 3339 with an offset or Z, such as 2026-05-20T14:30:00Z. Search by "
            "time goes by this."
        ),
    ]
    tags: Annotated[Tags | None, Field(description="Labels to filter by later, such as ['project-x', 'decision'].")] = (
        None
    )
    title: Annotated[Title | None, Field(description="One line; otherwise taken from the content.")] = None
    metadata: Annotated[
        JsonObject | None, Field(description="Any JSON object to keep beside the memory; not searched.")
    ] = None

    def request(self) -> IngestRequest:
        """The request under a new id."""
        return IngestRequest.of(
            new_id(),
            content=self.content,
            timestamp=self.timestamp,
            title=self.title,
            tags=tuple(self.tags or ()),
            metadata=self.metadata,
        )


class Queued(Result):
    """The memory is durably queued; it is not stored yet."""

    status: Literal["queued"] = "queued"
    request_id: UUID


def _ingest_memory(arguments: MemoryInput, caller: Caller, services: Services) -> Reply:
    request = arguments.request()
    ingest.accept(caller.namespace, [request], queue=services.queue)
    return Reply(Queued(request_id=request.request_id))


INGEST_MEMORY = Tool(
    name="ingest_memory",
    title="Remember",
    description=(
        "Store one memory for later: a fact, decision, preference, event or document. Use it whenever something "
        "will matter beyond this conversation.\n"
        "Answers `queued` with a `request_id` as soon as the memory is durably accepted; it can be searched a "
        "moment later. Ask `ingest_status` with that id if you must know that it is stored.\n"
        "The same content is stored once: sending it again is safe and ends as `duplicate`. Contents cannot be "
        "changed afterwards.\n"
        'Example: {"content": "Ada prefers tea to coffee.", "timestamp": "2026-05-20T14:30:00Z", '
        '"tags": ["ada", "preference"]}'
    ),
    arguments=MemoryInput,
    result=Queued,
    run=_ingest_memory,
    idempotent=True,
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
            raise ValueError("give either request_id or request_ids")
        return self


class RequestStatus(Result):
    """What became of one request."""

    request_id: UUID
    state: IngestState
    memory_id: UUID | None
    attempts: int
    error: str | None
    updated_at: datetime | None

    @classmethod
    def of(cls, status: IngestStatus) -> Self:
        """The status as answered."""
        return cls(
            request_id=status.request_id,
            state=status.state,
            memory_id=status.memory_id,
            attempts=status.attempts,
            error=status.error,
            updated_at=status.updated_at,
        )


class Statuses(Result):
    """One entry per request asked about, in that order."""

    requests: list[RequestStatus]


def _ingest_status(arguments: StatusArguments, caller: Caller, services: Services) -> Reply:
    asked = arguments.request_ids or [arguments.request_id] if arguments.request_id else arguments.request_ids
    statuses = ingest.status(caller.namespace, asked or [], memories=services.memories, clock=services.clock)
    return Reply(Statuses(requests=[RequestStatus.of(status) for status in statuses]))


INGEST_STATUS = Tool(
    name="ingest_status",
    title="Was it remembered?",
    description=(
        "What became of one or up to 100 ingest requests. States: `queued` (accepted, not stored yet: ask again "
        "in a second; `error` says why an attempt failed), `stored` (done: `memory_id`), `duplicate` (the same "
        "content was there already: `memory_id` is it), `failed` (can never be stored: `error` says why), "
        "`dead_lettered` (given up after repeated faults: the operator can redrive it), `unknown` (no such "
        "request, or older than 7 days)."
    ),
    arguments=StatusArguments,
    result=Statuses,
    run=_ingest_status,
    read_only=True,
    idempotent=True,
)
