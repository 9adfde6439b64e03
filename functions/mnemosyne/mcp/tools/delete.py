"""`delete_memory`: delete one memory, several memories, or all versions of a record."""

from collections.abc import Sequence
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field, model_validator

from mnemosyne.domain import rate_limit
from mnemosyne.domain.memory import Deletion, ExternalId, IngestState
from mnemosyne.domain.memory_input import OptionalKey
from mnemosyne.domain.parsing import Id, Ids, Input, Source
from mnemosyne.domain.plurals import quantity
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.errors import Conflict, NotFound
from mnemosyne.ids import deletion_id
from mnemosyne.mcp.tool import Reply, Result, Tool, tool
from mnemosyne.mcp.tools.read import read_memory
from mnemosyne.mcp.tools.update import NO_SUCCESSOR
from mnemosyne.ports.services import Services


class DeleteArguments(Input):
    """The memories or the record to delete."""

    instead = dict.fromkeys(("query", "content"), "find the memory with memory_search and give its id")

    id: Annotated[Id | None, Field(description="Its id.")] = None
    source: Annotated[Source | None, Field(description="With key instead of id: the record's source.")] = None
    key: OptionalKey = Field(None, description="Name of the record in the source.")
    ids: Annotated[Ids | None, Field(description="Instead of id: the ids of several memories.")] = None

    @model_validator(mode="after")
    def _check_one_selection(self) -> Self:
        names = sum(name is not None for name in (self.id, self.key, self.ids))
        if (self.source is None) != (self.key is None) or names != 1:
            raise ValueError("give one of these: id, ids, or source and key together")
        return self

    @property
    def record(self) -> ExternalId:
        """The record that `source` and `key` identify, for calls without an id."""
        return ExternalId(self.source or "", self.key or "")


class Deleted(Result):
    """Result of deleting one memory, or all versions of a record.

    For a record, `id` is the id of the memory that was the record's current version, and `memories` is the number of
    deleted memories. `note` has the ids of memories that were kept, because each of them is also the current version of
    another record.
    """

    id: UUID | None = None
    title: str | None = None
    request_id: UUID | None = None
    deleted: bool = True
    memories: int | None = None
    still_superseded: list[UUID] | None = None
    note: str | None = None


class DeletedMemories(Result):
    """Number and ids of the deleted memories, and the given ids that belong to no memory.

    `still_superseded` has memories that the deleted memories had superseded. Searches still leave out these memories.
    """

    deleted: int
    ids: list[UUID]
    missing: list[UUID]
    still_superseded: list[UUID] | None = None


class Question(Result):
    """Question that the user confirms before a memory is deleted."""

    question: str


def _build_question(arguments: DeleteArguments, principal: Principal, services: Services) -> Reply:
    if arguments.ids is not None:
        what = quantity(len(arguments.ids), "memory", "memories")
    elif arguments.id is None:
        what = f"all versions of record {arguments.key} of {arguments.source}"
    else:
        memory = read_memory(arguments.id, services.memories_of(principal.namespace))
        what = f"memory {arguments.id}{f' ({memory.title})' if principal.may(Scope.READ) else ''}"
    return Reply(Question(question=f"Delete {what} for good?"))


ASK_BEFORE_DELETING = Tool(
    name="delete_memory",
    title="",
    description="",
    arguments=DeleteArguments,
    result=Question,
    run=_build_question,
    read_only=True,
)


@tool(
    title="Delete a memory",
    description="Delete one memory for good. Supersede an outdated one with update_memory.",
    result=Deleted,
    units=rate_limit.cost_of_changes,
    unlisted=("source", "key", "ids"),
    asks_first=ASK_BEFORE_DELETING,
    destructive=True,
)
def delete_memory(arguments: DeleteArguments, principal: Principal, services: Services) -> Reply:
    if arguments.ids is not None:
        return _delete_many(arguments.ids, principal, services)
    if arguments.id is None:
        return _delete_record(arguments.record, principal, services)
    memory = services.memories_of(principal.namespace).delete(arguments.id)
    if memory is None:
        raise NotFound(f"no memory has the id {arguments.id}; nothing was deleted")
    if not principal.may(Scope.READ):
        return Reply(Deleted(id=arguments.id), text=f"Deleted memory {arguments.id}", has_stored_text=False)
    notes: tuple[str, ...] = ()
    if memory.superseded:
        superseded_ids = ", ".join(map(str, memory.superseded))
        notes = (
            f"It had superseded {superseded_ids}, which searches still leave out: update_memory with superseded_by "
            f'"{NO_SUCCESSOR}" brings one back.',
        )
    deleted = Deleted(id=arguments.id, title=memory.title, still_superseded=list(memory.superseded) or None)
    return Reply(deleted, text=f"Deleted memory {arguments.id}: {memory.title}", notes=notes)


def _delete_many(ids: Sequence[UUID], principal: Principal, services: Services) -> Reply:
    deleted = services.memories_of(principal.namespace).delete_many(ids)
    missing = [memory_id for memory_id in ids if memory_id not in deleted.ids]
    superseded = list(deleted.superseded) if principal.may(Scope.READ) else []
    ids, count = list(deleted.ids), len(deleted.ids)
    result = DeletedMemories(deleted=count, ids=ids, missing=missing, still_superseded=superseded or None)
    return Reply(result, has_stored_text=False)


def _delete_record(external_id: ExternalId, principal: Principal, services: Services) -> Reply:
    now = services.clock()
    request_id = deletion_id(external_id.source, external_id.key, now)
    deletion = Deletion(request_id=request_id, external_id=external_id, timestamp=now, published=now)
    deleted = services.memories_of(principal.namespace).delete_records([deletion])
    outcome = deleted.outcomes[request_id]
    if outcome.state is IngestState.FAILED:
        raise Conflict(outcome.error)
    text = "The record has no current version."
    if deleted.memories or outcome.note:
        text = f"Deleted all versions of the record. Deleted memories: {deleted.memories:,}."
    return Reply(
        Deleted(id=outcome.memory_id, request_id=outcome.request_id, memories=deleted.memories, note=outcome.note),
        text=f"{text} Versions that were published before now will not be stored.",
        notes=(outcome.note,) if outcome.note else (),
        has_stored_text=False,
    )
