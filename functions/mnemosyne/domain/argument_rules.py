"""Describe the rules of an argument (location, type, bounds) for error messages. Pure."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from mnemosyne.domain.plurals import counted
from mnemosyne.domain.suggestions import model_at

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


def path(location: Location) -> str:
    """Return the location as text, such as `memories[1].tags[0]`."""
    text = ""
    for part in location:
        name = part if isinstance(part, int) or len(part) <= NAME_CHARACTERS else f"{part[:NAME_CHARACTERS]}…"
        text += f"[{name}]" if isinstance(name, int) else f".{name}" if text else name
    return text


def expected_type(kind: str, model: type[BaseModel], location: Location) -> str:
    """Return the expected type with bounds or an example; empty if the error is not about the type."""
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
    """Prefix a validator's message with its location. If the message begins with a field's name, join it with a dot."""
    if not location:
        return reason
    element = _element(model, location) if isinstance(location[-1], int) else None
    is_field = element is not None and reason.split(" ", 1)[0] in element.model_fields
    return f"{path(location)}{'.' if is_field else ' '}{reason}"


def size(context: Mapping[str, Any], unit: str) -> str:
    """Describe a limit of length, such as `at most 100 items`."""
    if "max_length" in context:
        return f"at most {counted(context['max_length'], unit)}"
    return f"at least {counted(context['min_length'], unit)}"


def between(model: type[BaseModel], location: Location, context: Mapping[str, Any]) -> str:
    """Describe the bounds of a number, such as `between 1 and 100`."""
    return _between(dict(context) | _bounds(model, location))


def _element(model: type[BaseModel], location: Location) -> type[BaseModel] | None:
    """Return the model at a location, or of the elements of an array there; None if the value is not a model."""
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
