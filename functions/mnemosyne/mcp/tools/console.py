"""The list of the console's tools, and the tools `who_am_i` and `similar_memories`.

This module is imported at first use, to keep cold starts short.
"""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.confidence import Confidence
from mnemosyne.domain.memory import CONTENT_LIMIT, content_hash
from mnemosyne.domain.parsing import Input, Session, Text
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.domain.search import SearchQuery
from mnemosyne.mcp.record import MemoryLine
from mnemosyne.mcp.tool import Reply, Result, Tool, tool
from mnemosyne.mcp.tools.audit import list_audit
from mnemosyne.mcp.tools.console_queries import memory_facets, memory_history, memory_timeline
from mnemosyne.mcp.tools.forget import forget_memories
from mnemosyne.mcp.tools.operate import drop_dead_letters, list_dead_letters, list_requests, redrive
from mnemosyne.mcp.tools.transfer import export_memories, import_memories
from mnemosyne.mcp.tools.update import change_tag
from mnemosyne.ports.services import Services
from mnemosyne.service import search

SIMILAR_CHARACTERS = 2_000
"""Number of characters of the new text that are compared with the memories. The rest is ignored."""
SIMILAR_LIMIT = 3


class SimilarArguments(Input):
    """A new text, to be compared with the stored memories."""

    content: Annotated[Text, Field(min_length=1, max_length=CONTENT_LIMIT, description="The text.")]
    session: Annotated[Session | None, Field(description="The session in which it would be stored.")] = None


class SimilarMemory(MemoryLine):
    """One line about a memory, and how close the memory is to the given text."""

    confidence: Confidence | None


class SimilarResult(Result):
    """The memory with exactly this content, if it exists, and memories about the same subject."""

    same: MemoryLine | None
    similar: list[SimilarMemory]


@tool(
    title="Similar memories",
    description="The memory that has a content already, and memories about the same. Stores nothing.",
    result=SimilarResult,
    units=lambda arguments: rate_limit.SEARCH["hybrid"],
    read_only=True,
)
def similar_memories(arguments: SimilarArguments, principal: Principal, services: Services) -> Reply:
    memories = services.memories_of(principal.namespace)
    same = memories.with_content(content_hash(arguments.content, arguments.session))
    query = SearchQuery(query=arguments.content[:SIMILAR_CHARACTERS], limit=SIMILAR_LIMIT + 1, characters=0)
    hits = search.search(query, memories=memories, embedder=services.embedder, reranker=None).hits
    similar = [hit for hit in hits if not (same and hit.id == same.id) and hit.confidence is not Confidence.WEAK]
    result = SimilarResult.model_validate({"same": same, "similar": similar[:SIMILAR_LIMIT]})
    return Reply(result, has_stored_text=bool(same or similar))


class NoArguments(Input):
    """No arguments."""


class Credential(Result):
    """The namespace and scopes of the caller, and the name, kind, expiry and last use of the credential."""

    namespace: str
    scopes: list[str]
    name: str
    kind: str
    expires_at: datetime | None
    last_used_at: datetime | None = None


@tool(
    title="The caller",
    description="The namespace and scopes of the caller, and the name, kind and expiry of its credential.",
    result=Credential,
    read_only=True,
    needs_scope=False,
    needs_database=False,
)
def who_am_i(arguments: NoArguments, principal: Principal, services: Services) -> Reply:
    scopes = [scope.value for scope in Scope if principal.may(scope)]
    name = principal.name or principal.id
    credential = Credential(**vars(principal) | {"scopes": scopes, "name": name}, kind=principal.kind)
    return Reply(credential, has_stored_text=False)


CONSOLE_TOOLS: tuple[Tool[Any], ...] = (
    memory_timeline,
    memory_facets,
    memory_history,
    list_requests,
    list_dead_letters,
    redrive,
    drop_dead_letters,
    forget_memories,
    import_memories,
    export_memories,
    change_tag,
    who_am_i,
    similar_memories,
    list_audit,
)
"""Tools that are listed only on request (`CONSOLE_META`). Agents do not need these tools, and each listed tool costs
tokens."""
