"""Parse front matter in YAML. An invalid property does not affect the other properties."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from mnemosyne.domain.nesting import LEVELS


@dataclass
class Properties:
    """Names and values of properties, with notices about properties that could not be read."""

    values: dict[str, Any] = field(default_factory=dict)
    """Values as JSON types."""
    lines: dict[str, int] = field(default_factory=dict)
    """For the name of each property, the number of its line in the file."""
    notices: list[str] = field(default_factory=list)
    """Notices about properties that could not be read, each with the line and the reason."""


# The quantifiers in these patterns are possessive (`*+`), and no pattern trims spaces. Otherwise matching a line of
# 100,000 spaces would take minutes.
_PROPERTY = re.compile(r"(\"[^\"\n]+\"|'[^'\n]+'|[^\s#\-\[\]{}:,][^:\n]*+|[^\s:]++)[ \t]*+:(?:[ \t]+|$)(.*)", re.DOTALL)
# `#x` is a comment in YAML, but a tag in Obsidian.
_HASH_TAG = re.compile(
    r"^([ \t]*(?:-[ \t]+|(?:tags?|keywords)[ \t]*:[ \t]+))(#[^\s#].*)$", re.MULTILINE | re.IGNORECASE
)
_TEXT_MARK = re.compile("[|>'\"]")
_YAML_ERRORS = (ValueError, LookupError, AttributeError, TypeError, RecursionError, ArithmeticError)


def read(block: str) -> Properties | None:
    """Parse a block of YAML. The result is None if the block has only other text, such as prose or comments.

    If the block is invalid, each property is parsed separately. An invalid property on one line is taken as text
    (`title: Draft: second try`). An invalid property of several lines is omitted with a notice. If a property occurs
    several times, only its last value is used, and a notice says so.
    """
    block = re.sub(r"^\t+", lambda match: "  " * len(match[0]), block.replace("\r\n", "\n"), flags=re.MULTILINE)
    block = _quote_hash_tags(block)
    chunks = list(_split_properties(block))
    lines = {name: line for name, _, line in chunks if name}
    repeated = {name: line for name, _, line in chunks if name and line != lines[name]}
    notices = [f"line {line}: {name} (line {lines[name]} has this property again)" for name, line in repeated.items()]
    try:
        document = _load_yaml(block)
    except _yaml_errors():
        return _load_one_by_one(chunks, lines, notices)
    if document is None and not block.strip():
        return Properties()
    if not isinstance(document, dict):
        return None
    return Properties({str(name): _to_json_value(value) for name, value in document.items()}, lines, notices)


def _quote_hash_tags(block: str) -> str:
    """Put quotation marks around tags such as `#x`, because YAML would read them as comments.

    A text of several lines is not changed, because `#` begins no comment in it.
    """
    if not _HASH_TAG.search(block):
        return block
    within = _lines_within_texts(block) if _TEXT_MARK.search(block) else set()
    return "\n".join(
        line if number in within else _HASH_TAG.sub(_quote_match, line) for number, line in enumerate(block.split("\n"))
    )


def _quote_match(match: re.Match[str]) -> str:
    tag = match[2].rstrip(" \t").replace("'", "''")
    return f"{match[1]}'{tag}'"


def _lines_within_texts(block: str) -> set[int]:
    """Return the numbers of the lines (from 0) on which a quoted text or block text continues from the line before.

    If the YAML is invalid or nested too deeply, lines after the first error are not in the result.
    """
    import yaml

    within: set[int] = set()
    with suppress(*_yaml_errors()):
        for token in yaml.scan(f"{block}\n", Loader=_build_loader()):
            if isinstance(token, yaml.ScalarToken) and not token.plain:
                # The `end_mark` of a block text is on the line after the text. The `end_mark` of a quoted text is on
                # the text's last line.
                end = token.end_mark.line + (token.style not in ("|", ">"))
                within.update(range(token.start_mark.line + 1, end))
    return within


def _load_one_by_one(
    chunks: list[tuple[str, str, int]], lines: dict[str, int], notices: list[str]
) -> Properties | None:
    if not chunks or not chunks[0][0]:
        return None
    properties = Properties(lines=lines, notices=notices)
    for name, text, line in chunks:
        try:
            document = _load_yaml(text)
            if isinstance(document, dict):
                properties.values |= {str(key): _to_json_value(value) for key, value in document.items()}
                continue
        except _yaml_errors():
            pass
        match = _PROPERTY.fullmatch(text.strip())
        if match and "\n" not in match[2]:
            properties.values[name] = _remove_quotes(match[2].strip())
        else:
            properties.notices.append(f"line {line}: {name or 'text'} (not YAML)")
    return properties if properties.values else None


def _split_properties(block: str) -> Iterator[tuple[str, str, int]]:
    """Yield each property's name, text and line number in the file. Line 1 of the file is the `---`."""
    name, text, began = "", "", 2
    for number, line in enumerate(block.splitlines(keepends=True), 2):
        match = _PROPERTY.match(line.rstrip("\r\n"))
        if match is None or line[0] in " \t":
            if text or (line.strip() and not line.lstrip().startswith("#")):
                text += line
            continue
        if text.strip():
            yield name, text, began
        name, text, began = match[1].rstrip(" \t").strip("\"'"), line, number
    if text.strip():
        yield name, text, began


def _remove_quotes(text: str) -> str:
    """Remove quotation marks around the text, if it begins and ends with the same mark."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _yaml_errors() -> tuple[type[BaseException], ...]:
    import yaml

    # For invalid YAML, PyYAML raises YAMLError or one of the errors in _YAML_ERRORS. For example, it raises ValueError
    # if a value does not match its YAML tag (such as `!!int`).
    return (yaml.YAMLError, *_YAML_ERRORS)


def _load_yaml(text: str) -> Any:
    import yaml  # slow to import, and only needed here

    return yaml.load(text, Loader=_build_loader())  # noqa: S506 - the loader is safe


@cache
def _build_loader() -> Any:
    """Build a loader from PyYAML's safe loader.

    The loader rejects aliases, because a few hundred bytes of aliases can expand to a billion values. Dates stay text.
    Booleans and numbers follow YAML 1.2: `No` and `12:30` are text. Parsing a base-60 number of YAML 1.1 would also
    take time quadratic in its length (https://yaml.org/type/int.html). The loader also rejects brackets and braces that
    are nested more than LEVELS levels deep, because PyYAML's time for a token grows with the depth.
    """
    import yaml

    values = {
        "tag:yaml.org,2002:int": _construct_integer,
        "tag:yaml.org,2002:float": _construct_float,
        "tag:yaml.org,2002:bool": _construct_boolean,
    }

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):  # type: ignore[no-untyped-call]
                raise yaml.YAMLError("aliases are not read")
            return super().compose_node(parent, index)  # type: ignore[no-untyped-call]

        def fetch_flow_collection_start(self, token: Any) -> None:
            if self.flow_level >= LEVELS:
                raise yaml.YAMLError("brackets and braces are nested too deeply")
            super().fetch_flow_collection_start(token)  # type: ignore[no-untyped-call]

    tags = {*values, "tag:yaml.org,2002:timestamp"}
    Loader.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in resolvers if tag not in tags]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for tag, value in values.items():
        Loader.add_implicit_resolver(tag, _FORMS[value], list("-+.0123456789tTfF"))  # type: ignore[no-untyped-call]
        Loader.add_constructor(tag, value)  # type: ignore[no-untyped-call]
    return Loader


def _construct_integer(loader: Any, node: Any) -> int:
    return int(loader.construct_scalar(node), 0)


def _construct_float(loader: Any, node: Any) -> float:
    return float(loader.construct_scalar(node))


def _construct_boolean(loader: Any, node: Any) -> bool:
    return bool({"true": True, "false": False}[loader.construct_scalar(node).lower()])


_FORMS = {
    _construct_integer: re.compile(r"[-+]?(0|[1-9][0-9]{0,1000})$"),
    _construct_float: re.compile(r"([-+]?[0-9]+\.([0-9]|[0-9]*[1-9])|\.[0-9]*[1-9])([eE][-+][0-9]+)?$"),
    _construct_boolean: re.compile(r"(true|True|TRUE|false|False|FALSE)$"),
}
"""Patterns of unquoted values that are read as integers, floats or booleans. An export puts a text in quotation marks
if it matches one of them. The value 1.10 matches none and stays a text, because a number would lose the final zero."""


def _to_json_value(value: object) -> object:
    """Convert a YAML value to JSON types."""
    if isinstance(value, dict):
        return {str(name): _to_json_value(member) for name, member in value.items()}
    if isinstance(value, list | tuple | set):
        return [_to_json_value(element) for element in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
