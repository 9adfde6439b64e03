"""`retrieve_memories`: recall the memories that answer a question, as text to read."""

import re
from typing import Annotated

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.chronicle import INVISIBLE
from mnemosyne.domain.parsing import Text
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.domain.time.question import named_times
from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp.record import SearchHit
from mnemosyne.mcp.tool import Reply, Result, Tool
from mnemosyne.mcp.tools.filters import FilterArguments, Limit, WindowShown
from mnemosyne.mcp.tools.search import QUERY_LENGTH, RESPONSE_CHARACTERS, said_of_cutting, searched, shown
from mnemosyne.ports import Services

# Lines may end in whatever else a reader may take for it.
_ENDS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_SEEN_AS_NOTHING = rf"(?:[^\S{_ENDS}]|{INVISIBLE})*"
_LIKE_A_SEPARATOR = re.compile(
    rf"(?:(?<=[{_ENDS}])|^){_SEEN_AS_NOTHING}-{_SEEN_AS_NOTHING}-{_SEEN_AS_NOTHING}-{_SEEN_AS_NOTHING}\["
)


class RetrieveResponse(Result):
    """The memories recalled, best first."""

    memories: list[SearchHit]
    total: int
    query: str
    window: WindowShown | None = None
    degraded: str | None = None
    truncated: str | None = None


class RetrieveArguments(FilterArguments):
    """What to recall, and within what."""

    query: Annotated[
        Text,
        Field(min_length=1, max_length=QUERY_LENGTH, description="What to recall, in plain words."),
    ]
    limit: Limit = 5
    days_back: Annotated[int | None, Field(ge=1, le=36_500, description="Only the last so many days.")] = None


def _unmistakable(content: str) -> str:
    """Return the content, in which no line can be taken for the one above a memory: such lines begin with a
    backslash.
    """
    return _LIKE_A_SEPARATOR.sub(r"\\\g<0>", content)


def _content(memory: SearchHit) -> str:
    return f"{memory.content}\n… {memory.snippet} …" if memory.snippet else memory.content


def _retrieve_memories(arguments: RetrieveArguments, principal: Principal, services: Services) -> Reply:
    span = arguments.window(services.clock(), days_back=arguments.days_back)
    if not arguments.query.strip():
        raise InvalidRequest("query must contain at least one character that is not white space")
    query = SearchQuery(
        query=arguments.query.strip(),
        mode=SearchMode.HYBRID,
        filters=arguments.filters(span),
        limit=arguments.limit,
        preferred=() if span else named_times(arguments.query, now=services.clock()),
        characters=RESPONSE_CHARACTERS,
    )
    found = searched(query, principal, services)
    memories = [shown(hit) for hit in found.ranking.hits]
    text = "".join(f"--- [{m.id}] [{m.timestamp.date()}] ---\n{_unmistakable(_content(m))}\n" for m in memories)
    result = RetrieveResponse(
        memories=memories,
        total=len(memories),
        query=arguments.query,
        window=WindowShown.of(span, "UTC") if span else None,
        degraded=found.degraded,
        truncated=said_of_cutting(memories, RESPONSE_CHARACTERS),
    )
    text += "".join(f"({said})\n" for said in (found.degraded, result.truncated) if said)
    return Reply(result, text=text or "No memories found.")


RETRIEVE_MEMORIES = Tool(
    name="retrieve_memories",
    title="Recall, as text",
    description=(
        "Recall what answers a question as plain text, best first: each memory under a line `--- [<id>] [<YYYY-MM-DD>] "
        "---`, in UTC. Takes the filters of memory_search."
    ),
    arguments=RetrieveArguments,
    result=RetrieveResponse,
    gives_stored=True,
    units=lambda arguments: rate_limit.SEARCH["hybrid"],
    unlisted=("after", "before", "time_expr", "session", "metadata"),
    run=_retrieve_memories,
    read_only=True,
    idempotent=True,
)
