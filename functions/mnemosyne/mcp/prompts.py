"""Prompts that users choose in their client."""

from collections.abc import Mapping

import mcp_types
from mcp.shared.exceptions import MCPError

LONGEST = 1_000
"""Maximum characters of an argument, which is a topic or a time."""

_TEXTS = {
    "recall": (
        "Recall a topic",
        [mcp_types.PromptArgument(name="topic", description="What to recall", required=True)],
        "Search with memory_search for memories about: {topic}\n"
        "Read the important ones with get_memory. Report what is known, with dates and the ids of the memories, what "
        "is contradictory, and what is unknown.",
    ),
    "remember": (
        "Remember this conversation",
        [mcp_types.PromptArgument(name="focus", description="What to keep first of all")],
        "Store what will matter after this conversation, with ingest_memories: one self-contained memory per fact, "
        "decision or preference, with its time and a few tags. Search with memory_search first: if a memory is "
        "outdated, store a new one and supersede the old one with update_memory. {focus}",
    ),
    "review": (
        "Review a period",
        [mcp_types.PromptArgument(name="time", description="In words, such as last week", required=True)],
        "List all memories of this time with list_memories, by time_expr and page by page: {time}\n"
        "Read the important ones with get_memory. Report in order what happened, what was decided, and what is "
        "still open.",
    ),
}


def list_prompts() -> mcp_types.ListPromptsResult:
    """Return all prompts."""
    prompts = [
        mcp_types.Prompt(name=name, title=title, description=title, arguments=arguments)
        for name, (title, arguments, _) in _TEXTS.items()
    ]
    return mcp_types.ListPromptsResult(prompts=prompts)


def fill_prompt(name: str, arguments: Mapping[str, str]) -> mcp_types.GetPromptResult:
    """Return the prompt with its arguments filled in. Raises MCPError."""
    if name not in _TEXTS:
        raise MCPError(mcp_types.INVALID_PARAMS, f"unknown prompt {name[:100]!r}; the prompts are {', '.join(_TEXTS)}")
    title, parameters, text = _TEXTS[name]
    known = [parameter.name for parameter in parameters]
    if unknown := ", ".join(argument[:100] for argument in arguments if argument not in known):
        problem = f"{unknown} is not an argument of {name}, which takes {', '.join(known)}"
        raise MCPError(mcp_types.INVALID_PARAMS, problem)
    for parameter in parameters:
        value = arguments.get(parameter.name, "").strip()
        if parameter.required and not value:
            raise MCPError(mcp_types.INVALID_PARAMS, f"{parameter.name} is required")
        if len(value) > LONGEST:
            problem = f"{parameter.name} must have at most {LONGEST:,} characters, got {len(value):,}"
            raise MCPError(mcp_types.INVALID_PARAMS, problem)
        # str.format cannot be used here, because a value may contain braces.
        text = text.replace(f"{{{parameter.name}}}", value)
    content = mcp_types.TextContent(type="text", text=text.strip())
    message = mcp_types.PromptMessage(role="user", content=content)
    return mcp_types.GetPromptResult(description=title, messages=[message])
