"""Describe the location, type and bounds of an argument in errors, and suggest a name for an unknown argument. Pure."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from mnemosyne.domain.plurals import quantity

Location = tuple[int | str, ...]

NAME_CHARACTERS = 80
"""Maximum characters of an argument's name in an error message."""
_TYPES = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": 'an object such as {"name": "value"}',
    "is_instance_of": "a UUID as a string",
    "datetime_type": "an RFC 3339 string",
    "uuid_type": "a UUID as a string",
    "finite_number": "a finite number",
}


_MEMBERS = {"str": "a string", "int": "an integer", "float": "a number"}
"""Descriptions of the simple types in a union type, for errors. Other types in a union are described by their names."""


def path(location: Location) -> str:
    """Return the location of an argument as text, such as `memories[1].tags[0]`."""
    text = ""
    for part in location:
        name = part if isinstance(part, int) or len(part) <= NAME_CHARACTERS else f"{part[:NAME_CHARACTERS]}…"
        text += f"[{name}]" if isinstance(name, int) else f".{name}" if text else name
    return text


def problem_key(error: ErrorDetails) -> tuple[object, ...]:
    """Return a key by which `parse` groups errors. The same mistake in several items of a list has the same key."""
    names = tuple(part for part in error["loc"] if isinstance(part, str))
    reason = str(error["ctx"]["error"]) if error["type"] == "value_error" else ""
    return error["type"], names, reason.partition(", got ")[0]


def join_unions(errors: Iterable[ErrorDetails], model: type[BaseModel], data: object) -> Iterator[ErrorDetails]:
    """Join all errors about a value whose type is a union, such as `str | int`, to one error.

    If a value matches no type of the union, pydantic returns an error for each of these types. The location of such an
    error contains the name of the type, which is neither in the data nor a field of the model.
    """
    unions: dict[Location, dict[str, ErrorDetails]] = {}
    for error in errors:
        place, value = _existing_location(error["loc"], data)
        member = next(iter(error["loc"][len(place) :]), None)
        is_absent = error["type"] == "missing" and len(place) == len(error["loc"]) - 1
        may_be_union = isinstance(member, str) and member != "[key]" and not is_absent
        if may_be_union and member not in model_at(model, place).model_fields:
            rule = _MEMBERS.get(str(member), str(member))
            unions.setdefault(place, {})[rule] = {**error, "type": "union", "loc": place, "input": value}
        else:
            yield error
    for members in unions.values():
        (*_, error), names = members.values(), list(members)
        yield {**error, "ctx": {"expected": " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))}}


def _existing_location(location: Location, data: Any) -> tuple[Location, Any]:
    """Return the longest beginning of the location that exists in the data, and the value at this place in the data."""
    for index, part in enumerate(location):
        try:
            data = data[part]
        except (LookupError, TypeError):
            return location[:index], data
    return location, data


def expected_type(kind: str, model: type[BaseModel], location: Location) -> str:
    """Describe the type that an argument must have, with its bounds or an example, such as `an array of ids`.

    `kind` is pydantic's name of the error, such as `int_type`. The result is empty if the error is not about the type.
    """
    if kind in ("list_type", "model_type", "model_attributes_type"):
        example: str = getattr(_model_of_objects(model, location), "example", "")
        if kind != "list_type":
            return f"an object{example and f' such as {example}'}"
        if example:
            return f"an array of objects such as [{example}]"
        return "an array of ids" if str(location[-1]).endswith("ids") else 'an array of strings such as ["a", "b"]'
    if kind in ("int_type", "int_from_float", "float_type") and (bounds := _find_bounds(model, location)):
        return f"{_TYPES[kind]} {_describe_bounds(bounds)}"
    return _TYPES.get(kind, "")


def reason_of(reason: str, model: type[BaseModel], location: Location) -> str:
    """Put the location of an argument before the message of a validator: `memories[1] must …`.

    If the message itself begins with the name of a field, a dot joins both: `memories[1].tags must …`.
    """
    if not location:
        return reason
    element = _model_of_objects(model, location) if isinstance(location[-1], int) else None
    is_field = element is not None and reason.split(" ", 1)[0] in element.model_fields
    return f"{path(location)}{'.' if is_field else ' '}{reason}"


def size(context: Mapping[str, Any], unit: str) -> str:
    """Describe the minimum or maximum length of a text or list, such as `at most 100 items`."""
    if "max_length" in context:
        return f"at most {quantity(context['max_length'], unit)}"
    return f"at least {quantity(context['min_length'], unit)}"


def between(model: type[BaseModel], location: Location, context: Mapping[str, Any]) -> str:
    """Describe the bounds of a number, such as `between 1 and 100`."""
    return _describe_bounds(dict(context) | _find_bounds(model, location))


def _model_of_objects(model: type[BaseModel], location: Location) -> type[BaseModel] | None:
    """Return the model of the object at a location, or of the objects in the array at the location.

    Return None if the location has neither an object nor an array of objects.
    """
    names = [index for index, part in enumerate(location) if isinstance(part, str)]
    nested = model_at(model, location)
    return nested if names and nested is not model_at(model, location[: names[-1]]) else None


def _find_bounds(model: type[BaseModel], location: Location) -> dict[str, object]:
    field = model_at(model, location[:-1]).model_fields.get(str(location[-1])) if location else None
    rules = field.metadata if field else ()
    return {name: getattr(rule, name) for rule in rules for name in ("ge", "le") if hasattr(rule, name)}


def _describe_bounds(bounds: Mapping[str, object]) -> str:
    if "ge" in bounds and "le" in bounds:
        return f"between {bounds['ge']} and {bounds['le']}"
    return f"at least {bounds['ge']}" if "ge" in bounds else f"at most {bounds['le']}"


CLOSE = 0.8
"""Minimum similarity, from 0 to 1, between an unknown name and the name that an error suggests instead. Two less
similar names, such as `ttl` and `title`, are different words."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
NAME_LENGTH = 60
SYNONYMS: dict[str, tuple[str, ...]] = {
    "query": ("q", "text", "search", "question", "content", "prompt", "keywords", "search_query"),
    "content": ("text", "memory", "body", "fact", "note", "message", "data"),
    "memories": ("items", "documents", "contents", "texts", "entries", "memory"),
    "ids": ("memory_ids", "uuids"),
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
    "ttl": ("expires_in", "expires_after", "lifetime", "time_to_live", "ttl_seconds"),
    "expires_at": ("ttl", "expires", "expiry", "expiration", "expires_on", "expiration_date", "valid_until"),
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
"""For each tool and argument of Mnemosyne, the names that other memory servers and search APIs use for it."""


def closest_name(name: str, known_names: Collection[str]) -> str | None:
    """Return the name among `known_names` that the caller probably meant by `name`; None if none is similar."""
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
    """Return the Pydantic model of a nested object. `location` is the path of the object in the arguments."""
    for part in location:
        if isinstance(part, str) and (field := model.model_fields.get(part)):
            model = next(_nested_models(field.annotation), model)
    return model


def _nested_models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _nested_models(inner)
