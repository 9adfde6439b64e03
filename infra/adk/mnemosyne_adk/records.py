"""Convert ADK's events and memories to arguments of `ingest_memories`, and hits to ADK's memories, without any I/O."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

CONTENT_LIMIT = 100_000
"""Maximum characters of one memory, as documented in docs/reference/errors.md."""
SESSION_LIMIT = 200
VALUE_LIMIT = 1_000
"""Maximum characters of a metadata value in a search condition."""
BATCH_LIMIT = 100
BATCH_BYTES = 3_000_000
"""Maximum bytes of JSON in a call. A request may have at most 4 MiB."""
USER = "user"
TTL = "ttl"
"""Key of `custom_metadata` with the lifetime of a memory: `"3600s"`, a number of seconds, or a timedelta."""


@dataclass(frozen=True)
class Scope:
    """An app and a user. A search for this user in this app finds only memories with the same scope."""

    app_name: str
    user_id: str

    def session(self, session_id: str | None) -> str:
        """Return a session name that is unique across apps and users.

        If `session_id` is None, all memories of a user in an app get the same session name.
        """
        parts = (self.app_name, self.user_id) if session_id is None else (self.app_name, self.user_id, session_id)
        name = "/".join(quote(part, safe="") for part in parts)
        return name if len(name) <= SESSION_LIMIT else _digest(name)

    def source(self, session_id: str | None) -> str:
        """Return the `source` for memories of events. Memories with the same source have different keys (`key`)."""
        return f"adk:{self.session(session_id)}"

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata by which memories of this app and user are recognised. They are stored with each memory."""
        return {"app": _value(self.app_name), "user": _value(self.user_id)}

    @property
    def conditions(self) -> list[dict[str, Any]]:
        """The search conditions that select only the memories of this app and user, by their metadata."""
        return [{"path": f"adk.{name}", "values": [value]} for name, value in self.metadata.items()]

    def has(self, metadata: Mapping[str, Any]) -> bool:
        """Whether a memory with this metadata belongs to this app and user."""
        own = metadata.get("adk")
        return isinstance(own, dict) and self.metadata.items() <= own.items()


def event_arguments(
    events: Iterable[Event], scope: Scope, session_id: str | None, metadata: Mapping[str, object]
) -> Iterator[dict[str, Any]]:
    """Yield the arguments of `ingest_memories` for each event that has text or transcribed speech.

    The argument `key` is a digest of the event's id, author and text, so that a repeated call stores nothing twice.
    Tool calls, their results, the model's thoughts and partial events are left out. A text of more than 100,000
    characters becomes several memories.
    """
    for event in events:
        if event.partial:
            continue
        text = text_of(event.content) or _transcription(event)
        for number, fields in enumerate(
            _fields(text, _rfc3339(event.timestamp), event.author, scope, session_id, metadata)
        ):
            key = _digest(event.id or "", str(number), event.author or "", fields["content"])
            yield fields | {"source": scope.source(session_id), "key": key}


def entry_arguments(
    entries: Iterable[MemoryEntry], scope: Scope, metadata: Mapping[str, object]
) -> Iterator[dict[str, Any]]:
    """Yield the arguments of `ingest_memories` for each memory entry.

    The arguments have no `key`. With a key, the server would store a deleted memory again only with a later timestamp.
    """
    for entry in entries:
        own = {**entry.custom_metadata, **metadata}
        yield from _fields(text_of(entry.content), entry.timestamp, entry.author, scope, None, own)


def text_of(content: types.Content | None) -> str:
    """Return the text of an ADK `Content`, without the model's thoughts. Replace characters that cannot be stored."""
    parts = (content.parts or []) if content else []
    return storable("\n".join(part.text for part in parts if part.text and not part.thought))


def _transcription(event: Event) -> str:
    """Return the transcribed speech of an event."""
    heard = [getattr(event, name, None) for name in ("input_transcription", "output_transcription")]
    return storable("\n".join(part.text for part in heard if part and part.text))


def batches(memories: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield batches of memories, each batch for one call.

    A memory with the same source and key as an earlier memory is left out.
    """
    batch: list[dict[str, Any]] = []
    keys: set[tuple[str, str]] = set()
    size = 0
    for memory in memories:
        if "key" in memory and (key := (memory["source"], memory["key"])) in keys:
            continue
        length = len(json.dumps(memory, ensure_ascii=False, default=str).encode())
        if len(batch) == BATCH_LIMIT or (batch and size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        if "key" in memory:
            keys.add(key)
        batch.append(memory)
        size += length
    if batch:
        yield batch


def memory_entry(hit: Mapping[str, Any]) -> MemoryEntry:
    """Convert a search result to ADK's memory entry."""
    metadata = dict(hit["metadata"])
    author = metadata.pop("adk", {}).get("author")
    names = ("session", "expires_at", "relevance", "confidence", "truncated", "near_duplicates")
    extra = {name: hit[name] for name in names if hit.get(name) is not None}
    role = None if author is None else USER if author == USER else "model"
    return MemoryEntry(
        id=hit["id"],
        author=author,
        timestamp=hit["timestamp"],
        content=types.Content(role=role, parts=[types.Part(text=hit["content"])]),
        custom_metadata=metadata | extra,
    )


def refusals(outcomes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one sentence for each memory that was not stored."""
    return [
        f"{outcome['request_id']} {outcome['state']}: {outcome['error']}"
        for outcome in outcomes
        if outcome["state"] in ("failed", "dead_lettered")
    ]


def _fields(
    text: str,
    when: str | None,
    author: str | None,
    scope: Scope,
    session_id: str | None,
    metadata: Mapping[str, object],
) -> Iterator[dict[str, Any]]:
    own = scope.metadata | ({"author": author} if author else {})
    metadata, lifetime = dict(metadata), {}
    if (ttl := metadata.pop(TTL, None)) is not None:
        lifetime[TTL] = f"{ttl.total_seconds()}s" if isinstance(ttl, timedelta) else ttl
    for start in range(0, len(text), CONTENT_LIMIT):
        if part := text[start : start + CONTENT_LIMIT].strip():
            yield {
                "content": part,
                **({"timestamp": when} if when else {}),
                "session": scope.session(session_id),
                "metadata": {**metadata, "adk": own},
                **lifetime,
            }


def _rfc3339(timestamp: float | None) -> str | None:
    """Convert seconds since 1970 to RFC 3339.

    Return None if the timestamp is missing or invalid; the server then uses the present time.
    """
    try:
        return datetime.fromtimestamp(timestamp, UTC).isoformat()  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def storable(text: str) -> str:
    """Replace the characters that the server does not accept: NUL and lone surrogates."""
    return text.encode(errors="replace").decode().replace("\x00", "\ufffd")


def _value(text: str) -> str:
    return text if len(text) <= VALUE_LIMIT else _digest(text)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode(errors="replace")).hexdigest()
