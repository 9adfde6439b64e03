"""Notes about searches and lists."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.search import MAXIMUM_LIMIT, Hit, SearchQuery, TagMatch
from mnemosyne.mcp.record import MemoryRecord, SearchHit
from mnemosyne.mcp.tools.filters import Window

if TYPE_CHECKING:
    from mnemosyne.mcp.tools.read import ListedMemoryResult

SHOWN_DUPLICATES = 5
"""Maximum number of near-duplicates whose ids are listed for a hit. If there are more, a note has their number."""


def truncation_note(memories: Sequence[SearchHit], budget: int) -> str | None:
    """Return a note about truncated memories, or None if there are none."""
    count = sum(memory.truncated is True for memory in memories)
    if not count:
        return None
    return f"{count} of {len(memories)} memories were cut to fit {budget:,} characters: get_memory returns them whole"


def near_duplicates_note(found_hits: Sequence[Hit]) -> str | None:
    """Return a note about near-duplicates that were left out, or None if there are none."""
    duplicates = [
        f"{_short_list(hit.near_duplicates)} (the same as {hit.id})" for hit in found_hits if hit.near_duplicates
    ]
    left_out = f"Left out, because only white space or a final full stop differs: {'; '.join(duplicates)}"
    return f"{left_out}. get_memory reads each; mode exact lists all." if duplicates else None


def _short_list(ids: Sequence[UUID]) -> str:
    more = len(ids) - SHOWN_DUPLICATES
    return ", ".join(map(str, ids[:SHOWN_DUPLICATES])) + (f" and {more} more" if more > 0 else "")


def window_note(window: Window | None) -> str | None:
    """Return a note with the time that was searched, or None without a filter by time."""
    if window is None:
        return None
    if window.after and window.before:
        return f"Searched from {window.after} to {window.before}."
    return f"Searched from {window.after} on." if window.after else f"Searched up to {window.before}."


def more_note(query: SearchQuery) -> str:
    """Return a note that more memories match than the limit of the search allows.

    The note is for searches without a query and for exact searches, in which every matching memory is a hit.
    """
    filters = query.filters
    higher_limit = "raise limit, or " if query.limit < MAXIMUM_LIMIT else ""
    # list_memories has no arguments for a query, for `as_of` or for another match of tags than `any`.
    if query.query or filters.as_of or filters.tag_match is not TagMatch.ANY:
        return f"There are more: {higher_limit}narrow the search."
    # By default, list_memories includes superseded memories, and a search leaves them out.
    current_only = "" if filters.include_superseded else ", include_superseded false"
    return f"There are more: {higher_limit}page through all with list_memories{current_only} and the same filters."


def successors_note(
    memories: "Sequence[SearchHit | MemoryRecord | ListedMemoryResult]", others: Sequence[str] = ()
) -> str | None:
    """Return a note that names the successors of superseded memories; None without such memories.

    `others` has further sentences about versions, which come first.
    """
    successors = [f"{memory.id} is replaced by {memory.superseded_by}" for memory in memories if memory.superseded_by]
    return f"Versions: {'; '.join([*others, *successors])}." if others or successors else None


def state_note(memories: Sequence[SearchHit | MemoryRecord]) -> str | None:
    """Return a note about memories that expire, supersede others or are superseded; None without such memories."""
    versions = [
        f"{memory.id} replaces {', '.join(map(str, memory.supersedes))}" for memory in memories if memory.supersedes
    ]
    expiring = [f"{memory.id} expires at {rfc3339(memory.expires_at)}" for memory in memories if memory.expires_at]
    expiry = f"Expiry: {'; '.join(expiring)}." if expiring else None
    return " ".join(filter(None, (successors_note(memories, versions), expiry))) or None
