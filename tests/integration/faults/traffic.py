"""Random messages for the topic, and their expected outcomes by a simple model of docs/requests.md."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from mnemosyne.domain.memory import IngestState, content_hash
from mnemosyne.ids import deletion_id, version_id

SOURCE = "crm"
POISON = "poison"
"""Word in a text for which the embedder always returns an invalid response."""
REFUSED = "refused"
"""Word in a text that the embedder always refuses with 400."""
FIRST = datetime(2026, 5, 20, tzinfo=UTC)
STORED = frozenset({IngestState.STORED, IngestState.DUPLICATE})
DELETED = frozenset({IngestState.DELETED})
FAILED = frozenset({IngestState.FAILED})
DEAD_LETTERED = frozenset({IngestState.DEAD_LETTERED})
KINDS: Mapping[str, int] = {
    "new": 40,
    "same content": 8,
    "version": 30,
    "deletion": 8,
    "invalid": 5,
    "refused": 3,
    "poison": 1,
}


@dataclass
class Record:
    """The published versions and deletions of one key.

    Each has its timestamp in seconds, and its index in the order of publication. A version also has its content.
    """

    versions: list[tuple[int, int, str]] = field(default_factory=list)
    deletions: list[tuple[int, int]] = field(default_factory=list)

    @property
    def current(self) -> str | None:
        """The content of the latest version that no deletion covers."""
        missing_versions = [
            version
            for version in self.versions
            if not any(version[0] <= time or version[1] < place for time, place in self.deletions)
        ]
        return max(missing_versions)[2] if missing_versions else None


@dataclass
class Message:
    """A published message."""

    data: bytes
    may_be_repeated: bool = True


class Traffic:
    """Generates random messages, publishes them in order, and records the expected results."""

    def __init__(self, random: Random, publish: Callable[[bytes], object]) -> None:
        self._random = random
        self._publish = publish
        self._order = 0
        self._messages: list[Message] = []
        self.records: dict[str, Record] = {}
        self.allowed: dict[UUID, frozenset[IngestState]] = {}
        """The states in which each request may end."""
        self.contents: dict[UUID, str] = {}
        """The content of each memory that was published without a key."""
        self.alternatives: list[set[str]] = []
        """Groups of contents. Of each group, exactly one content must be stored: the one that was delivered first."""
        self.dead_letters: list[set[bytes]] = []
        """Groups of messages. Of each group, exactly one message must become a dead letter."""
        self.published = 0

    def problems_of_contents(self, stored_contents: set[str]) -> list[str]:
        """Return a sentence for each content that is wrongly stored, and for each content that is wrongly missing."""
        current = {content for record in self.records.values() if (content := record.current)}
        expected = current | set(self.contents.values())
        either = set[str]().union(*self.alternatives)
        wrong = [
            f"{sorted(alternative)}: not exactly one is found"
            for alternative in self.alternatives
            if len(alternative & stored_contents) != 1
        ]
        return [
            *wrong,
            *(f"{content} is missing" for content in sorted(expected - stored_contents)),
            *(f"{content} is found" for content in sorted(stored_contents - expected - either)),
        ]

    def publish_some(self) -> None:
        """Publish a new message, or an earlier message again, or two messages that contradict each other."""
        match self._random.choices(["message", "again", "unreadable", "conflict"], [100, 12, 1, 1])[0]:
            case "again" if repeatable := [message for message in self._messages[-200:] if message.may_be_repeated]:
                self._send(self._random.choice(repeatable).data)
            case "unreadable":
                data = b"not JSON " + self._name().encode()
                self.dead_letters.append({data})
                self._send(data)
            case "conflict":
                self._publish_conflict()
            case _:
                self._publish_message()

    def _publish_message(self) -> None:
        keys: set[str] = set()
        kinds = self._random.choices(list(KINDS), list(KINDS.values()), k=self._random.randint(1, 8))
        items = [item for kind in kinds if (item := self._item(kind, keys))] or [self._new()]
        data = json.dumps({"memories": items}).encode()
        poisoned = any(POISON in str(item.get("content")) for item in items)
        if poisoned:
            self.dead_letters.append({data})
        self._messages.append(Message(data, may_be_repeated=not keys and not poisoned))
        self._send(data)

    def _publish_conflict(self) -> None:
        """Publish two contents under one request id: one is stored, and the other is kept as a dead letter."""
        first = self._new()
        self.contents.pop(UUID(first["request_id"]))
        second = {**first, "content": f"memory {self._name()}"}
        self.alternatives.append({first["content"], second["content"]})
        both = {json.dumps(body).encode() for body in (first, second)}
        self.dead_letters.append(both)
        for data in sorted(both):
            self._send(data)

    def _send(self, data: bytes) -> None:
        self._publish(data)
        self.published += 1

    def _item(self, kind: str, keys: set[str]) -> dict[str, Any] | None:
        match kind:
            case "version" | "deletion":
                key = f"key {self._random.randrange(40)}"
                if key in keys:
                    return None
                keys.add(key)
                return self._version(key) if kind == "version" else self._deletion(key)
            case "same content" if self.contents:
                return self._memory(self._random.choice(list(self.contents.values())), STORED)
            case "invalid":
                return self._memory("", FAILED)
            case "refused":
                return self._memory(f"{REFUSED} {self._name()}", FAILED)
            case "poison":
                return self._memory(f"{POISON} {self._name()}", DEAD_LETTERED)
            case _:
                return self._new()

    def _new(self) -> dict[str, Any]:
        return self._memory(f"memory {self._name()}", STORED)

    def _memory(self, content: str, states: frozenset[IngestState]) -> dict[str, Any]:
        request_id = UUID(int=self._random.getrandbits(128), version=4)
        self.allowed[request_id] = states
        if states == STORED:
            self.contents[request_id] = content
        return {"request_id": str(request_id), "content": content, "timestamp": FIRST.isoformat()}

    def _version(self, key: str) -> dict[str, Any]:
        record = self.records.setdefault(key, Record())
        second, place = self._time_and_place(record)
        content = f"{key} version {self._random.randrange(8)}"
        record.versions.append((second, place, content))
        time = FIRST + timedelta(seconds=second)
        self.allowed[version_id(SOURCE, key, content_hash(content, None), time)] = STORED | DELETED
        return {"source": SOURCE, "key": key, "content": content, "timestamp": time.isoformat()}

    def _deletion(self, key: str) -> dict[str, Any]:
        record = self.records.setdefault(key, Record())
        second, place = self._time_and_place(record)
        record.deletions.append((second, place))
        time = FIRST + timedelta(seconds=second)
        self.allowed[deletion_id(SOURCE, key, time)] = DELETED
        return {"source": SOURCE, "key": key, "op": "delete", "timestamp": time.isoformat()}

    def _time_and_place(self, record: Record) -> tuple[int, int]:
        """Return a timestamp that is new for the record, and the next index in the order of publication.

        The timestamp is usually later than the earlier timestamps of the record.
        """
        times = {version[0] for version in record.versions} | {deletion[0] for deletion in record.deletions}
        latest = max(times, default=0)
        second = self._random.choice([latest + self._random.randint(1, 9), self._random.randint(1, latest + 9)])
        while second in times:
            second += 1
        self._order += 1
        return second, self._order

    def _name(self) -> str:
        return f"{self._random.getrandbits(64):016x}"


def problems_of_states(traffic: Traffic, states: Mapping[UUID, IngestState]) -> list[str]:
    """Return the requests whose final state is not allowed by the model."""
    return [
        f"{request_id}: {states.get(request_id)} is none of {sorted(allowed)}"
        for request_id, allowed in traffic.allowed.items()
        if states.get(request_id) not in allowed
    ]


def problems_of_dead_letters(traffic: Traffic, dead_letter_data: Sequence[bytes]) -> list[str]:
    """Return the messages that must be dead letters and are not, and the dead letters that must not be."""
    of_one = [len(alternatives & set(dead_letter_data)) for alternatives in traffic.dead_letters]
    missing = [
        f"{sorted(bodies)}: {count} kept"
        for bodies, count in zip(traffic.dead_letters, of_one, strict=True)
        if count != 1
    ]
    expected = {data for alternatives in traffic.dead_letters for data in alternatives}
    return missing + [f"kept: {data!r}" for data in dead_letter_data if data not in expected]
