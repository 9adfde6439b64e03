"""`similar_memories`: find stored memories about the subject of a text that a person is writing."""

from typing import Annotated

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.confidence import Confidence
from mnemosyne.domain.memory import CONTENT_LIMIT, content_hash
from mnemosyne.domain.parsing import Input, Session, Text
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.search import SearchQuery
from mnemosyne.mcp.record import MemoryLine, brief
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.ports.services import Services
from mnemosyne.service import search

SIMILAR_CHARACTERS = 2_000
"""Characters of a text that are compared."""
SIMILAR_SHOWN = 3


class SimilarArguments(Input):
    """A text that is not stored yet."""

    content: Annotated[Text, Field(min_length=1, max_length=CONTENT_LIMIT, description="The text.")]
    session: Annotated[Session | None, Field(description="The session in which it would be stored.")] = None


class SimilarMemory(MemoryLine):
    """One line about a memory, and how close it is to the text."""

    confidence: Confidence | None


class SimilarResult(Result):
    """The memory with exactly this content, if it exists, and memories about the same subject."""

    same: MemoryLine | None
    similar: list[SimilarMemory]


def _similar_memories(arguments: SimilarArguments, principal: Principal, services: Services) -> Reply:
    same = services.memories_of(principal.namespace).with_content(content_hash(arguments.content, arguments.session))
    query = SearchQuery(query=arguments.content[:SIMILAR_CHARACTERS], limit=SIMILAR_SHOWN + 1, characters=0)
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
    return Reply(SimilarResult(same=same and MemoryLine.of(same), similar=similar[:SIMILAR_SHOWN]))


SIMILAR_MEMORIES = Tool(
    name="similar_memories",
    title="Similar memories",
    description="The memory that has a content already, and memories about the same. Stores nothing.",
    arguments=SimilarArguments,
    result=SimilarResult,
    gives_stored=True,
    units=lambda arguments: rate_limit.SEARCH["hybrid"],
    run=_similar_memories,
    read_only=True,
)
