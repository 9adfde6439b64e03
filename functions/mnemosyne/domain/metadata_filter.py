"""Conditions on metadata: what they may ask, and how a value is compared. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

PATH_LIMIT = 200
NUMBER_DIGITS = 400
"""More than a double has before or after its point."""
_NAME = re.compile(r"(?:[^.\\]|\\.)+")
_ESCAPED = re.compile(r"\\(.)")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII)


class Operator(StrEnum):
    """How the value at a path is compared; EQUAL is to any of several."""

    EQUAL = "="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    EXISTS = "exists"
    MISSING = "missing"


@dataclass(frozen=True)
class MetadataCondition:
    """One condition: of the value at `path`, or of one element where it is an array, against the values.

    Values are texts, as they were given; a number's text also stands for that number.
    """

    path: tuple[str, ...]
    operator: Operator
    values: tuple[str, ...]

    def __str__(self) -> str:
        """Return the condition as it is echoed."""
        return " ".join(filter(None, [".".join(self.path), self.operator, ", ".join(self.values)]))


def condition(path: str, operator: Operator, values: Sequence[str]) -> MetadataCondition:
    """Return the condition; raises ValueError where the values are not what the operator compares with."""
    if operator in (Operator.EXISTS, Operator.MISSING):
        if values:
            raise ValueError(f"values must be left out with op {operator}, got {len(values)}")
    elif not values:
        raise ValueError(f"values is required with op {operator}")
    elif operator is not Operator.EQUAL and (
        len(values) > 1 or not (is_number(values[0]) or _DATE.fullmatch(values[0]))
    ):
        raise ValueError(f"values must be one number or ISO 8601 date with op {operator}, got {', '.join(values)!r}")
    return MetadataCondition(_names(path), operator, tuple(values))


def is_number(text: str) -> bool:
    """Whether the text is that of a number in JSON, and of a size that a number in metadata can have."""
    return _NUMBER.fullmatch(text) is not None and abs(Decimal(text).adjusted()) <= NUMBER_DIGITS


def texts_of(value: str) -> list[str]:
    """Return the texts that are the same as the value: its own, and of a number the shortest, exactly."""
    if not is_number(value):
        return [value]
    plain = format(Decimal(value), "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return list(dict.fromkeys([value, "0" if plain == "-0" else plain]))


def _names(path: str) -> tuple[str, ...]:
    """Split `project.name`; a dot that belongs to a name has a backslash before it."""
    if len(path) > PATH_LIMIT:
        raise ValueError(f"path must have at most {PATH_LIMIT} characters, got {len(path)}")
    names = _NAME.findall(path)
    if not names or ".".join(names) != path:
        raise ValueError(f"path must be names with dots between them, such as project.name, got {path!r}")
    return tuple(_ESCAPED.sub(r"\1", name) for name in names)
