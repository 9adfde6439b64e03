"""Validate input. Errors name the argument, its value and the values that are allowed. Pure.

The arguments of MCP tools and the memories in published messages must follow the same rules.
"""

import json
import math
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeVar
from uuid import UUID

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from mnemosyne.domain.argument_rules import (
    Location,
    between,
    closest_name,
    expected_type,
    join_unions,
    model_at,
    path,
    problem_key,
    reason_of,
    size,
)
from mnemosyne.domain.chronicle import TAG_COUNT, TAG_LIMIT, TITLE_LIMIT
from mnemosyne.domain.memory import CONTENT_LIMIT
from mnemosyne.domain.metadata import check_metadata
from mnemosyne.domain.rfc3339 import instant
from mnemosyne.domain.text_checks import (
    check_normal_form,
    check_not_blank,
    check_not_empty,
    check_visible_line,
    excerpt,
    storable,
    surrogate_problem,
)
from mnemosyne.errors import InvalidRequest

SESSION_LIMIT = 200
SOURCE_LIMIT = 1500
"""Maximum characters of a source. Names of Cloud Storage objects have up to 1,024 bytes."""
KEY_LIMIT = 300
"""Maximum characters of a key. Key and namespace must fit into an index entry of 2,704 bytes."""

PROBLEMS = 5
"""Maximum problems that one error lists."""
# This pattern is stricter than Python's UUID(), which also accepts underscores and digits of other scripts. In an id,
# such characters are probably mistakes.
_UUID = re.compile(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_LONG_NUMBER = re.compile(rb"[0-9-][0-9]{19}")
_UUID_EXAMPLE = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"


def uuid(value: object) -> object:
    """Convert a string to a UUID. Other types are returned unchanged, for pydantic to check."""
    if isinstance(value, str):
        if not _UUID.fullmatch(value):
            if len(value) <= SOURCE_LIMIT and (alone := _UUID.search(value)):
                raise ValueError(f'must be the id alone, "{alone[0]}", got {excerpt(value)}')
            raise ValueError(f"must be a whole UUID such as {_UUID_EXAMPLE}, got {excerpt(value)}")
        return UUID(value)
    return value


def _parse_instant(value: object) -> object:
    return instant(value) if isinstance(value, str) else value


Text = Annotated[str, AfterValidator(storable)]
Filled = Annotated[Text, AfterValidator(check_not_blank)]
Content = Annotated[
    str,
    Field(min_length=1, max_length=CONTENT_LIMIT),
    AfterValidator(storable),
    AfterValidator(check_not_blank),
    AfterValidator(check_normal_form),
]
Title = Annotated[
    str, Field(min_length=1, max_length=TITLE_LIMIT), AfterValidator(storable), AfterValidator(check_not_blank)
]
Session = Annotated[str, Field(min_length=1, max_length=SESSION_LIMIT), AfterValidator(check_visible_line)]
Source = Annotated[str, Field(min_length=1, max_length=SOURCE_LIMIT), AfterValidator(check_visible_line)]
Key = Annotated[str, Field(min_length=1, max_length=KEY_LIMIT), AfterValidator(check_visible_line)]
Tag = Annotated[str, Field(max_length=TAG_LIMIT), AfterValidator(storable), AfterValidator(check_not_empty)]
Tags = Annotated[list[Tag], Field(max_length=TAG_COUNT)]
JsonObject = Annotated[dict[str, Any], AfterValidator(check_metadata)]
Id = Annotated[UUID, BeforeValidator(uuid, json_schema_input_type=str)]
IDS_LIMIT = 100
Ids = Annotated[
    list[Id], Field(min_length=1, max_length=IDS_LIMIT), AfterValidator(lambda ids: list(dict.fromkeys(ids)))
]
Instant = Annotated[datetime, BeforeValidator(_parse_instant, json_schema_input_type=str)]


class Input(BaseModel):
    """Base class of input models: strict types, no unknown fields, frozen."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    example: ClassVar[str] = ""
    """Example of valid arguments, for the error about an unknown field."""
    instead: ClassVar[Mapping[str, str]] = {}
    """For each name of an unknown argument that callers often pass, advice on what to do instead.

    The advice is also used for a name that is similar to the listed name, or is one of its `SYNONYMS`. In an error
    about the listed name, "it" and "one" replace `{it}` and `{one}` in the advice. In an error about another name, the
    listed name replaces both."""


InputT = TypeVar("InputT", bound=BaseModel)


def parse(model: type[InputT], data: object, *, of: str = "") -> InputT:
    """Validate the data, and return an instance of the class `model` with the data.

    Raises InvalidRequest with the first five problems and the number of further problems. Equal problems, such as a
    wrong field in each memory of a batch, count as one problem.

    `of` names the tool or object that the data belongs to. An error about an unknown argument contains this name.
    """
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        raise invalid(exc, model, data, of) from exc


def invalid(exc: ValidationError, model: type[BaseModel], data: object, of: str) -> InvalidRequest:
    """Convert pydantic's ValidationError about the data to the InvalidRequest that `parse` raises."""
    groups: dict[tuple[object, ...], list[ErrorDetails]] = {}
    for error in join_unions(exc.errors(include_url=False), model, data):
        groups.setdefault(problem_key(error), []).append(error)
    problems: dict[str, None] = {}
    for first, *others in list(groups.values())[:PROBLEMS]:
        listed = [path(error["loc"]) for error in others[:PROBLEMS]]
        more = [f"{len(others) - PROBLEMS:,} more"] if len(others) > PROBLEMS else []
        also = f" (also {', '.join([*listed, *more])})" if others else ""
        if first["type"] == "extra_forbidden":
            problems[_unknown_argument_error(first["loc"], model, of, also)] = None
            problems[_accepted_names(first["loc"], model, of)] = None
        else:
            problems[_problem_message(first, model) + also] = None
    if len(groups) > PROBLEMS:
        problems[f"and {len(groups) - PROBLEMS:,} more"] = None
    return InvalidRequest("; ".join(problems).encode(errors="replace").decode())


def parse_json(body: bytes, *, of: str) -> Any:
    """Parse JSON. An integer with too many digits becomes infinity. Raises InvalidRequest if the text is not JSON."""
    try:
        return json.loads(body, parse_int=parse_integer)
    except (ValueError, RecursionError) as exc:
        raise InvalidRequest(f"{of} must be JSON: {exc}") from exc


def read_json(data: bytes | str, *, of: str) -> Any:
    """Parse JSON that may contain invalid values: NaN, Infinity, lone surrogates, or invalid UTF-8 in strings.

    The caller validates the result, and can name the field of an invalid value in its error. An integer with too many
    digits becomes infinity.

    Raises InvalidRequest if the text is not JSON.
    """
    # orjson reads an integer beyond 64 bits as a float. The error would then not quote the integer that was sent.
    if not _LONG_NUMBER.search(data.encode(errors="replace") if isinstance(data, str) else data):
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            pass
    try:
        # Use json, because orjson rejects lone surrogates, invalid UTF-8, NaN and a byte order mark.
        text = data if isinstance(data, str) else data.decode("utf-8-sig", errors="surrogateescape")
        return json.loads(text, parse_int=parse_integer)
    except RecursionError as exc:
        raise InvalidRequest(f"{of} must be JSON that is nested less deeply") from exc
    except ValueError as exc:
        raise InvalidRequest(f"{of} must be JSON: {exc}") from exc


def is_like_json(text: str) -> bool:
    """Whether a text begins like a JSON array or object."""
    return text.lstrip().startswith(("[", "{"))


def json_of_text(text: str) -> Any:
    """Parse a text that is a JSON array or object. The result is None for all other texts."""
    try:
        return read_json(text, of="") if is_like_json(text) else None
    except InvalidRequest:
        return None


def parse_integer(digits: str) -> int | float:
    """Convert digits to an integer; return infinity if there are more digits than `int` accepts."""
    return int(digits) if len(digits) < sys.int_info.default_max_str_digits else math.inf


def _problem_message(error: ErrorDetails, model: type[BaseModel]) -> str:
    name = path(error["loc"])
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    match kind:
        case "missing":
            return f"{name} is required"
        case "value_error":
            return reason_of(str(context["error"]), model, error["loc"])
        case "string_unicode":
            return f"{name} {surrogate_problem(value)}"
        case "string_too_long" | "string_too_short" | "too_long" | "too_short":
            unit = "character" if isinstance(value, str) else "item"
            return f"{name} must have {size(context, unit)}, got {len(value):,}"
        case "greater_than_equal" | "less_than_equal":
            return f"{name} must be {between(model, error['loc'], context)}, got {excerpt(value)}"
        case "union":
            return f"{name} must be {context['expected']}, got {excerpt(value)}"
        case "enum" | "literal_error":
            return f"{name} must be one of {context['expected']}, got {excerpt(value)}"
    rule = expected_type(kind, model, error["loc"])
    if not rule:
        return f"{name}: {error['msg']}"
    return f"{name or 'arguments'} must be {rule}, got {excerpt(value)}{_json_problem(value)}"


def _json_problem(value: object) -> str:
    """Return the JSON parser's error if the value is a text that looks like JSON but is invalid; else an empty text."""
    if isinstance(value, str) and is_like_json(value):
        try:
            read_json(value, of="text in brackets")
        except InvalidRequest as exc:
            return f": {exc}"
    return ""


def _unknown_argument_error(location: Location, model: type[BaseModel], of: str, also: str) -> str:
    """Return the error about an unknown argument, or about an unknown field of an object in an argument.

    `also` is a text about further places with the same error, or empty.
    """
    inner = model_at(model, location[:-1])
    name, owner = str(location[-1]), path(location[:-1])
    problem = f"{path(location)} is not " + (f"a field of {owner}" if owner else f"an argument{of and f' of {of}'}")
    advice = inner.instead if issubclass(inner, Input) else {}
    instead = advice.get(name, "").format(it="it", one="one")
    if not instead and (similar := closest_name(name, inner.model_fields)):
        instead = f"did you mean {similar}"
    elif not instead and (similar := closest_name(name, advice)):
        instead = advice[similar].format(it=similar, one=similar)
    return f"{problem}{also}{instead and f'; {instead}'}"


def _accepted_names(location: Location, model: type[BaseModel], of: str) -> str:
    """List the names that are accepted in place of an unknown argument or an unknown field of an object."""
    inner = model_at(model, location[:-1])
    example = f", such as {inner.example}" if issubclass(inner, Input) and inner.example else ""
    owner = of if of and len(location) == 1 else "it"
    return f"{owner} takes {', '.join(inner.model_fields) or 'none'}{example}"
