"""The tools `ingest_memory` and `ingest_memories` accept memories. `ingest_memory` can also wait for the outcome."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.event_time import event_time
from mnemosyne.domain.memory import BATCH_LIMIT, IngestRequest, IngestState, Request
from mnemosyne.domain.memory_input import Defaults, MemoryInput
from mnemosyne.domain.message import identity
from mnemosyne.domain.outcome import FINAL
from mnemosyne.domain.parsing import Input
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.domain.provenance import Publisher
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.errors import InvalidRequest, ServiceError
from mnemosyne.ids import issue_request_id
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.mcp.tools.ingest_status import HintedMemory, RequestStatus, statuses
from mnemosyne.ports.services import Services
from mnemosyne.service import ingest

UNLISTED = ("expires_at", "ttl", "pinned", "source", "key", "request_id", "op", "namespace", "schema_version")
"""Fields that the tools accept, but do not list for agents, so that the list of tools stays short."""
LONGEST_WAIT = 10
"""Maximum wait in seconds. It is short, because clients abort a call after 30 to 60 seconds."""
TICK = timedelta(microseconds=1)
"""Time between consecutive memories of a batch that have no time of their own: the shortest time that the database
stores."""
UNFINISHED = (IngestState.QUEUED, IngestState.UNKNOWN)
"""States of a request without an outcome."""


class MemoryArguments(MemoryInput):
    """One memory as an agent sends it. The timestamp is optional."""

    example = '{"content": "Ada prefers tea to coffee."}'
    instead = {"memories": "ingest_memories takes them"} | dict.fromkeys(
        ("supersedes", "replaces", "superseded_by"),
        "store this memory, then call update_memory with the id of the older memory, and with superseded_by, the "
        "memory_id of this one",
    )

    timestamp: Annotated[datetime | None, BeforeValidator(event_time, json_schema_input_type=str | None)] = Field(
        None,
        description="When it happened: RFC 3339, a date (its midnight) or a local time in `timezone`. Default: now.",
    )

    def request_at(self, namespace: str, now: datetime) -> Request:
        """Build the request. Its id is the given id, or is derived from source and key, or is new.

        Raises InvalidRequest.
        """

        def new_id() -> UUID:
            return issue_request_id(namespace)

        request = self.request(Defaults(new_id=new_id, namespace=namespace, timestamp=now, deleted_at=now))
        if isinstance(request, IngestRequest) and request.expires_at and request.expires_at <= now:
            raise InvalidRequest(f"expires_at must be in the future, got {rfc3339(request.expires_at)}")
        return request


class IngestArguments(MemoryArguments):
    """One memory, and how long to wait for its outcome."""

    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the outcome.")] = 0


class Queued(Result):
    """The memory is durably queued; it is not stored yet."""

    status: Literal["queued"] = "queued"
    request_id: UUID
    earlier_outcome_at: datetime | None = None
    """Time of the request's last outcome before this call, if the same request was sent before."""


class Outcome(Result):
    """The outcome that a call with `wait` has waited for. `status` is a state that the tool ingest_status returns."""

    status: IngestState
    request_id: UUID
    memory_id: UUID | None = None
    error: str | None = None
    note: str | None = None
    similar: list[HintedMemory] | None = None
    may_replace: list[HintedMemory] | None = None


def _is_outcome(status: RequestStatus, queued: Mapping[str, Any]) -> bool:
    """Whether the status has the outcome for which the call waits, and not the outcome of an earlier delivery."""
    if status.state in UNFINISHED:
        return False
    earlier = queued.get("earlier_outcome_at")
    if status.state in FINAL or earlier is None or status.updated_at is None:
        return True
    return status.updated_at > datetime.fromisoformat(earlier)


def _look_up_outcome(queued: Mapping[str, Any], principal: Principal, services: Services) -> Reply | None:
    (status,) = statuses(principal, [UUID(queued["request_id"])], services)
    if not _is_outcome(status, queued):
        return None
    outcome = Outcome(**vars(status), status=status.state)
    return Reply(outcome, has_stored_text=status.model_copy(update={"source": None}).has_stored_text)


@tool(
    title="Remember",
    description=(
        "Store one memory: a fact, decision, preference, event or document that matters beyond this conversation. It "
        "is `queued` and found a moment later; ingest_status returns its outcome. The same "
        "content is stored once a session, and never changed.\n"
        'Example: {"content": "Ada prefers tea to coffee.", "tags": ["ada"]}'
    ),
    result=Queued,
    units=lambda arguments: (
        rate_limit.cost_of_memories([arguments]) + (rate_limit.SEARCH["semantic"] if arguments.get("wait") else 0.0)
    ),
    outcome=_look_up_outcome,
    unlisted=UNLISTED,
    idempotent=True,
    needs_database=False,
)
def ingest_memory(arguments: IngestArguments, principal: Principal, services: Services) -> Reply:
    if arguments.wait and not principal.may(Scope.READ):
        raise InvalidRequest("wait needs the scope read: leave wait out, or use a key with the scopes read and write")
    request = arguments.request_at(principal.namespace, services.clock())
    # Only a request that was sent before can have an earlier outcome. A repeated request has the same id only if the
    # caller gives the id, or gives a key and a time, from which the id is derived.
    is_named = arguments.request_id or (arguments.key and arguments.timestamp)
    earlier = _earlier_outcome_at(request, principal, services) if arguments.wait and is_named else None
    ingest.accept(principal.namespace, [request], services, Publisher(client=principal.name))
    return Reply(Queued(request_id=request.request_id, earlier_outcome_at=earlier), has_stored_text=False)


def _earlier_outcome_at(request: Request, principal: Principal, services: Services) -> datetime | None:
    """Return the time of the request's last outcome, so that the call waits for a later outcome.

    If the database is unavailable, return the current time, because the memory can be accepted without the database.
    Raises InvalidRequest if the id already belongs to another request with a final outcome. Without this error, the new
    request would become a dead letter, and the call would return the other request's outcome.
    """
    try:
        statuses_by_id = services.memories_of(principal.namespace).statuses([request.request_id])
    except ServiceError:
        return services.clock()
    status = statuses_by_id.get(request.request_id)
    if status is None or status.state in UNFINISHED:
        return None
    if status.state in FINAL and not status.belongs_to(request):
        raise InvalidRequest(
            f"request_id must be unique, got {request.request_id}: an earlier request has it, with the "
            f"outcome {status.state}; nothing was stored"
        )
    return status.updated_at


class BatchInput(Input):
    """Several memories at once."""

    instead = dict.fromkeys(MemoryInput.model_fields, "give {it} in each memory") | {"wait": "ingest_memory takes {it}"}

    memories: list[MemoryArguments] = Field(
        min_length=1, max_length=BATCH_LIMIT, description="As ingest_memory takes them."
    )


class BatchQueued(Result):
    """All memories are durably queued. `request_ids` are in the order of the memories."""

    status: Literal["queued"] = "queued"
    request_ids: list[UUID]


@tool(
    title="Remember several",
    description="Store up to 100 memories, all or none; each has an outcome.",
    refused="none of the memories was stored: correct this and send all of them again",
    result=BatchQueued,
    unlisted=("timezone", *UNLISTED),
    units=lambda arguments: rate_limit.cost_of_memories(arguments.get("memories")),
    idempotent=True,
    needs_database=False,
)
def ingest_memories(arguments: BatchInput, principal: Principal, services: Services) -> Reply:
    now = services.clock()
    requests: list[Request] = []
    first: dict[UUID, Request] = {}
    for index, memory in enumerate(arguments.memories):
        # A memory without a time gets a later time than the memory before it in the list. So if a list has several
        # versions of a record, the last one is current, and a deletion does not delete versions that follow it.
        default_time = now + index * TICK
        try:
            requests.append(memory.request_at(principal.namespace, default_time))
        except InvalidRequest as exc:
            raise InvalidRequest(f"memories[{index}].{exc}") from exc
        if identity(first.setdefault(requests[-1].request_id, requests[-1])) != identity(requests[-1]):
            raise InvalidRequest(f"memories[{index}].request_id must be unique: an earlier memory has it")
    ingest.accept(principal.namespace, requests, services, Publisher(client=principal.name))
    return Reply(BatchQueued(request_ids=[request.request_id for request in requests]), has_stored_text=False)
