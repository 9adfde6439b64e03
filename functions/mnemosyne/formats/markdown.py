"""Markdown: one memory a file, with front matter or without."""

import re
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from typing import Any, BinaryIO

from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.formats.item import ITEM_BYTES, OURS, Item, item_of, left_out

_FRONT_MATTER = re.compile(r"---\r?\n(.*?)\r?\n---\r?\n", re.DOTALL)
_TIMES = ("timestamp", "date", "created")
FRONT_MATTER_CHARACTERS = 100_000
"""At most: reading YAML takes a processor ten microseconds for each."""
_TOO_LONG = f"front matter must have at most {FRONT_MATTER_CHARACTERS:,} characters, got {{:,}}"


def front_matter_characters(text: str) -> int:
    """Return how many characters of a note, or of any text, would be read as YAML."""
    match = _FRONT_MATTER.match(text.removeprefix("\ufeff"))
    return min(len(match[1]), FRONT_MATTER_CHARACTERS) if match else 0


def read(stream: BinaryIO, name: str, modified: datetime | None) -> Item:
    """Return the note. Without a time of its own it has its file's."""
    data = stream.read(ITEM_BYTES + 1)
    if len(data) > ITEM_BYTES:
        return Item(name, None, f"a note must have at most {ITEM_BYTES:,} bytes")
    import yaml  # only where there is front matter to read

    try:
        text = data.decode("utf-8-sig")
        match = _FRONT_MATTER.match(text)
        if match and len(match[1]) > FRONT_MATTER_CHARACTERS:
            return Item(name, None, _TOO_LONG.format(len(match[1])))
        front = _json(yaml.load(match[1], Loader=_loader())) if match else {}  # noqa: S506 - a safe one, see there
    # The reader's own constructors let these through where a value is not of the type that its tag says.
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError, yaml.YAMLError) as exc:
        return Item(name, None, f"it cannot be read: {exc}")
    if front is None:
        front = {}
    if not isinstance(front, dict):
        return Item(name, None, "its front matter must have names and values, such as timestamp: 2026-05-20")
    when = next((front[one] for one in _TIMES if front.get(one)), rfc3339(modified))
    if when is None:
        return Item(name, None, "no time: begin the file with ---, timestamp: …, ---")
    said = {name: value for name, value in front.items() if name not in _TIMES}
    fields = {**said, "content": text[match.end() :] if match else text, "timestamp": when}
    return replace(item_of(name, 1, fields), left_out=left_out(front, *OURS, *_TIMES))


@cache
def _loader() -> Any:
    """YAML's safe loader without aliases, a few hundred bytes of which stand for a thousand million values, and without
    the numbers to the base of sixty that only YAML 1.1 has (https://yaml.org/type/int.html): the work for them grows
    with the square of their length, and 12:30 is meant as it is written.
    """
    import yaml

    numbers = {"tag:yaml.org,2002:int": _integer, "tag:yaml.org,2002:float": _float}

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):  # type: ignore[no-untyped-call]
                raise yaml.YAMLError("aliases are not read")
            return super().compose_node(parent, index)  # type: ignore[no-untyped-call]

    Loader.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in known if tag not in numbers]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for tag, number in numbers.items():
        Loader.add_implicit_resolver(tag, _FORMS[number], list("-+.0123456789"))  # type: ignore[no-untyped-call]
        Loader.add_constructor(tag, number)  # type: ignore[no-untyped-call]
    return Loader


def _integer(loader: Any, node: Any) -> int:
    return int(loader.construct_scalar(node), 0)


def _float(loader: Any, node: Any) -> float:
    return float(loader.construct_scalar(node))


_FORMS = {
    _integer: re.compile(r"[-+]?(0|[1-9][0-9]{0,1000})$|0x[0-9a-fA-F]{1,16}$"),
    _float: re.compile(r"([-+]?[0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?$"),
}
"""What is a number without being called one: no more than what an export writes in quotes where it is a text."""


def _json(value: object) -> object:
    """Return what YAML has read, in JSON's terms: a date is the text it was written as."""
    if isinstance(value, dict):
        return {str(name): _json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_json(one) for one in value]
    return value.isoformat() if isinstance(value, date) else value
