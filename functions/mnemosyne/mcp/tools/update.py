"""`update_memory` and `change_tag`: change titles, tags and other labels of memories."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from mnemosyne.domain import rate_limit
from mnemosyne.domain.chronicle import TAG_COUNT, unite_tags
from mnemosyne.domain.event_time import event_time, in_zone, zone
from mnemosyne.domain.memory import Memory
from mnemosyne.domain.memory_changes import NO_TAGS, MemoryChange, removes_tags
from mnemosyne.domain.parsing import Id, Ids, Input, JsonObject, Tag, Text, Title, uuid
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.text_checks import excerpt
from mnemosyne.domain.visible import one_line
from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp.record import MemoryRecord, RecordOrIds
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.mcp.tools.read import no_memory
from mnemosyne.ports.services import Services


def is_none(value: object) -> bool:
    """Whether the value is the word `none`. Case is ignored, because some models write `None` or `NONE`."""
    return isinstance(value, str) and value.strip().casefold() == "none"


def _parse_successor(value: object) -> object:
    if not isinstance(value, str | UUID):
        raise ValueError(f"must be a UUID as a string, or '{NO_SUCCESSOR}', got {excerpt(value)}")
    if is_none(value):
        return NO_SUCCESSOR
    try:
        return uuid(value)
    except ValueError as exc:
        raise ValueError(f"{exc}; '{NO_SUCCESSOR}' removes the successor") from None


NO_SUCCESSOR = "none"
NO_EXPIRY = "none"
Successor = Annotated[UUID | str, BeforeValidator(_parse_successor, json_schema_input_type=str)]


ECHOED_CHARACTERS = 2_000
"""Maximum number of characters of content, and of metadata, in an answer. A caller that changes a tag does not need a
long content."""


TAG_CHANGES = {"add_tags", "remove_tags"}


def _parse_expiry(value: object) -> object:
    if is_none(value):
        return NO_EXPIRY
    try:
        return event_time(value)
    except ValueError as exc:
        raise ValueError(f"{exc}; '{NO_EXPIRY}' removes the expiry") from None


def _check_visible(label: str) -> str:
    """Return a title or tag unchanged. Raises ValueError if the text has no visible character.

    This check is only for changes. If a new memory has an invisible title, the title is taken from the content.
    """
    if not one_line(label).strip():
        raise ValueError(f"must contain at least one visible character, got {excerpt(label)}")
    return label


VisibleTitle = Annotated[Title, AfterValidator(_check_visible)]
VisibleTag = Annotated[Tag, AfterValidator(_check_visible)]
VisibleTags = Annotated[list[VisibleTag], Field(max_length=TAG_COUNT)]


class UpdateArguments(Input):
    """The changes to a memory."""

    instead = dict.fromkeys(
        ("content", "text", "new_content", "memory"),
        "a content never changes: store the new one with ingest_memory, then call update_memory with superseded_by, "
        "the new memory's id",
    ) | dict.fromkeys(
        ("supersedes", "replaces"), "give the id of the older memory as id, and of the newer one as superseded_by"
    )

    id: Annotated[Id, Field(description="Its id.")]
    title: Annotated[VisibleTitle | None, Field(description="The new one.")] = None
    tags: Annotated[VisibleTags | None, Field(description="Instead of all old ones; ['none'] removes them.")] = None
    metadata: Annotated[JsonObject | None, Field(description="A JSON object, instead.")] = None
    superseded_by: Successor | None = Field(
        None, description="Id of the memory that replaces it; 'none' takes that back."
    )

    expires_at: Annotated[
        datetime | Literal["none"] | None, BeforeValidator(_parse_expiry, json_schema_input_type=str)
    ] = Field(None, description="When it expires: RFC 3339, or a date in `timezone`; 'none' takes that back.")
    timezone: Annotated[Text, Field(description="IANA name; else UTC.")] = "UTC"
    pinned: bool | None = Field(None, description="Whether to keep it after the namespace's default lifetime.")
    ids: Annotated[Ids | None, Field(description="Instead of id, with add_tags and remove_tags only.")] = None
    add_tags: Annotated[VisibleTags | None, Field(description="Tags to add.")] = None
    remove_tags: Annotated[VisibleTags | None, Field(description="Tags to remove.")] = None

    @model_validator(mode="before")
    @classmethod
    def _accept_ids(cls, values: Any) -> Any:
        """Accept `ids` without `id`, although the schema that agents see requires `id`."""
        if not isinstance(values, dict) or not isinstance(ids := values.get("ids"), list) or not ids:
            return values
        if values.get("id") is not None:
            raise ValueError("give either id or ids, and not both")
        return values | {"id": ids[0]}

    @model_validator(mode="after")
    def _check_changes(self) -> Self:
        names = self.model_fields_set - {"id", "ids", "timezone"}
        if self.ids is not None and not names & TAG_CHANGES:
            raise ValueError("ids works only with add_tags and remove_tags: give id for other changes")
        if not names:
            raise ValueError(
                f"give at least one of title, tags (['{NO_TAGS}'] removes all), metadata, superseded_by, expires_at "
                "and pinned, or of add_tags and remove_tags"
            )
        if names & TAG_CHANGES and names - TAG_CHANGES:
            raise ValueError("add_tags and remove_tags cannot be combined with other changes: make two calls")
        if self.superseded_by == self.id:
            raise ValueError("superseded_by must be the id of another memory")
        return self


class TagsResult(Result):
    """Number of memories whose tags changed, the given ids that belong to memories, and the other given ids."""

    changed: int
    ids: list[UUID]
    missing: list[UUID]


def _change_tags(ids: Sequence[UUID], arguments: UpdateArguments, principal: Principal, services: Services) -> Reply:
    result = services.memories_of(principal.namespace).change_tags(
        ids, added=unite_tags(arguments.add_tags or ()), removed=unite_tags(arguments.remove_tags or ())
    )
    missing = [memory_id for memory_id in ids if memory_id not in result.found]
    return Reply(TagsResult(changed=result.changed, ids=list(result.found), missing=missing), has_stored_text=False)


@tool(
    title="Change a memory's labels",
    description=(
        "Change title, tags or metadata, or set superseded_by to the memory_id of one that replaces it: searches then "
        "leave it out. Contents never change."
    ),
    result=RecordOrIds,
    unlisted=("expires_at", "timezone", "pinned", "ids", "add_tags", "remove_tags"),
    units=rate_limit.cost_of_changes,
    destructive=True,  # old labels are lost
    idempotent=True,
)
def update_memory(arguments: UpdateArguments, principal: Principal, services: Services) -> Reply:
    if arguments.model_fields_set & TAG_CHANGES:
        return _change_tags(arguments.ids or [arguments.id], arguments, principal, services)
    successor = arguments.superseded_by
    change = MemoryChange(
        title=None if arguments.title is None else one_line(arguments.title),
        tags=None if arguments.tags is None else () if removes_tags(arguments.tags) else unite_tags(arguments.tags),
        metadata=arguments.metadata,
        superseded_by=successor if isinstance(successor, UUID) else None,
        not_superseded=successor == NO_SUCCESSOR,
        expires_at=_future_expiry(arguments, services.clock()),
        no_expiry=arguments.expires_at == NO_EXPIRY,
        pinned=arguments.pinned,
    )
    memory = services.memories_of(principal.namespace).update(arguments.id, change)
    if memory is None:
        raise no_memory(arguments.id)
    if not principal.may(Scope.READ):
        return Reply(RecordOrIds(id=memory.id, superseded_by=memory.superseded_by), has_stored_text=False)
    return Reply(_shortened_record(memory), text=f"Changed memory {memory.id}: {memory.title}")


def _future_expiry(arguments: UpdateArguments, now: datetime) -> datetime | None:
    local = zone(arguments.timezone)
    if not isinstance(arguments.expires_at, datetime):
        return None
    try:
        moment = in_zone(arguments.expires_at, local)
    except ValueError as exc:
        raise InvalidRequest(f"expires_at {exc}") from exc
    if moment <= now:
        raise InvalidRequest(f"expires_at must be in the future, got {rfc3339(moment)}; delete_memory deletes it now")
    return moment


def _shortened_record(memory: Memory) -> Result:
    """Convert a memory to the tool's result. Long content is cut, and long metadata is left out."""
    record = vars(MemoryRecord.model_validate(memory))
    cut: dict[str, object] = {}
    if len(memory.content) > ECHOED_CHARACTERS:
        cut["content"] = memory.content[:ECHOED_CHARACTERS]
    if len(json.dumps(memory.metadata)) > ECHOED_CHARACTERS:
        cut["metadata"] = None
    return RecordOrIds(**record | cut, truncated=True if cut else None)


TAGGED_AT_ONCE = 200
"""Maximum number of memories whose tags one call of `change_tag` changes. The number is low because each changed memory
is indexed again."""


class ChangeTagArguments(Input):
    """A tag to replace or remove in all memories that have it."""

    tag: Annotated[Tag, Field(min_length=1, description="The tag; case is ignored.")]
    to: Annotated[VisibleTag | None, Field(min_length=1, description="The tag to put in its place.")] = None
    delete: Annotated[bool, Field(description="Remove the tag instead.")] = False

    @model_validator(mode="after")
    def _check_one_change(self) -> Self:
        if (self.to is None) == (not self.delete):
            raise ValueError("give either to or delete=true")
        return self


class ChangedTagResult(Result):
    """Number of changed memories, and number of memories that still have the old tag.

    One call changes at most TAGGED_AT_ONCE memories, so a caller may have to call again.
    """

    changed: int
    remaining: int


@tool(
    title="Rename or delete a tag",
    description="Replace a tag by another one, or remove it, in all memories; a part of them with each call.",
    result=ChangedTagResult,
    units=lambda arguments: rate_limit.MEMORY * TAGGED_AT_ONCE,
    destructive=True,
)
def change_tag(arguments: ChangeTagArguments, principal: Principal, services: Services) -> Reply:
    new_tag = None if arguments.to is None else one_line(arguments.to).strip()
    result = services.memories_of(principal.namespace).change_tag(arguments.tag, new_tag, TAGGED_AT_ONCE)
    return Reply(ChangedTagResult(changed=result.changed, remaining=result.remaining), has_stored_text=False)
