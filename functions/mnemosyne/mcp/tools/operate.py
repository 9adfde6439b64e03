"""What became of what was published, for people: every request, what was given up, and putting it back."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field

from mnemosyne.domain.memory import IngestState, IngestStatus
from mnemosyne.domain.parsing import Input, Text
from mnemosyne.domain.principal import Principal
from mnemosyne.mcp import cursors
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.mcp.tools.filters import Limit
from mnemosyne.ports import Services
from mnemosyne.service import overview

Page = Annotated[Text | None, Field(description="`next_cursor` of the page before.")]


class RequestsArguments(Input):
    """Which requests to list."""

    state: Annotated[IngestState | None, Field(strict=False, description="Only in this state.")] = None
    limit: Limit = 50
    cursor: Page = None


class RequestShown(Result):
    """One ingest request; `source` and `key` are what its publisher calls it."""

    request_id: UUID
    state: IngestState
    memory_id: UUID | None
    attempts: int
    error: str | None
    updated_at: datetime | None
    source: str | None
    key: str | None


class RequestsShown(Result):
    """Requests that the subscriber has seen, the latest first; `next_cursor` where there are more."""

    requests: list[RequestShown]
    next_cursor: str | None


def _list_requests(arguments: RequestsArguments, principal: Principal, services: Services) -> Reply:
    found, after = overview.requests(
        principal.namespace,
        arguments.state,
        arguments.limit,
        after=cursors.read_id(arguments.cursor),
        memories=services.memories,
    )
    return Reply(RequestsShown(requests=list(map(_request, found)), next_cursor=cursors.written(after)))


def _request(status: IngestStatus) -> RequestShown:
    origin = status.origin
    named = vars(status) | {"source": origin.source if origin else None, "key": origin.key if origin else None}
    return RequestShown(**{name: named[name] for name in RequestShown.model_fields})


LIST_REQUESTS = Tool(
    name="list_requests",
    title="What became of every request",
    description="Ingest requests, those that changed last first, with their states and why they failed.",
    arguments=RequestsArguments,
    result=RequestsShown,
    gives_stored=True,
    run=_list_requests,
    read_only=True,
    idempotent=True,
)


class DeadLettersArguments(Input):
    """How many to list, from where."""

    limit: Limit = 50
    cursor: Page = None


class DeadLetterShown(Result):
    """A message that was given up, and why."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    message_id: str
    dead_lettered_at: datetime
    cause: str
    attributes: dict[str, Any]
    bytes: int


class DeadLettersShown(Result):
    """The latest first; `next_cursor` where there are more."""

    dead_letters: list[DeadLetterShown]
    next_cursor: str | None


def _list_dead_letters(arguments: DeadLettersArguments, principal: Principal, services: Services) -> Reply:
    found, after = overview.dead_letters(
        principal.namespace,
        arguments.limit,
        after=cursors.read_key(arguments.cursor),
        memories=services.memories,
    )
    shown = [DeadLetterShown.model_validate(one) for one in found]
    return Reply(DeadLettersShown(dead_letters=shown, next_cursor=cursors.written(after)))


LIST_DEAD_LETTERS = Tool(
    name="list_dead_letters",
    title="What was given up",
    description="Messages that were given up or could not be read, with their causes; redrive puts them back.",
    arguments=DeadLettersArguments,
    result=DeadLettersShown,
    gives_stored=True,
    run=_list_dead_letters,
    read_only=True,
    idempotent=True,
)


class RedriveArguments(Input):
    """Which dead letter."""

    message_id: Annotated[Text, Field(min_length=1, max_length=200, description="From list_dead_letters.")]


class Redriven(Result):
    """The message is on the queue again, with these requests; those that were stored meanwhile stay so."""

    message_id: str
    request_ids: list[UUID]


def _redrive(arguments: RedriveArguments, principal: Principal, services: Services) -> Reply:
    asked = overview.redrive(
        principal.namespace, arguments.message_id, memories=services.memories, queue=services.queue
    )
    return Reply(Redriven(message_id=arguments.message_id, request_ids=list(asked)))


REDRIVE = Tool(
    name="redrive",
    title="Put back on the queue",
    description="Put one dead letter back on the queue: what it asks for is tried again, and nothing is stored twice.",
    arguments=RedriveArguments,
    result=Redriven,
    run=_redrive,
    operates=True,
)
