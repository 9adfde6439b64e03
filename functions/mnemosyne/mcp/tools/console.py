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
from mnemosyne.mcp.record import MemoryLine, brief
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.mcp.tools.audit import LIST_AUDIT
from mnemosyne.mcp.tools.console_queries import MEMORY_FACETS, MEMORY_HISTORY, MEMORY_TIMELINE
from mnemosyne.mcp.tools.forget import FORGET_MEMORIES
from mnemosyne.mcp.tools.operate import DROP_DEAD_LETTERS, LIST_DEAD_LETTERS, LIST_REQUESTS, REDRIVE
from mnemosyne.mcp.tools.transfer import EXPORT_MEMORIES, IMPORT_MEMORIES
from mnemosyne.mcp.tools.update import CHANGE_TAG
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


def _similar_memories(arguments: SimilarArguments, principal: Principal, services: Services) -> Reply:
    same = services.memories_of(principal.namespace).with_content(content_hash(arguments.content, arguments.session))
    query = SearchQuery(query=arguments.content[:SIMILAR_CHARACTERS], limit=SIMILAR_LIMIT + 1, characters=0)
    hits = search.search(
        query,
        memories=services.memories_of(principal.namespace),
        embedder=services.embedder,
        reranker=None,
    ).hits
    similar = [
        SimilarMemory(id=hit.id, timestamp=hit.timestamp, title=brief(hit.title, ())[0], confidence=hit.confidence)
        for hit in hits
        if (same is None or hit.id != same.id) and hit.confidence is not Confidence.WEAK
    ]
    return Reply(SimilarResult(same=same and MemoryLine.of(same), similar=similar[:SIMILAR_LIMIT]))


SIMILAR_MEMORIES = Tool(
    name="similar_memories",
    title="Similar memories",
    description="The memory that has a content already, and memories about the same. Stores nothing.",
    arguments=SimilarArguments,
    result=SimilarResult,
    returns_stored_text=True,
    units=lambda arguments: rate_limit.SEARCH["hybrid"],
    run=_similar_memories,
    read_only=True,
)


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


def _who_am_i(arguments: NoArguments, principal: Principal, services: Services) -> Reply:
    scopes = [scope.value for scope in Scope if principal.may(scope)]
    name = principal.name or principal.id
    return Reply(Credential(**vars(principal) | {"scopes": scopes, "name": name}, kind=principal.kind))


WHO_AM_I = Tool(
    name="who_am_i",
    title="The caller",
    description="The namespace and scopes of the caller, and the name, kind and expiry of its credential.",
    arguments=NoArguments,
    result=Credential,
    run=_who_am_i,
    read_only=True,
    needs_scope=False,
    needs_database=False,
)


CONSOLE_TOOLS: tuple[Tool[Any], ...] = (
    MEMORY_TIMELINE,
    MEMORY_FACETS,
    MEMORY_HISTORY,
    LIST_REQUESTS,
    LIST_DEAD_LETTERS,
    REDRIVE,
    DROP_DEAD_LETTERS,
    FORGET_MEMORIES,
    IMPORT_MEMORIES,
    EXPORT_MEMORIES,
    CHANGE_TAG,
    WHO_AM_I,
    SIMILAR_MEMORIES,
    LIST_AUDIT,
)
"""Tools that are listed only on request (`CONSOLE_META`). Agents do not need these tools, and each listed tool costs
tokens."""
