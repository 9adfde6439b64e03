"""Prompts that people choose: what to ask of the memory."""

from collections.abc import Mapping

import mcp_types
from mcp.shared.exceptions import MCPError

LONGEST = 1_000
"""Characters of an argument: it is a topic or a time, not a document."""

_TEXTS = {
    "recall": (
        "What is remembered of something",
        [mcp_types.PromptArgument(name="topic", description="What to recall", required=True)],
        "Look with memory_search for what is remembered of: {topic}\n"
        "Read what matters whole with get_memory. Tell what is known, with dates and the ids of the memories, what "
        "contradicts itself, and what is not known.",
    ),
    "remember": (
        "Keep what matters of this conversation",
        [mcp_types.PromptArgument(name="focus", description="What to keep above all")],
        "Store what matters of this conversation beyond it, with ingest_memories: one memory for each fact, decision "
        "or preference, understandable by itself, with when it happened and a few tags. Look with memory_search "
        "first: where a memory is outdated, store the new one and supersede the old by update_memory. {focus}",
    ),
    "review": (
        "What happened in some time",
        [mcp_types.PromptArgument(name="time", description="In words, such as last week", required=True)],
        "Look with memory_search for what is remembered of this time, by time_expr: {time}\n"
        "Tell what happened in order, what was decided, and what is still open.",
    ),
}


def listed() -> mcp_types.ListPromptsResult:
    """Return all prompts."""
    made = [
        mcp_types.Prompt(name=name, title=title, description=title, arguments=arguments)
        for name, (title, arguments, _) in _TEXTS.items()
    ]
    return mcp_types.ListPromptsResult(prompts=made)


def filled(name: str, arguments: Mapping[str, str]) -> mcp_types.GetPromptResult:
    """Return the prompt with those arguments; raises MCPError."""
    if name not in _TEXTS:
        raise MCPError(mcp_types.INVALID_PARAMS, f"unknown prompt {name[:100]!r}; the prompts are {', '.join(_TEXTS)}")
    title, wanted, text = _TEXTS[name]
    for one in wanted:
        if one.required and not arguments.get(one.name, "").strip():
            raise MCPError(mcp_types.INVALID_PARAMS, f"{one.name} is required")
    given = {one.name: arguments.get(one.name, "").strip()[:LONGEST] for one in wanted}
    # One by one: what is given may have braces of its own.
    for key, value in given.items():
        text = text.replace(f"{{{key}}}", value)
    said = mcp_types.TextContent(type="text", text=text.strip())
    return mcp_types.GetPromptResult(description=title, messages=[mcp_types.PromptMessage(role="user", content=said)])
