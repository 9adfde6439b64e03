"""`forget_memories`: delete memories with all their texts in the database, after a dry run."""

import time
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.forgetting import IDS_AT_ONCE, Hold, SelectedMemory, Selection
from mnemosyne.domain.parsing import Id, Text
from mnemosyne.domain.plurals import quantity
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.time.window import TimeWindow, bounds
from mnemosyne.errors import InvalidRequest, PartialChange, ServiceError
from mnemosyne.mcp import cursors
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.mcp.tools.filters import FilterArguments, Limit, Window
from mnemosyne.ports.services import Services
from mnemosyne.service import forgetting

_OPEN = "-"
"""Text that a token has in place of a missing start or end of the time window."""
SECONDS = 10.0
"""Time in seconds after which a call ends. The next call continues."""


class ForgetArguments(FilterArguments):
    """The memories to delete: selected by ids or by filters, or all memories. Superseded memories are included."""

    ids: Annotated[list[Id] | None, Field(min_length=1, max_length=IDS_AT_ONCE, description="Only these.")] = None
    all: Annotated[bool, Field(description="Every memory; only without the other selections.")] = False
    token: Text | None = Field(
        None, description="Token of a dry run of exactly these memories. Without a token, the call is a dry run."
    )
    limit: Limit = 50
    cursor: Text | None = Field(
        None, description="`next_cursor` of the previous page. With a cursor, the call is a dry run, even with a token."
    )
    forgetting_id: Annotated[Id | None, Field(description="Instead of a selection: continue this forgetting.")] = None


class Preview(Result):
    """The memories that would be deleted: the number of all, and one page of them, the oldest first."""

    memories: int
    token: str
    """Token with which the next call confirms the selection. With `time_expr`, the token also contains the start and
    the end of the time that the words mean."""
    page: list[SelectedMemory]
    holds: list[Hold]
    """Legal holds that keep some of the memories. If there are any, none of the memories can be forgotten."""
    next_cursor: str | None = None
    window: Window | None = None


class Forgotten(Result):
    """Progress of a forgetting (the deletion of the selected memories).

    Until `finished` is true, call the tool again with `forgetting_id` to continue.
    """

    forgetting_id: UUID
    memories: int
    left: int
    finished: bool


@tool(
    title="Forget memories",
    description="Delete memories with all their texts in the database. Earlier messages cannot store them again. "
    "The first call is a dry run, which returns a token.",
    result=Forgotten,
    units=lambda arguments: rate_limit.FORGETTING,
    operates=True,
    destructive=True,
)
def forget_memories(arguments: ForgetArguments, principal: Principal, services: Services) -> Reply:
    memories = services.memories_of(principal.namespace)
    if arguments.forgetting_id is not None:
        if arguments.ids or arguments.all or arguments.token:
            raise InvalidRequest("forgetting_id cannot be combined with a selection or a token")
        forgetting_id = arguments.forgetting_id
    else:
        token, window = _split_token(arguments, services.clock())
        selection = Selection.of(arguments.ids, arguments.filters(window), everything=arguments.all)
        if token is None or arguments.cursor is not None:
            return _preview_forgetting(selection, window, arguments, principal, services)
        forgetting_id = forgetting.begin(selection, token, principal.id, memories=memories)
    try:
        state = forgetting.proceed(forgetting_id, memories=memories, deadline=time.monotonic() + SECONDS)
    except ServiceError as exc:
        raise PartialChange(f"to continue the forgetting, call again with forgetting_id {forgetting_id}", exc) from exc
    finished = state.finished_at is not None
    result = Forgotten(forgetting_id=forgetting_id, memories=state.memories, left=state.left, finished=finished)
    count = quantity(state.memories - state.left, "memory", "memories")
    onward = "" if finished else f"; not finished: call again with forgetting_id {forgetting_id}"
    return Reply(result, text=f"Forgot {count}{onward}", has_stored_text=False)


def _split_token(arguments: ForgetArguments, now: datetime) -> tuple[str | None, TimeWindow | None]:
    """Split the argument `token` into the token of the selected memories and the time window of the selection.

    Words such as 'the past 3 months' mean another time window at each call. Therefore the token of a dry run with
    `time_expr` contains the window of that call, and the next pages and the confirmation use this window.
    """
    window = arguments.window(now)
    given = arguments.token and cursors.unquote(arguments.token)
    token, *ends = (given or "").split(" ")
    if arguments.time_expr is None or len(ends) != 2:
        return given, window
    return token, bounds(*(None if end == _OPEN else end for end in ends))


def _preview_forgetting(
    selection: Selection,
    window: TimeWindow | None,
    arguments: ForgetArguments,
    principal: Principal,
    services: Services,
) -> Reply:
    preview = services.memories_of(principal.namespace).preview_forgetting(
        selection, arguments.limit, after=cursors.read_id(arguments)
    )
    ends = (window.after, window.last) if window and arguments.time_expr else ()
    return Reply(
        Preview(
            memories=preview.memories,
            token=" ".join((preview.token, *(rfc3339(end) or _OPEN for end in ends))),
            page=preview.page,
            holds=preview.holds,
            next_cursor=cursors.encode(preview.after, arguments),
            window=Window.of(window, arguments.timezone) if window else None,
        ),
        has_stored_text=bool(preview.page or preview.holds),
        is_dry_run=True,
    )
