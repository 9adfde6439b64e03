"""`list_audit`: show operators the accesses and changes in their namespace."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.parsing import Input, Text
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.time.window import bounds
from mnemosyne.mcp import cursors
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.mcp.tools.filters import DateAsText, Limit, PageCursor
from mnemosyne.ports.services import Services


class AuditArguments(Input):
    """The events to list."""

    after: Annotated[Text | None, DateAsText, Field(description="First day, YYYY-MM-DD, or RFC 3339.")] = None
    before: Annotated[Text | None, DateAsText, Field(description="Last day or time.")] = None
    timezone: Annotated[Text, Field(description="IANA name; else UTC.")] = "UTC"
    person: Text | None = Field(
        None, min_length=1, max_length=1_000, description="Principal, address, subject, or name of an API key."
    )
    action: Text | None = Field(
        None, min_length=1, max_length=100, description="Name of a tool or of an operator's operation."
    )
    limit: Limit = 50
    cursor: PageCursor = None


class ListedAuditEvent(Result):
    """The audit event of one call. `name` is the person's e-mail address or the name of the API key.

    `ids` has at most 100 ids of the objects that the call read or changed, and `count` is the number of all these
    objects. `memories` has the ids in `ids` that belong to memories that still exist.
    """

    at: datetime
    principal: str
    name: str | None
    credential: str
    client: str
    client_name: str | None
    action: str
    outcome: str
    ids: list[str]
    memories: list[UUID]
    count: int


class AuditPage(Result):
    """Events of the namespace, the latest first; `next_cursor` is set if there are more."""

    events: list[ListedAuditEvent]
    next_cursor: str | None


@tool(
    title="Audit trail",
    description="List who did what in this namespace, the latest first: calls of tools and operators' operations.",
    result=AuditPage,
    units=lambda arguments: rate_limit.COUNTING if arguments.get("person") or arguments.get("action") else 0.0,
    read_only=True,
    operates=True,
)
def list_audit(arguments: AuditArguments, principal: Principal, services: Services) -> Reply:
    events = services.memories_of(principal.namespace).audit_events(
        bounds(arguments.after, arguments.before, timezone=arguments.timezone),
        arguments.person,
        arguments.action,
        arguments.limit + 1,
        after=cursors.read_number(arguments),
    )
    page, next_cursor = cursors.page(events, arguments.limit, arguments)
    return Reply(AuditPage(events=page, next_cursor=next_cursor), has_stored_text=bool(page))
