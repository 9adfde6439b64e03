"""The rule of an argument in words, for an error about it: its place, type, bounds and form. Pure."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from mnemosyne.domain.plurals import counted
from mnemosyne.domain.suggestions import model_at

Location = tuple[int | str, ...]

NAME_CHARACTERS = 80
"""Characters of a caller's own name that an error repeats."""
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


def path(location: Location) -> str:
    """Return an argument's place, such as `memories[1].tags[0]`."""
    written = ""
    for part in location:
        name = part if isinstance(part, int) or len(part) <= NAME_CHARACTERS else f"{part[:NAME_CHARACTERS]}…"
        written += f"[{name}]" if isinstance(name, int) else f".{name}" if written else name
    return written


def wanted(kind: str, model: type[BaseModel], location: Location) -> str:
    """Return the type that an argument must have, with bounds or an example; empty for another kind of error."""
    if kind in ("list_type", "model_type", "model_attributes_type"):
        example: str = getattr(_element(model, location), "example", "")
        if kind != "list_type":
            return f"an object{example and f' such as {example}'}"
        if example:
            return f"an array of objects such as [{example}]"
        return "an array of ids" if str(location[-1]).endswith("ids") else 'an array of strings such as ["a", "b"]'
    if kind in ("int_type", "int_from_float", "float_type") and (bounds := _bounds(model, location)):
        return f"{_TYPES[kind]} {_between(bounds)}"
    return _TYPES.get(kind, "")


def reason_of(reason: str, model: type[BaseModel], location: Location) -> str:
    """Return a validator's reason after its place; a reason about an element's field begins with the field."""
    if not location:
        return reason
    element = _element(model, location) if isinstance(location[-1], int) else None
    is_field = element is not None and reason.split(" ", 1)[0] in element.model_fields
    return f"{path(location)}{'.' if is_field else ' '}{reason}"


def size(context: Mapping[str, Any], unit: str) -> str:
    """Return the rule of a length, such as `at most 100 items`."""
    if "max_length" in context:
        return f"at most {counted(context['max_length'], unit)}"
    return f"at least {counted(context['min_length'], unit)}"


def between(model: type[BaseModel], location: Location, context: Mapping[str, Any]) -> str:
    """Return the rule of a number, with both bounds where there are two."""
    return _between(dict(context) | _bounds(model, location))


def _element(model: type[BaseModel], location: Location) -> type[BaseModel] | None:
    """Return the nested model at that place, itself or as the elements of an array; None if there is none."""
    names = [index for index, part in enumerate(location) if isinstance(part, str)]
    nested = model_at(model, location)
    return nested if names and nested is not model_at(model, location[: names[-1]]) else None


def _bounds(model: type[BaseModel], location: Location) -> dict[str, object]:
    field = model_at(model, location[:-1]).model_fields.get(str(location[-1])) if location else None
    rules = field.metadata if field else ()
    return {name: getattr(rule, name) for rule in rules for name in ("ge", "le") if hasattr(rule, name)}


def _between(bounds: Mapping[str, object]) -> str:
    if "ge" in bounds and "le" in bounds:
        return f"between {bounds['ge']} and {bounds['le']}"
    return f"at least {bounds['ge']}" if "ge" in bounds else f"at most {bounds['le']}"
