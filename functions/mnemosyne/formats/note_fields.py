"""Derive title, tags, links and metadata of a memory from a note. Pure."""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, TypeVar
from urllib.parse import unquote

from pydantic import TypeAdapter, ValidationError

from mnemosyne.domain.chronicle import TAG_COUNT, TAG_LIMIT, TITLE_LIMIT, tag_key, unite_tags
from mnemosyne.domain.event_time import event_time, zone
from mnemosyne.domain.lifetime import lifetime
from mnemosyne.domain.memory import CONTENT_LIMIT
from mnemosyne.domain.metadata import METADATA_BYTES
from mnemosyne.domain.parsing import JsonObject, Key, Session, Source
from mnemosyne.domain.visible import one_line
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.note_values import (
    LINK,
    WIKI_LINK,
    clean,
    has_text,
    inline_tags,
    is_text,
    parse_aliases,
    split_tags,
    title_text,
)  # fmt: skip
from mnemosyne.formats.properties_yaml import Properties

LINKS = 100
"""Maximum links stored in a note's metadata."""
_NOTION_ID = re.compile(r" [0-9a-f]{32}$")
_JSON_OBJECT = TypeAdapter[dict[str, Any]](JsonObject)
_SESSION = TypeAdapter[str](Session)
_Value = TypeVar("_Value")
_NAME = {"source": TypeAdapter[str](Source), "key": TypeAdapter[str](Key)}


@dataclass
class NoteFields:
    """Fields of the memory that a note becomes, except the timestamp, and notices about omitted properties."""

    fields: dict[str, Any]
    notices: list[str] = field(default_factory=list)


def is_of_notion(path: str) -> bool:
    """Whether the name of a note's file ends with an id of 32 hex digits, as in an export of Notion."""
    return bool(_NOTION_ID.search(PurePosixPath(path).stem))


def stem_of(path: str) -> str:
    """Return the name of a note: the name of its file or, if the file is named `index` or `readme`, of its folder.

    The extension and Notion's id are removed. Logseq's escapes, such as `___` for a slash, are decoded.
    """
    pure = PurePosixPath(path)
    stem = pure.name.removesuffix(".gz")
    stem = re.sub(r"\.(md|markdown|mdown|mkd|txt|text)$", "", stem, flags=re.IGNORECASE) or stem
    is_bundle = pure.parent.suffix.lower() == ".textbundle"  # the note in such a folder is always named `text`
    if is_bundle or (stem.lower().lstrip("_") in ("index", "readme") and pure.parent.name):
        stem = pure.parent.stem if is_bundle else pure.parent.name
    stem = _NOTION_ID.sub("", unquote(stem, errors="replace") if re.search(r"%[0-9A-Fa-f]{2}", stem) else stem)
    return stem.replace("___", "/")


def fields_of(properties: Properties, body: str, path: str, rest_of_name: str, *, used: str | None) -> NoteFields:
    """Derive the fields of a memory from a note.

    `used` is the name of the property from which the note's time was taken. `rest_of_name` is the note's name without
    the date at its beginning.
    """
    values = {name: value for name, value in properties.values.items() if name != used and value not in (None, "")}
    note = NoteFields({})
    places = {name: f"line {line}: " for name, line in properties.lines.items()}
    title = one_line(clean(next(_take_properties(values, title_text, "title"), ""))).strip()
    aliases = [alias for texts in _take_properties(values, parse_aliases, "aliases", "alias") for alias in texts]
    tags = unite_tags(_take_tags(values, places, note), inline_tags(body, path))
    _take_record_fields(values, places, note)
    name = stem_of(path)
    note.fields["title"] = _title_with_aliases(
        title[:TITLE_LIMIT] or _title_of_name(name), [name, rest_of_name, *aliases], body
    )
    if tags:
        note.fields["tags"] = list(tags)
    metadata = values.pop("metadata", None)
    metadata_fields = {
        **(metadata if isinstance(metadata, dict) else {} if metadata is None else {"metadata": metadata}),
        **values,
    }
    if title and note.fields["title"] != title:
        metadata_fields["title"] = title
    if aliases:
        metadata_fields["aliases"] = aliases
    metadata_fields |= {
        key: value for key, value in _location_metadata(path, body).items() if key not in metadata_fields
    }
    note.fields["metadata"] = _valid_metadata(metadata_fields, places, note)
    note.fields["content"] = body if has_text(body) else note.fields["title"]
    return note


def _take_properties(values: dict[str, Any], read: Callable[[Any], _Value], *names: str) -> Iterator[_Value]:
    """Remove the properties with these names, and yield their converted values. The case of the names is ignored.

    `read` converts a value. If its result is empty, the property is not removed, and nothing is yielded for it.
    """
    for name in [name for name in values if name.casefold() in names]:
        if value := read(values[name]):
            del values[name]
            yield value


def _take_tags(values: dict[str, Any], places: Mapping[str, str], note: NoteFields) -> list[str]:
    """Remove the tags from the properties, and return them.

    Tags that are too long, and tags after the first TAG_COUNT, are left out with a notice. A list with an object is not
    removed.
    """
    tags: dict[str, str] = {}
    for name in [name for name in values if name.casefold() in ("tags", "tag")]:
        value = values.pop(name)
        if isinstance(value, list) and any(isinstance(element, Mapping) for element in value):
            values[name] = value
            note.notices.append(f"{places.get(name, '')}{name} (an object is not a tag; kept as metadata)")
        for tag in split_tags(value):
            if len(tag) > TAG_LIMIT or not is_text(tag):
                note.notices.append(f"{places.get(name, '')}{name} (a tag of {len(tag):,} characters)")
            elif len(tags) == TAG_COUNT and tag_key(tag) not in tags:
                note.notices.append(f"{places.get(name, '')}{name} (more than {TAG_COUNT})")
                break
            else:
                tags.setdefault(tag_key(tag), tag)
    return list(tags.values())


def _take_record_fields(values: dict[str, Any], places: Mapping[str, str], note: NoteFields) -> None:
    """Move session, lifetime, timezone, source and key from the properties to the fields.

    Properties with invalid values remain metadata.
    """
    session = values.get("session")
    if isinstance(session, str | int | float) and str(session).strip():
        with suppress(ValidationError):
            note.fields["session"] = _SESSION.validate_python(str(session))
            del values["session"]
    _take_lifetime(values, note)
    timezone = values.get("timezone")
    if isinstance(timezone, str):
        try:
            zone(timezone)
            note.fields["timezone"] = values.pop("timezone")
        except InvalidRequest as exc:
            note.notices.append(f"{places.get('timezone', '')}{exc}; kept as metadata")
    name = {part: values.get(part) for part in ("source", "key")}
    try:  # Only source and key together identify a record. A source alone is usually the URL of a clipped page.
        note.fields |= {
            part: kind.validate_python(str(name[part])) for part, kind in _NAME.items() if all(name.values())
        }
        if all(name.values()):
            del values["source"], values["key"]
    except ValidationError:
        pass


def _take_lifetime(values: dict[str, Any], note: NoteFields) -> None:
    """Move the first valid expiry time or lifetime, and `pinned`, from the properties to the fields.

    The expiry time can also be the property `stale_after` of the Open Knowledge Format, which is copied and not moved:
    it remains metadata.
    """
    for name, parse in (("expires_at", event_time), ("ttl", lifetime), ("stale_after", event_time)):
        with suppress(ValueError):
            parse(values.get(name))
            note.fields["expires_at" if name == "stale_after" else name] = values[name]
            if name != "stale_after":
                del values[name]
            break
    if isinstance(values.get("pinned"), bool):
        note.fields["pinned"] = values.pop("pinned")


def _title_with_aliases(title: str, names: Iterable[str], body: str) -> str:
    """Return the title with the note's other names in brackets, so that searches for these names find the note.

    A name is left out if the title or the body contains it, or if it is just the title with a date before it. The first
    name that makes the title too long is left out, together with all names after it.
    """
    text = f" {_normalize_words(title)} {_normalize_words(body[:CONTENT_LIMIT])} "
    other_names: list[str] = []
    length = len(title) + len(" ()")
    for name in dict.fromkeys(names):
        words = _normalize_words(name)
        if words and f" {words} " not in text and not (name != title and _is_dated_form(name, title)):
            shown = _title_of_name(name)
            length += len(shown) + (len("; ") if other_names else 0)
            if length > TITLE_LIMIT:
                break
            other_names.append(shown)
            text += f"{words} "
    return f"{title} ({'; '.join(other_names)})" if other_names else title


def _is_dated_form(name: str, title: str) -> bool:
    """Whether the name begins with a date and ends with the title. Usually, such a name adds only the date."""
    return bool(re.match(r"\d{4}-?\d\d-?\d\d", name)) and _normalize_words(name).endswith(_normalize_words(title))


def _normalize_words(text: str) -> str:
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFC", text)).casefold().strip()


def _title_of_name(name: str) -> str:
    """Convert a note's name to a title: write the date of a journal page with hyphens; remove control characters."""
    return (
        one_line(re.sub(r"^(\d{4})_(\d\d)_(\d\d)(?=\D|$)", r"\1-\2-\3", name)).strip()[:TITLE_LIMIT]
        or name[:TITLE_LIMIT]
    )


def _location_metadata(path: str, body: str) -> dict[str, Any]:
    """Return the metadata with the note's path, folder and links."""
    pure = PurePosixPath(path)
    targets = [match[1].strip() for match in WIKI_LINK.finditer(body)]
    targets += [
        unquote(match[2])
        for match in LINK.finditer(body)
        if re.search(r"\.(md|markdown)(#|$)", match[2], re.IGNORECASE)
    ]
    links = list(dict.fromkeys(link for link in targets if link))[:LINKS]
    folder = {"folder": str(pure.parent)} if str(pure.parent) not in (".", "/") else {}
    return {"path": path, **folder, **({"links": links} if links else {})}


def _valid_metadata(values: Mapping[str, Any], places: Mapping[str, str], note: NoteFields) -> dict[str, Any]:
    """Return the properties that are valid metadata, and add a notice to the note for each invalid property."""
    storable: dict[str, Any] = {}
    size = 2
    for name, value in values.items():
        property_ = {name: _with_storable_numbers(value)}
        try:
            _JSON_OBJECT.validate_python(property_)
            more = len(json.dumps(property_, ensure_ascii=False).encode()) + 2
            if size + more > METADATA_BYTES:
                raise ValueError(f"metadata must be at most {METADATA_BYTES:,} bytes")
        except (ValidationError, ValueError) as exc:
            reason = str(exc.errors()[0]["ctx"]["error"]) if isinstance(exc, ValidationError) else str(exc)
            note.notices.append(f"{places.get(name, '')}{one_line(name)} ({reason})")
            continue
        storable |= property_
        size += more
    return storable


def _with_storable_numbers(value: Any) -> Any:
    """Convert numbers to text if they are not finite or do not fit into 64 bits."""
    if isinstance(value, dict):
        return {str(name): _with_storable_numbers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_with_storable_numbers(element) for element in value]
    if isinstance(value, float):
        return value if math.isfinite(value) and abs(value) < 2**63 else str(value)
    return value if not isinstance(value, int) or -(2**63) <= value < 2**63 else str(value)
