"""Suggest the correct name for an unknown tool or argument. Pure."""

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel

CLOSE = 0.7
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
NAME_LENGTH = 60
SYNONYMS: dict[str, tuple[str, ...]] = {
    "query": ("q", "text", "search", "question", "content", "prompt", "keywords", "search_query"),
    "content": ("text", "memory", "body", "fact", "note", "message", "data"),
    "memories": ("items", "documents", "contents", "texts", "entries"),
    "id": ("memory_id", "uuid", "memory", "doc_id", "document_id"),
    "request_ids": ("ids", "id", "requests"),
    "n_results": ("limit", "k", "top_k", "n", "count", "max_results", "num_results"),
    "path": ("key", "field", "name"),
    "values": ("value",),
    "op": ("operator",),
    "timezone": ("tz", "time_zone"),
    "limit": ("n_results", "top_k", "k", "count", "n", "max_results", "num_results", "size", "page_size"),
    "tags": ("labels", "tag", "categories", "category", "keywords"),
    "timestamp": ("date", "time", "when", "created_at", "datetime", "occurred_at"),
    "time_expr": ("when", "time", "period", "timeframe", "date", "time_range"),
    "after": ("since", "start_date", "start", "from", "date_from"),
    "before": ("until", "end_date", "end", "to", "date_to"),
    "metadata": ("filter", "filters", "where", "meta", "properties"),
    "session": ("session_id", "conversation", "conversation_id", "thread", "thread_id"),
    "cursor": ("page", "offset", "next_cursor", "page_token"),
    "superseded_by": ("replaced_by", "successor", "superseded"),
    "rating": ("score", "value", "vote", "feedback"),
    "ingest_memory": ("remember", "save", "store", "add", "add_memory", "save_memory", "store_memory", "create_memory",
                      "write_memory", "memory_store", "memory_add", "memorize", "add_memories"),
    "memory_search": ("recall", "query", "find", "find_memories", "search_memory", "search_memories", "query_memory",
                      "recall_memories", "memory_query", "semantic_search"),
    "get_memory": ("read", "read_memory", "memory_get", "get"),
    "list_memories": ("list", "list_memory", "memory_list", "recent_memories", "get_all_memories"),
    "delete_memory": ("forget", "forget_memory", "remove_memory", "memory_delete", "delete", "delete_memories"),
    "update_memory": ("edit_memory", "change_memory", "modify_memory", "memory_update", "update"),
    "rate_memory": ("rate", "vote", "feedback", "memory_rate"),
    "memory_stats": ("stats", "statistics", "get_stats", "count_memories"),
    "ingest_status": ("status", "get_status", "check_status", "request_status"),
}  # fmt: skip
"""Names that other memory servers and search APIs use for these tools and arguments."""


def misnamed(name: str, known_names: Collection[str]) -> str | None:
    """Return the known name that the caller probably meant; None if none is similar."""
    spelt = _HUMP.sub("_", name[:NAME_LENGTH].strip()).lower()
    spelt_plainly = re.sub(r"[^a-z0-9]+", "_", spelt).strip("_")
    suffixes = (name_ for name_ in known_names if spelt_plainly.endswith(f"_{name_}") and "__" in spelt)
    if suffix := max(suffixes, key=len, default=None):
        return suffix  # some clients prefix tools with the server's name: mcp__mnemosyne__get_memory
    for suggestion, synonyms in SYNONYMS.items():
        if suggestion in known_names and spelt_plainly in synonyms:
            return suggestion
    return next(iter(get_close_matches(spelt_plainly, known_names, n=1, cutoff=CLOSE)), None)


def model_at(model: type[BaseModel], location: Sequence[int | str]) -> type[BaseModel]:
    """Return the model of the object at a location in the arguments."""
    for part in location:
        if isinstance(part, str) and (field := model.model_fields.get(part)):
            model = next(_models(field.annotation), model)
    return model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
