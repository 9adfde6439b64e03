"""Tools that list requests and dead letters, and that redrive (publish again) or drop (delete) dead letters."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.console_queries import ListedRequest
from mnemosyne.domain.dead_letter import ALL_DEAD_LETTERS, DeadLetterCause, DeadLetterChoice, Redrivable
from mnemosyne.domain.memory import FIRST_WORDS, IngestState
from mnemosyne.domain.parsing import Filled, Input, Text
from mnemosyne.domain.plurals import quantity
from mnemosyne.domain.preview import preview
from mnemosyne.domain.principal import Principal
from mnemosyne.errors import InvalidRequest, PartialChange, ServiceError
from mnemosyne.mcp import cursors
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.mcp.tools.filters import Limit, PageCursor
from mnemosyne.ports.services import Services
from mnemosyne.service import redrives

DAY = 86_400
"""Seconds of a day."""
REDRIVEN_AT_ONCE = 100
"""Maximum number of dead letters that one call redrives. The number is limited, because each publication waits for the
queue."""


class RequestsArguments(Input):
    """The requests to list."""

    state: Annotated[IngestState | None, Field(strict=False, description="Only in this state.")] = None
    limit: Limit = 50
    cursor: PageCursor = None


class RequestResult(Result):
    """One ingest request. `source` and `key` are the publisher's names for the record.

    `client` is the name of the sender, for example of an API key or an OAuth client. `dead_letter` is the message id of
    the request's dead letter, which the operator can redrive.
    """

    request_id: UUID
    state: IngestState
    memory_id: UUID | None
    attempts: int
    error: str | None
    note: str | None
    updated_at: datetime | None
    source: str | None
    key: str | None
    created_at: datetime
    first_words: str | None
    client: str | None
    import_name: str | None
    import_line: int | None
    dead_letter: str | None


class RequestPage(Result):
    """Requests that were delivered at least once, the last changed first; `next_cursor` is set if there are more.

    The first page also has the number of requests in each state, among the 20,000 requests that changed last.
    """

    requests: list[RequestResult]
    counts: dict[IngestState, int] | None = None
    next_cursor: str | None


@tool(
    title="Outcomes of requests",
    description="List ingest requests with their states and errors, the latest change first.",
    result=RequestPage,
    # A list of the requests in one state costs more than a list of all requests. If few requests are in this state, the
    # query reads all requests of the namespace.
    units=lambda arguments: rate_limit.COUNTING if arguments.get("state") else 0.0,
    read_only=True,
)
def list_requests(arguments: RequestsArguments, principal: Principal, services: Services) -> Reply:
    memories, after = services.memories_of(principal.namespace), cursors.read_id(arguments)
    requests = memories.ingest_requests(arguments.state, arguments.limit + 1, after=after)
    page, next_cursor = cursors.page(requests, arguments.limit, arguments)
    counts = None if arguments.cursor else memories.request_counts()
    result = RequestPage(requests=list(map(_to_request_result, page)), counts=counts, next_cursor=next_cursor)
    return Reply(result, has_stored_text=bool(page))


def _to_request_result(request: ListedRequest) -> RequestResult:
    external_id = vars(request.external_id) if request.external_id else {"source": None, "key": None}
    words = request.first_words and preview("", request.first_words, FIRST_WORDS)
    return RequestResult(**vars(request) | vars(request.provenance) | external_id | {"first_words": words})


class DeadLettersArguments(Input):
    """Number of dead letters to list, and the cursor."""

    limit: Limit = 50
    cursor: PageCursor = None


class ListedDeadLetter(Result):
    """A dead letter: time of the first failure, cause of the last failure, and earliest time to publish the message
    again."""

    message_id: str
    dead_lettered_at: datetime
    cause: str
    attributes: dict[str, Any]
    bytes: int
    last_failed_at: datetime
    failures: int
    redriven_at: datetime | None = None
    due_at: datetime


class DeadLetterPage(Result):
    """Dead letters, the latest first.

    `next_cursor` is set if there are more. The first page has the causes of all dead letters.
    """

    dead_letters: list[ListedDeadLetter]
    causes: list[DeadLetterCause] | None = None
    next_cursor: str | None


@tool(
    title="Dead letters",
    description="List messages that were given up or could not be read, with their causes; redrive republishes them.",
    result=DeadLetterPage,
    read_only=True,
)
def list_dead_letters(arguments: DeadLettersArguments, principal: Principal, services: Services) -> Reply:
    memories, after = services.memories_of(principal.namespace), cursors.read_key(arguments)
    letters = memories.dead_letter_summaries(arguments.limit + 1, after=after)
    page, next_cursor = cursors.page(letters, arguments.limit, arguments)
    causes = None if arguments.cursor else memories.dead_letter_causes()
    result = DeadLetterPage(dead_letters=page, causes=causes, next_cursor=next_cursor)
    return Reply(result, has_stored_text=bool(page or causes))


MessageId = Annotated[Text, Field(min_length=1, max_length=200, description="From list_dead_letters.")]
Cause = Annotated[
    Filled | None,
    Field(
        min_length=1,
        max_length=2_000,
        description="All letters whose cause contains this, as list_dead_letters shows causes; case is ignored.",
    ),
]


class RedriveArguments(Input):
    """The dead letters to redrive: one by `message_id`, or several by `message_ids` or `cause`.

    With `message_ids` or `cause`, two kinds of dead letters are left out: those that were published again and have no
    outcome yet, and those that wait after a failed redrive.
    """

    message_id: MessageId | None = None
    message_ids: list[MessageId] | None = Field(None, min_length=1, max_length=100, description="Several that are due.")
    cause: Cause = None


class RedriveResult(Result):
    """Result of a redrive: the messages that were published again, and their requests."""

    letters: int
    request_ids: list[UUID]
    problems: list[str]
    remaining: int
    """Number of chosen dead letters that are due, but that this call has not reached. Another call redrives these."""


@tool(
    title="Redrive dead letters",
    description="Publish dead letters again. Nothing is stored twice. A letter stays until its message has an outcome. "
    f"By cause, at most {REDRIVEN_AT_ONCE} letters in one call, without those that are in flight or back off.",
    result=RedriveResult,
    operates=True,
)
def redrive(arguments: RedriveArguments, principal: Principal, services: Services) -> Reply:
    if sum(name is not None for name in (arguments.message_id, arguments.message_ids, arguments.cause)) != 1:
        raise InvalidRequest("give either message_id, message_ids or cause")
    memories, queue = services.memories_of(principal.namespace), services.queue
    if arguments.message_id is not None:
        ids = redrives.redrive(arguments.message_id, memories=memories, queue=queue)
        result = RedriveResult(letters=1, request_ids=list(ids), problems=[], remaining=0)
        return Reply(result, has_stored_text=False)
    message_ids = tuple(arguments.message_ids) if arguments.message_ids else None
    due = DeadLetterChoice(message_ids=message_ids, cause=arguments.cause, redrivable=Redrivable.DUE)
    attempts = list(redrives.redrive_chosen(due, memories=memories, queue=queue, limit=REDRIVEN_AT_ONCE))
    problems = [attempt.problem for attempt in attempts if attempt.problem]
    letters = len(attempts) - len(problems)
    try:
        left = len(memories.dead_letter_ids(due))
    except ServiceError as exc:
        if not letters:
            raise
        raise PartialChange(
            f"{quantity(letters, 'dead letter was', 'dead letters were')} published again", exc
        ) from exc
    return Reply(
        RedriveResult(
            letters=letters,
            request_ids=[request_id for attempt in attempts for request_id in attempt.request_ids],
            problems=problems,
            remaining=max(0, left - len(problems)),
        ),
        has_stored_text=bool(problems),
    )


class DropArguments(Input):
    """The dead letters to delete: all, or the ones that match every given condition."""

    message_ids: Annotated[list[MessageId] | None, Field(min_length=1, max_length=100)] = None
    cause: Cause = None
    older_than_days: float | None = Field(
        None, ge=0, le=36_500, description="Minimum number of days since the first failure."
    )
    all: Annotated[bool, Field(description="Every letter; only without the other arguments.")] = False
    dry_run: Annotated[bool, Field(description="Count them, and delete none.")] = False


class DropResult(Result):
    """Number of dead letters that were deleted or, in a dry run, would be deleted."""

    dropped: int
    would_drop: int


@tool(
    title="Delete dead letters",
    description="Delete dead letters for good, with their messages. The outcomes of their requests stay.",
    result=DropResult,
    operates=True,
    destructive=True,
    idempotent=True,
)
def drop_dead_letters(arguments: DropArguments, principal: Principal, services: Services) -> Reply:
    choice = DeadLetterChoice(
        message_ids=tuple(arguments.message_ids) if arguments.message_ids else None,
        cause=arguments.cause,
        older_than=None if arguments.older_than_days is None else arguments.older_than_days * DAY,
    )
    if arguments.all != (choice == ALL_DEAD_LETTERS):
        raise InvalidRequest("give message_ids, cause or older_than_days, or all=true without them")
    ids = services.memories_of(principal.namespace).dead_letter_ids(choice)
    if arguments.dry_run:
        return Reply(DropResult(dropped=0, would_drop=len(ids)), has_stored_text=False, is_dry_run=True)
    dropped = services.memories_of(principal.namespace).drop_dead_letters(ids)
    return Reply(DropResult(dropped=dropped, would_drop=0), has_stored_text=False)
