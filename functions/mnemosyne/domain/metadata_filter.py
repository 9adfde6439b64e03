"""Validate conditions on metadata. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum

PATH_LIMIT = 200
NUMBER_DIGITS = 400
"""Maximum exponent (power of ten) of a number in a condition. Numbers in metadata are smaller, because they are doubles
or integers of 64 bits."""
_NAME = re.compile(r"(?:[^.\\]|\\.)+")
_ESCAPED = re.compile(r"\\(.)")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII)


class Operator(StrEnum):
    """How a value in a memory's metadata is compared with the values of a condition.

    With EQUAL, the value in the metadata must equal at least one of the condition's values.
    """

    EQUAL = "="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    EXISTS = "exists"
    MISSING = "missing"


@dataclass(frozen=True)
class MetadataCondition:
    """A comparison of the metadata value at `path` with `values`.

    If the metadata value is an array, at least one element must match.

    `values` are texts, as the caller gave them. The text "5" matches both the text "5" and the number 5.
    """

    path: tuple[str, ...]
    operator: Operator
    values: tuple[str, ...]

    def __str__(self) -> str:
        """Return the condition as text, for messages to the caller."""
        return " ".join(filter(None, [".".join(self.path), self.operator, ", ".join(self.values)]))


def condition(path: str, operator: Operator, values: Sequence[str]) -> MetadataCondition:
    """Build a condition. Raises ValueError if the values do not fit the operator."""
    if operator in (Operator.EXISTS, Operator.MISSING):
        if values:
            raise ValueError(f"values must be left out with op {operator}, got {len(values)}")
    elif not values:
        raise ValueError(f"values is required with op {operator}")
    elif operator is not Operator.EQUAL and (
        len(values) > 1 or not (is_number(values[0]) or _DATE.fullmatch(values[0]))
    ):
        raise ValueError(f"values must be one number or ISO 8601 date with op {operator}, got {', '.join(values)!r}")
    return MetadataCondition(_split_path(path), operator, tuple(values))


def is_number(text: str) -> bool:
    """Whether the text is a JSON number that is neither too large nor too close to zero.

    The power of ten of the first non-zero digit, such as 2 for 512, must be from -NUMBER_DIGITS to NUMBER_DIGITS.
    """
    try:
        return _NUMBER.fullmatch(text) is not None and abs(Decimal(text).adjusted()) <= NUMBER_DIGITS
    except InvalidOperation:  # `Decimal` rejects an exponent of 19 or more digits
        return False


def texts_of(value: str) -> list[str]:
    """Return the text and, if it is a number, also the number without trailing zeros, such as 1.5 for 1.50."""
    if not is_number(value):
        return [value]
    plain = format(Decimal(value), "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return list(dict.fromkeys([value, "0" if plain == "-0" else plain]))


def _split_path(path: str) -> tuple[str, ...]:
    """Split a path such as `project.name` or `$.project.name`. A backslash escapes a dot within a name."""
    if len(path) > PATH_LIMIT:
        raise ValueError(f"path must have at most {PATH_LIMIT} characters, got {len(path)}")
    path = path.removeprefix("$.")  # callers often write `$`, the root in JSONPath
    names = _NAME.findall(path)
    if not names or ".".join(names) != path:
        raise ValueError(f"path must be names with dots between them, such as project.name, got {path!r}")
    return tuple(_ESCAPED.sub(r"\1", name) for name in names)
