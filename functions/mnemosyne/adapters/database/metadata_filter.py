"""Translate conditions on metadata to a jsonpath, and to terms of the index of metadata.

The jsonpath is in lax mode: it descends into arrays, and values that cannot be compared are unequal. See
https://www.postgresql.org/docs/current/functions-json.html#FUNCTIONS-SQLJSON-PATH.
"""

import json
from collections.abc import Sequence
from typing import Final

from mnemosyne.domain.metadata_filter import MetadataCondition, Operator, is_number, texts_of

_A_DATE: Final = '@ like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}"'


def jsonpath(conditions: Sequence[MetadataCondition]) -> str:
    """Build a jsonpath that matches metadata if all conditions are true."""
    return f"$ ? ({' && '.join(map(_predicate, conditions))})"


def terms(conditions: Sequence[MetadataCondition]) -> list[str] | None:
    """Return the index terms of the condition that is likely to match the fewest memories.

    An index term is the path of a metadata field, or the path with a value, such as `.author=Ann`. A memory that
    matches the condition has at least one of the returned terms. The result is None if all conditions require that a
    field is missing, because the index has no terms for missing fields.
    """
    present = [condition for condition in conditions if condition.operator is not Operator.MISSING]
    if not present:
        return None
    best = min(present, key=lambda condition: condition.operator is not Operator.EQUAL)
    path = "".join("." + name.replace(".", "\\.") for name in best.path)
    return (
        [f"{path}={text}" for value in best.values for text in texts_of(value)]
        if best.operator is Operator.EQUAL
        else [path]
    )


def _predicate(condition: MetadataCondition) -> str:
    path = "@" + "".join(f".{json.dumps(name)}" for name in condition.path)
    if condition.operator is Operator.EXISTS:
        return f"exists({path})"
    if condition.operator is Operator.MISSING:
        return f"!exists({path})"
    if condition.operator is Operator.EQUAL:
        comparison = " || ".join(f"@ == {literal}" for value in condition.values for literal in _literals(value))
    else:
        (value,) = condition.values
        comparison = (
            f"@ {condition.operator} {texts_of(value)[-1]}"
            if is_number(value)
            else f"{_A_DATE} && @ {condition.operator} {json.dumps(value)}"
        )
    return f"exists({path}[*] ? ({comparison}))"


def _literals(value: str) -> list[str]:
    """Return the value as jsonpath literals: as text and, if possible, as a number or boolean.

    A whole number is also compared as text without its decimals: for the value "3.0", the text "3" matches too. For the
    value "3.10", the text "3.1" does not match, because both texts may be version numbers.
    """
    texts = texts_of(value)
    strings = [json.dumps(text) for text in texts if text == value or "." not in text]
    return [*strings, *([texts[-1]] if value in ("true", "false") or is_number(value) else [])]
