"""`delete_memory`, `update_memory`, `rate_memory` and `memory_stats`: change memories, and count them."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import BeforeValidator, Field, model_validator

from mnemosyne.domain import rate_limit
from mnemosyne.domain.chronicle import unite_tags
from mnemosyne.domain.languages import REMEDY, language_warning
from mnemosyne.domain.memory import NO_TAGS, ExternalId, Memory, MemoryChange
from mnemosyne.domain.parsing import Id, Input, JsonObject, Key, Source, Tags, Text, Title, shown, uuid
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.domain.visible import one_line
from mnemosyne.mcp.record import MemoryRecord, RecordOrIds
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.ports.services import Services
from mnemosyne.service import manage


class DeleteArguments(Input):
    """Which memory or record to delete."""

    instead = {  # noqa: RUF012 - a constant of the class
        **dict.fromkeys(("query", "content"), "find the memory with memory_search and give its id"),
        "ids": "give one id, and call delete_memory for each",
    }

    id: Annotated[Id | None, Field(description="Its id.")] = None
    source: Annotated[Source | None, Field(description="With key instead of id: the record's source.")] = None
    key: Annotated[Key | None, Field(description="What the source calls the record.")] = None

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if (self.source is None) != (self.key is None) or (self.id is None) == (self.key is None):
            raise ValueError("give either id, or source and key together")
        return self

    @property
    def record(self) -> ExternalId:
        """The record, if no id is given."""
        return ExternalId(self.source or "", self.key or "")


class Deleted(Result):
    """The memory that was deleted; of a record, the current version's."""

    id: UUID | None = None
    title: str | None = None
    request_id: UUID | None = None
    deleted: bool = True
    still_superseded: list[UUID] | None = None


class Question(Result):
    """Question that the user confirms before a memory is deleted."""

    question: str


def _ask(arguments: DeleteArguments, principal: Principal, services: Services) -> Reply:
    if arguments.id is None:
        return Reply(
            Question(question=f"Delete all versions of record {arguments.key} of {arguments.source} for good?")
        )
    memory = manage.get(principal.namespace, arguments.id, memories=services.memories)
    title = f" ({memory.title})" if principal.may(Scope.READ) else ""
    return Reply(Question(question=f"Delete memory {arguments.id}{title} for good?"))


def _delete_memory(arguments: DeleteArguments, principal: Principal, services: Services) -> Reply:
    if arguments.id is None:
        return _delete_record(arguments.record, principal, services)
    memory = manage.delete(principal.namespace, arguments.id, memories=services.memories)
    if not principal.may(Scope.READ):
        return Reply(Deleted(id=arguments.id), text=f"Deleted memory {arguments.id}")
    notes: tuple[str, ...] = ()
    if memory.superseded:
        listed = ", ".join(map(str, memory.superseded))
        notes = (
            f"It had superseded {listed}, which searches still leave out: update_memory with superseded_by "
            f'"{NO_SUCCESSOR}" brings one back.',
        )
    deleted = Deleted(id=arguments.id, title=memory.title, still_superseded=list(memory.superseded) or None)
    return Reply(deleted, text=f"Deleted memory {arguments.id}: {memory.title}", notes=notes)


def _delete_record(external_id: ExternalId, principal: Principal, services: Services) -> Reply:
    outcome = manage.delete_by_key(principal.namespace, external_id, memories=services.memories, clock=services.clock)
    text = "Deleted all versions of the record" if outcome.memory_id else "The record has no current version"
    return Reply(
        Deleted(id=outcome.memory_id, request_id=outcome.request_id),
        text=f"{text}. Versions that were published before now will not be stored.",
    )


ASK_BEFORE_DELETING = Tool(
    name="delete_memory",
    title="",
    description="",
    arguments=DeleteArguments,
    result=Question,
    run=_ask,
    read_only=True,
)

DELETE_MEMORY = Tool(
    name="delete_memory",
    title="Forget a memory",
    description="Delete one memory for good. Supersede an outdated one with update_memory.",
    arguments=DeleteArguments,
    result=Deleted,
    gives_stored=True,
    unlisted=("source", "key"),
    run=_delete_memory,
    asks_first=ASK_BEFORE_DELETING,
    destructive=True,
)


def _successor(value: object) -> object:
    if not isinstance(value, str | UUID):
        raise ValueError(f"must be a UUID as a string, or '{NO_SUCCESSOR}', got {shown(value)}")
    return value if value == NO_SUCCESSOR else uuid(value)


NO_SUCCESSOR = "none"
Successor = Annotated[UUID | str, BeforeValidator(_successor, json_schema_input_type=str)]


ECHOED_CHARACTERS = 2_000
"""Of a content, and of metadata, after a change: one who changes a tag need not read a book again."""


class UpdateArguments(Input):
    """What to change about a memory."""

    instead = dict.fromkeys(
        ("content", "text", "new_content", "memory"),
        "a content never changes: store the new one with ingest_memory, then call update_memory with superseded_by, "
        "the new memory's id",
    )

    id: Annotated[Id, Field(description="Its id.")]
    title: Annotated[Title | None, Field(description="The new one.")] = None
    tags: Annotated[Tags | None, Field(description="Instead of all old ones; ['none'] removes them.")] = None
    metadata: Annotated[JsonObject | None, Field(description="A JSON object, instead.")] = None
    superseded_by: Annotated[
        Successor | None,
        Field(description="Id of the memory that replaces it; 'none' takes that back."),
    ] = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.model_fields_set <= {"id"}:
            raise ValueError("give at least one of title, tags, metadata and superseded_by")
        if self.superseded_by == self.id:
            raise ValueError("superseded_by must be the id of another memory")
        return self


def _update_memory(arguments: UpdateArguments, principal: Principal, services: Services) -> Reply:
    successor = arguments.superseded_by
    change = MemoryChange(
        title=None if arguments.title is None else one_line(arguments.title),
        tags=None if arguments.tags is None else unite_tags([tag for tag in arguments.tags if tag != NO_TAGS]),
        metadata=arguments.metadata,
        superseded_by=successor if isinstance(successor, UUID) else None,
        not_superseded=successor == NO_SUCCESSOR,
    )
    memory = manage.update(principal.namespace, arguments.id, change, memories=services.memories)
    if not principal.may(Scope.READ):
        return Reply(RecordOrIds(id=memory.id, superseded_by=memory.superseded_by))
    return Reply(_echoed(memory), text=f"Changed memory {memory.id}: {memory.title}")


def _echoed(memory: Memory) -> Result:
    """Return the record without what did not change or the caller has just said, where that is long."""
    record = vars(MemoryRecord.model_validate(memory))
    cut: dict[str, object] = {}
    if len(memory.content) > ECHOED_CHARACTERS:
        cut["content"] = memory.content[:ECHOED_CHARACTERS]
    if len(json.dumps(memory.metadata)) > ECHOED_CHARACTERS:
        cut["metadata"] = None
    return RecordOrIds(**record | cut, truncated=True if cut else None)


UPDATE_MEMORY = Tool(
    name="update_memory",
    title="Change a memory's labels",
    description=(
        "Change title, tags or metadata, or set superseded_by to the memory_id of one that replaces it: searches then "
        "leave it out. Contents never change."
    ),
    arguments=UpdateArguments,
    result=RecordOrIds,
    gives_stored=True,
    run=_update_memory,
    destructive=True,  # labels are replaced
    idempotent=True,
)


class RateArguments(Input):
    """A judgement of a memory."""

    id: Annotated[Id, Field(description="Its id.")]
    rating: Annotated[int, Field(ge=-1, le=1, description="1 helped, 0 neutral, -1 misled.")]
    reason: Annotated[Text | None, Field(max_length=1000, description="Why.")] = None


class Rated(Result):
    """The memory's quality in [0, 1] before and after."""

    id: UUID
    quality_before: float
    quality_after: float


def _rate_memory(arguments: RateArguments, principal: Principal, services: Services) -> Reply:
    rated = manage.rate(
        principal.namespace, arguments.id, arguments.rating, arguments.reason, memories=services.memories
    )
    return Reply(Rated(id=arguments.id, quality_before=round(rated.before, 6), quality_after=round(rated.after, 6)))


RATE_MEMORY = Tool(
    name="rate_memory",
    title="Rate a memory",
    description="Say whether a memory helped; searches rank by quality. Each call adds a rating.",
    arguments=RateArguments,
    result=Rated,
    unlisted=("reason",),
    run=_rate_memory,
)


TAGS_COUNTED = 20
"""How many of the commonest tags the database counts."""


class StatsArguments(Input):
    """How much to tell."""

    limit: Annotated[int, Field(ge=1, le=TAGS_COUNTED, description="Number of tags.")] = TAGS_COUNTED


class StatsResult(Result):
    """The memory in figures."""

    memories: int
    tags: dict[str, int]
    pending: int
    dead_lettered: int
    dead_letters: int
    oldest: datetime | None
    newest: datetime | None
    embedding_model: str
    embedding_dimension: int
    storage_bytes: int
    languages: dict[str, int]
    warning: str | None = None
    quota: dict[str, int | None]


def _memory_stats(arguments: StatsArguments, principal: Principal, services: Services) -> Reply:
    stats = services.memories.stats(principal.namespace)
    counted = dict(sorted(stats.tags.items(), key=lambda tag: -tag[1])[: arguments.limit])
    languages = services.memories.languages(principal.namespace)
    warning = language_warning(languages, services.memories.embedding_space.provider)
    return Reply(
        StatsResult(
            **asdict(stats) | {"tags": counted},
            languages=dict(languages.memories),
            warning=warning and f"{warning}: {REMEDY}",
            embedding_model=services.memories.embedding_space.model,
            embedding_dimension=services.memories.embedding_space.dimension,
        )
    )


MEMORY_STATS = Tool(
    name="memory_stats",
    title="The memory in figures",
    description="Counts of memories, tags and waiting requests; the quota.",
    arguments=StatsArguments,
    result=StatsResult,
    gives_stored=True,
    units=lambda arguments: rate_limit.COUNTING,
    run=_memory_stats,
    read_only=True,
    idempotent=True,
)
