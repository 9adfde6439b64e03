"""`recall_for_hook`: find memories about a user's prompt, for a hook of a coding agent.

The coding agent runs the hook at each prompt. A hook of type `mcp_tool` uses the text of the tool's answer as its
output, and adds the text's field `hookSpecificOutput.additionalContext` to the model's context:
https://code.claude.com/docs/en/hooks#mcp-tool-hook-fields
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from mnemosyne.domain import rate_limit
from mnemosyne.domain.confidence import Confidence
from mnemosyne.domain.event_time import zone
from mnemosyne.domain.matches import unseparated_parts
from mnemosyne.domain.parsing import Input, Session, Text
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.search import HYBRID_QUALITY_WEIGHT, Filters, Hit, SearchMode, SearchQuery
from mnemosyne.domain.time.question import named_times
from mnemosyne.domain.time.window import TimeWindow
from mnemosyne.mcp import hits
from mnemosyne.mcp.record import SearchHit
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.mcp.tools.notes import near_duplicates_note, state_note
from mnemosyne.mcp.tools.search import QUERY_LENGTH, RESPONSE_CHARACTERS, run_search, search_hits
from mnemosyne.ports.services import Services

RECALLED = 5
"""Maximum number of memories in an answer. Their text has up to 2,100 characters, about a thousand tokens."""
CONSIDERED = 2 * RECALLED
"""Number of hits of the search. The number is higher than the number of returned memories, because some hits may be too
weak."""
WORDS = 2
"""Minimum number of words of a prompt. Shorter prompts, such as "yes", "continue" and commands, are not searched
for. A prompt with two adjacent characters of a script without spaces is searched for, because it can have several
words."""
_BETWEEN_WORDS = re.compile(r"[\s\u0f0b]+")
"""Spaces, and the mark after a Tibetan syllable."""
LONGEST_PERIOD = timedelta(days=31, hours=1)
"""Maximum length of a period whose memories are recalled if the prompt names the period. This is the length of the
longest month, including the hour that is added when clocks are set back."""


class HookArguments(Input):
    """The user's prompt, the session in which it was written, and options."""

    prompt: Annotated[Text, Field(description="The prompt; only its first 10,000 characters are used.")]
    session: Annotated[Session | None, Field(description="Nothing of this session is recalled.")] = None
    timezone: Annotated[Text, Field(description="IANA name; else UTC.")] = "UTC"
    min_confidence: Confidence = Field(
        Confidence.RELATED,
        strict=False,
        description="A weaker hit is recalled only if another hit of its session has this confidence, or if it is of "
        "the days that the prompt names.",
    )


class HookContext(Result):
    """Text that the hook adds to the model's context."""

    hookEventName: Literal["UserPromptSubmit"] = "UserPromptSubmit"  # noqa: N815 - the name that hooks require
    additionalContext: str  # noqa: N815


class HookOutput(Result):
    """Output of the hook; empty if there are no hits."""

    hookSpecificOutput: HookContext | None = None  # noqa: N815


@tool(
    title="Recall for a hook",
    description="memory_search as hooks of coding agents call it: context for the model.",
    result=HookOutput,
    units=lambda arguments: rate_limit.SEARCH["hybrid"],
    read_only=True,
)
def recall_for_hook(arguments: HookArguments, principal: Principal, services: Services) -> Reply:
    text = arguments.prompt.strip()[:QUERY_LENGTH]
    zone(arguments.timezone)
    if len(_BETWEEN_WORDS.split(text)) < WORDS and not unseparated_parts(text):
        return Reply(HookOutput(), has_stored_text=False)
    query = SearchQuery(
        query=text,
        mode=SearchMode.HYBRID,
        # Leave out memories of the prompt's session, because the model already knows this session.
        filters=Filters(not_session=arguments.session),
        limit=CONSIDERED,
        quality_weight=HYBRID_QUALITY_WEIGHT,
        preferred=named_times(text, now=services.clock(), timezone=arguments.timezone),
        characters=RESPONSE_CHARACTERS,
        # If none of the best candidates is close enough, the search puts closer candidates of lower rank before them.
        # Otherwise weak hits, for example from one long session, could fill the limit.
        wanted_confidence=arguments.min_confidence,
    )
    result = run_search(query, principal, services)
    close = _close_hits(result.hits, arguments.min_confidence)
    recalled = [hit for hit in result.hits if hit in close or _is_of_named_days(hit, query.preferred)][:RECALLED]
    memories = search_hits(recalled, RESPONSE_CHARACTERS)
    context = _build_context(memories, text, near_duplicates_note(recalled), state_note(memories))
    # `has_stored_text` is false, because the context already ends with the notice on stored text.
    return Reply(HookOutput(hookSpecificOutput=context), has_stored_text=False)


def _is_of_named_days(hit: Hit, windows: Sequence[TimeWindow]) -> bool:
    """Whether a hit is from a period of at most a month that the prompt names. Such a hit is used even if it is weak.

    For the prompt "What did we decide yesterday?", the decisions of yesterday are weak hits, because the confidence
    does not consider times.
    """
    return any(
        window.contains(hit.timestamp)
        and window.after is not None
        and window.before is not None
        and window.before - window.after <= LONGEST_PERIOD
        for window in windows
    )


def _close_hits(candidates: Sequence[Hit], minimum: Confidence) -> list[Hit]:
    """Return the hits that reach the minimum confidence, and the other hits of the same sessions.

    For example, the reply "Yes, in June" shares few words with the query. The reply is kept if the question before it,
    in the same session, is close to the query.
    """
    close = {hit.id for hit in candidates if hit.confidence and hit.confidence.at_least(minimum)}
    sessions = {hit.session for hit in candidates if hit.session and hit.id in close}
    return [hit for hit in candidates if hit.id in close or hit.session in sessions]


def _build_context(memories: list[SearchHit], query: str, *notes: str | None) -> HookContext | None:
    if not memories:
        return None
    text = hits.passages(memories, query)
    notice = "\n".join(filter(None, (hits.stored_text_notice(text), *notes)))
    return HookContext(additionalContext=f"From long-term memory:\n{text}{notice}")
