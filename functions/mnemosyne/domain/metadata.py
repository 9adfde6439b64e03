"""Check the metadata of memories. Pure."""

import json
import math
from collections.abc import Mapping
from typing import Any

from mnemosyne.domain.text_checks import excerpt, storable

METADATA_BYTES = 65_536
METADATA_DEPTH = 20
METADATA_PATHS = 5_000_000
"""Maximum bytes of the paths of all values in the metadata. The path of a value consists of the names of all fields
that contain the value. There is a limit, because the database copies an array's path for each element of the array."""


def check_metadata(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata unchanged. Raises ValueError if they cannot be stored, with the path of the invalid field."""
    try:
        paths = _check_json(value, depth=1)
    except _FieldError as exc:
        raise ValueError(f"field {excerpt(exc.path.removeprefix('.'))} {exc.text}") from None
    size = len(json.dumps(value, ensure_ascii=False).encode())
    if size > METADATA_BYTES:
        raise ValueError(f"must be at most {METADATA_BYTES:,} bytes of JSON, got {size:,}")
    if paths > METADATA_PATHS:
        rule = f"must have at most {METADATA_PATHS:,} bytes of field names, counted for each value in a field"
        raise ValueError(f"{rule}, got {paths:,}: shorten the names or the arrays")
    return value


class _FieldError(ValueError):
    """An error in a field of metadata. `path` is the path of this field, such as ".owner.phones[0]"."""

    def __init__(self, path: str, error: ValueError) -> None:
        self.path: str = path + (error.path if isinstance(error, _FieldError) else "")
        self.text: str = error.text if isinstance(error, _FieldError) else str(error)


def _check_json(value: object, depth: int, path: int = 0) -> int:
    """Return the number of bytes of the paths of a value and of all values in it.

    `path` is the number of bytes of the value's own path.
    """
    paths = path
    if depth > METADATA_DEPTH:
        raise ValueError(f"must be nested at most {METADATA_DEPTH} levels deep")
    if isinstance(value, str):
        storable(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"must have strings as its keys, got {excerpt(key)}")
            length = path + len(storable(key).encode())
            try:
                paths += _check_json(item, depth + 1, length)
            except ValueError as exc:
                raise _FieldError(f".{key}", exc) from None
    elif isinstance(value, list):
        for number, item in enumerate(value):
            try:
                paths += _check_json(item, depth + 1, path)
            except ValueError as exc:
                raise _FieldError(f"[{number}]", exc) from None
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"must be a finite number, got {value}")
    elif isinstance(value, int | float) and not -(2**63) - isinstance(value, int) < value < 2**64:
        # Also reject floats that are larger than any 64-bit integer. PostgreSQL would return such a float, for example
        # 1e30, as an integer with all its digits, and not as a float.
        raise ValueError(f"must be from -2**63 to 2**64 - 1, got {excerpt(value)}: send it as a string")
    elif value is not None and not isinstance(value, int | float):
        raise ValueError(f"must be a JSON value, got {excerpt(value)}")
    return paths
