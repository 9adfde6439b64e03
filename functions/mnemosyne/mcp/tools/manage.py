"""`get_memory`, `list_memories` and `delete_memory`."""

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field

from mnemosyne.domain.memory import Memory
from mnemosyne.domain.parsing import Id, Input, Tags, Text
from mnemosyne.domain.search import Filters
from mnemosyne.domain.time_window import bounds
from mnemosyne.mcp.tool import Caller, Reply, Result, Services, Tool
from mnemosyne.service import manage

AFTER = "Only what happened at or after this: YYYY-MM-DD (from the start of that day, UTC) or RFC 3339."
BEFORE = "Only what happened at or before this: YYYY-MM-DD (to the end of that day, UTC) or RFC 3339."


class GetArguments(Input):
    """Which memory."""

    id: Annotated[Id, Field(description="The memory's id, as search and list answer it.")]


class MemoryRecord(Result):
    """One memory, whole."""

    id: UUID
    timestamp: datetime
    title: str
    content: str
    tags: list[str]
    metadata: dict[str, Any]
    content_hash: str
    embedding_model: str
    created_at: datetime
    last_seen_at: datetime

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """The memory as answered."""
        return cls(
            id=memory.id,
            timestamp=memory.timestamp,
            title=memory.title,
            content=memory.content,
            tags=list(memory.tags),
            metadata=dict(memory.metadata),
            content_hash=memory.content_hash,
            embedding_model=memory.embedding_model,
            created_at=memory.created_at,
            last_seen_at=memory.last_seen_at,
        )


def _get_memory(arguments: GetArguments, caller: Caller, services: Services) -> Reply:
    memory = manage.get(caller.namespace, arguments.id, memories=services.memories)
    return Reply(MemoryRecord.of(memory), text=memory.content)


GET_MEMORY = Tool(
    name="get_memory",
    title="Read a memory",
    description=(
        "One memory in full by its id: the text is the content verbatim, the structured result the whole record. "
        "An id that names nothing is an error."
    ),
    arguments=GetArguments,
    result=MemoryRecord,
    run=_get_memory,
    read_only=True,
    idempotent=True,
)


class ListArguments(Input):
    """Which memories to list."""

    limit: Annotated[int, Field(ge=1, le=100, description="How many, 1 to 100.")] = 10
    tags: Annotated[Tags | None, Field(description="Only memories with any of these tags; case is ignored.")] = None
    after: Annotated[Text | None, Field(description=AFTER)] = None
    before: Annotated[Text | None, Field(description=BEFORE)] = None


class ListedMemory(Result):
    """One line of the list."""

    id: UUID
    timestamp: datetime
    title: str
    tags: list[str]


class Listing(Result):
    """The newest memories, newest first."""

    memories: list[ListedMemory]


def _list_memories(arguments: ListArguments, caller: Caller, services: Services) -> Reply:
    window = bounds(arguments.after, arguments.before)
    filters = Filters(after=window.after, before=window.before, tags=tuple(arguments.tags or ()))
    heads = manage.newest(caller.namespace, filters, arguments.limit, memories=services.memories)
    return Reply(
        Listing(
            memories=[
                ListedMemory(id=head.id, timestamp=head.timestamp, title=head.title, tags=list(head.tags))
                for head in heads
            ]
        )
    )


LIST_MEMORIES = Tool(
    name="list_memories",
    title="Latest memories",
    description=(
        "The newest memories by when they happened: id, timestamp, title and tags, without contents. Use it to "
        "look around; use memory_search to find something."
    ),
    arguments=ListArguments,
    result=Listing,
    run=_list_memories,
    read_only=True,
    idempotent=True,
)


class DeleteArguments(Input):
    """Which memory to delete."""

    id: Annotated[Id, Field(description="The memory's id.")]


class Deleted(Result):
    """The memory that is no more."""

    id: UUID
    title: str
    deleted: bool = True


def _delete_memory(arguments: DeleteArguments, caller: Caller, services: Services) -> Reply:
    title = manage.delete(caller.namespace, arguments.id, memories=services.memories)
    return Reply(Deleted(id=arguments.id, title=title), text=f"Deleted memory {arguments.id}: {title}")


DELETE_MEMORY = Tool(
    name="delete_memory",
    title="Forget a memory",
    description=(
        "Delete one memory for good, by its id. There is no undo. An id that names nothing is an error, and "
        "nothing is deleted."
    ),
    arguments=DeleteArguments,
    result=Deleted,
    run=_delete_memory,
    destructive=True,
)
