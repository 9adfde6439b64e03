"""Split a note into its properties and its text. Pure.

The properties are front matter in YAML, TOML or JSON, or properties of Logseq or Notion.
"""

import json
import re
import tomllib
from datetime import date, time
from typing import Any

from mnemosyne.domain.nesting import LEVELS, is_too_deep
from mnemosyne.formats import properties_yaml
from mnemosyne.formats.properties_yaml import Properties

_YAML = re.compile(r"---[ \t]*\r?\n(?:(.*?)\r?\n)??(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_TOML = re.compile(r"\+\+\+[ \t]*\r?\n(?:(.*?)\r?\n)??\+\+\+[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_LOGSEQ = re.compile(r"(?:[ \t]*(?:- )?[A-Za-z][\w./ -]{0,60}::(?:[ \t][^\r\n]*)?(?:\r?\n|\Z))+")
_LOGSEQ_LINE = re.compile(r"[ \t]*(?:- )?([A-Za-z][\w./ -]*?)::(.*)$", re.MULTILINE)
# Matches the beginning of a Markdown file that Notion has exported from a database: the title, an empty line, and the
# properties up to the next empty line.
_NOTION = re.compile(r"#[ \t][^\n]*+\n[ \t\r]*+\n((?:[ \t\r]*+[^\s][^\n]*+(?:\n|\Z))++)")
_NOTION_LINE = re.compile(r"([^\s:#>*|!\[-][^:]{0,60}):[ \t](.*)")
CHARACTERS = 100_000
"""Maximum characters of front matter. Parsing YAML takes about ten microseconds per character."""


def split(text: str) -> tuple[Properties, str]:
    """Split a note into its properties and the text after them.

    Text that looks like front matter but has no properties, such as text between two horizontal rules, belongs to the
    note's text. Raises ValueError if the front matter is too long.
    """
    for form, read in ((_YAML, properties_yaml.read), (_TOML, _parse_toml)):
        if match := form.match(text):
            if len(match[1] or "") > CHARACTERS:
                raise ValueError(f"front matter must have at most {CHARACTERS:,} characters, got {len(match[1]):,}")
            properties = read(match[1] or "")
            if properties and form is _YAML:
                _split_tags(properties.values)
            return (properties, text[match.end() :]) if properties else (Properties(), text)
    if text.startswith("{") and (result := _parse_json_object(text)):
        return result
    if match := _LOGSEQ.match(text[:CHARACTERS]):
        return _parse_logseq(match[0]), text[match.end() :]
    return Properties(), text


def _split_tags(values: dict[str, Any]) -> None:
    """Convert `tags` to a list if it is a text with spaces but no commas, as Obsidian and Jekyll do.

    The tags of Notesnook, whose notes have `created_at` and `updated_at`, may contain spaces.
    """
    if "created_at" in values and "updated_at" in values:
        return
    for name, value in values.items():
        if name.casefold() == "tags" and isinstance(value, str) and not re.search(r"[,#\[\]]", value):
            values[name] = value.split()


def notion_properties(text: str) -> Properties:
    """Return the properties in the text of a page that Notion has exported.

    The value of a property may have several lines. But the first and the last line of the block of properties must have
    the form `name: value`, because otherwise a paragraph of text could be taken for properties. The lines are not
    removed from the note's text, because a page without properties may begin with similar lines.
    """
    match = _NOTION.match(text[:CHARACTERS])
    lines = match[1].split("\n") if match else [""]
    properties, name = Properties(), ""
    if not (_NOTION_LINE.match(lines[0]) and _NOTION_LINE.match(lines[-1] or lines[-2])):
        return properties
    for number, line in enumerate(lines, 3):
        if match := _NOTION_LINE.match(line):
            name = match[1].strip()
            properties.values[name], properties.lines[name] = match[2].strip(), number
        elif line:
            properties.values[name] += f"\n{line.strip()}"
    return properties


def yaml_characters(text: str) -> int:
    """Return the number of characters that `split` would parse as YAML or TOML.

    With this number, callers can limit the cost of parsing before they call `split`.
    """
    text = text.removeprefix("\ufeff")
    match = _YAML.match(text) or _TOML.match(text)
    return min(len(match[1] or ""), CHARACTERS) if match else 0


def _parse_toml(block: str) -> Properties | None:
    """Parse a block of TOML; None if it has text but no valid property.

    If the block is invalid, each line is parsed separately.
    """
    lines = {
        match[1].strip("\"'"): number
        for number, line in enumerate(block.splitlines(), 2)
        if (match := _TOML_LINE.match(line))
    }
    try:
        values = _load_toml(block.replace("\r\n", "\n") + "\n")
        return Properties(values, lines) if values or not block.strip() else None
    except (ValueError, RecursionError):
        properties = Properties(lines=lines)
    for number, line in enumerate(block.splitlines(), 2):
        try:
            properties.values |= _load_toml(line)
        except (ValueError, RecursionError):
            match = _TOML_LINE.match(line)
            name = match[1].strip("\"'") if match else "text"
            properties.notices.append(f"line {number}: {name} (not TOML)")
    return properties if properties.values else None


# Matches a key of more than LEVELS parts (a.b.c has three). Such a key is rejected, because `tomllib` needs quadratic
# time for it.
_DEEP_KEY = re.compile(rf"(?<![\w-])(?:(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{LEVELS}}}", re.ASCII)


def _load_toml(text: str) -> Any:
    """Parse TOML to JSON types. Raises ValueError or RecursionError if it is invalid or nested too deeply."""
    if _DEEP_KEY.search(text):
        raise ValueError(f"keys must be nested at most {LEVELS} levels deep")
    return _to_json_value(tomllib.loads(text))


_TOML_LINE = re.compile(r"\s*(\"[^\"]+\"|'[^']+'|[\w.-]+)\s*=")


def _to_json_value(value: Any) -> Any:
    """Convert a TOML value to JSON types."""
    if isinstance(value, dict):
        return {name: _to_json_value(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_to_json_value(element) for element in value]
    return value.isoformat() if isinstance(value, date | time) else value


def _parse_json_object(text: str) -> tuple[Properties, str] | None:
    """Parse a JSON object at the beginning of the text.

    Return the object and the text after it. Return None if the text does not begin with an object, if no text follows
    the object, or if the object is nested too deeply.
    """
    try:
        values, end = json.JSONDecoder().raw_decode(text[: CHARACTERS + 1])
    except (ValueError, RecursionError):
        return None
    rest = re.match(r"[ \t]*(?:\r?\n|\Z)", text[end:])
    if not isinstance(values, dict) or rest is None or not text[end + rest.end() :].strip() or is_too_deep(values):
        return None
    return Properties(values), text[end + rest.end() :]


def _parse_logseq(block: str) -> Properties:
    properties = Properties()
    for number, line in enumerate(block.splitlines(), 1):
        if match := _LOGSEQ_LINE.match(line):
            properties.values[match[1]] = match[2].strip(" \t\r")
            properties.lines[match[1]] = number
    return properties
