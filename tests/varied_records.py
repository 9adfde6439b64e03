"""Valid and invalid records, as people and data warehouses write them, each with the expected request."""

import itertools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

from mnemosyne.domain.memory import content_hash
from mnemosyne.ids import deletion_id, version_id

_IDS = UUID("0192f3a4-0000-7000-8000-000000000000")
_SOURCE = "https://crm.example.com/tickets"
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Sample:
    """A record and its expected request or error."""

    row: dict[str, Any]
    request_id: UUID
    kind: str
    """Kind of the record: `memory`, `version`, `deletion` or `bad`."""
    key: str = ""
    when: datetime = _BEGIN

    @property
    def line(self) -> bytes:
        """Return the record as a line of JSON. A lone surrogate becomes bytes that are not valid UTF-8."""
        return json.dumps(self.row, ensure_ascii=False).encode(errors="surrogateescape")

    @property
    def content(self) -> str:
        """The content of the record."""
        return str(self.row.get("content"))


def _time(pick: random.Random, when: datetime) -> dict[str, Any]:
    """Return the time as text in the format of a randomly chosen system."""
    seconds = int(when.timestamp())
    tokyo = when.astimezone(ZoneInfo("Asia/Tokyo")).replace(tzinfo=None)
    forms: list[dict[str, Any]] = [
        {"timestamp": when.isoformat()},
        {"timestamp": f"{when:%Y-%m-%dT%H:%M:%S}Z", "timezone": "Asia/Tokyo"},
        {"timestamp": f"{when:%Y-%m-%d %H:%M:%S}.0 UTC"},
        {"timestamp": f"{when:%Y-%m-%d %H:%M:%S}+00"},
        {"timestamp": f"{when:%Y-%m-%d %H:%M:%S}", "timezone": ""},
        {"timestamp": tokyo.isoformat(), "timezone": "Asia/Tokyo"},
        {"timestamp": seconds},
        {"timestamp": seconds * 1_000},
        {"timestamp": seconds * 1_000_000},
        {"timestamp": f"{when:%Y%m%dT%H%M%S}Z"},
        {"timestamp": int(f"{tokyo:%Y%m%d%H%M%S}"), "timezone": "Asia/Tokyo"},
    ]
    return pick.choice(forms)


def _labels(pick: random.Random) -> dict[str, Any]:
    """Return a random choice of optional fields in random formats."""
    return {
        **pick.choice([{}, *({"tags": tags} for tags in ("a, b", ["a", "b"], '["a", "b"]', None, ""))]),
        **pick.choice([{}, {"title": "T"}, {"title": ""}, {"title": None}]),
        **pick.choice([{}, {"metadata": {"k": [1, 2.5, None]}}, {"metadata": '{"k": "ß"}'}, {"metadata": None}]),
        **pick.choice([{}, {"session": "monday"}, {"session": ""}]),
        **pick.choice([{}, {"op": "upsert"}, {"op": "UPSERT"}, {"op": None}]),
        **pick.choice([{}, {"namespace": "default"}, {"schema_version": 1}, {"schema_version": "1"}]),
    }


_BAD: list[dict[str, Any]] = [
    {"content": ...}, {"content": ""}, {"content": " "}, {"content": "x" * 100_001}, {"content": "a\x00b"},
    {"content": "bad \udcff byte"}, {"content": 17}, {"timestamp": "yesterday"}, {"timestamp": 20261399},
    {"timestamp": 2026}, {"timestamp": "2026-02-30"}, {"timestamp": "20260230"}, {"timestamp": True},
    {"timestamp": "0001-01-01", "timezone": "Asia/Tokyo"}, {"timezone": "Mars"}, {"timezone": 5}, {"tags": [" "]},
    {"tags": ["x"] * 51}, {"tags": {"a": 1}}, {"tags": "a" * 101}, {"title": 2024}, {"title": " "}, {"metadata": [1]},
    {"metadata": "text"}, {"metadata": {"k": 2**70}}, {"session": "s" * 201}, {"op": "insert"}, {"op": "d"},
    {"key": "k"}, {"key": 1.5, "source": "s"}, {"key": "k" * 301, "source": "s"}, {"namespace": "theirs"},
    {"namespace": 5}, {"schema_version": "one"}, {"schema_version": 0}, {"op": "delete", "key": ""},
    {"title": "x" * 501, "tags": 5, "metadata": 5},
]  # fmt: skip


class Records:
    """Generator of the same records in each run."""

    def __init__(self, count: int) -> None:
        self._pick = random.Random(20261125)
        self._number = 0
        self._problems = itertools.cycle(_BAD)
        self._seconds = list(range(count * 3))
        self._pick.shuffle(self._seconds)
        self.keys = [str(n) for n in range(max(count // 12, 1))]
        self.deleted = self.keys[: max(len(self.keys) // 5, 1)]

    def made(self, count: int) -> list[Sample]:
        """Return `count` records, whose timestamps are in random order.

        Most are memories, versions of keyed records, and invalid records. Then follow deletions, further memories, and
        at the end new versions of deleted records.
        """
        deletions, late = count * 2 // 100, count * 2 // 100
        pause = min(200, count // 10)
        first = [self._one() for _ in range(count - deletions - late - pause)]
        deleted = [self._deletion(key) for key in self._pick.choices(self.deleted, k=deletions)]
        between = [self._memory() for _ in range(pause)]
        return [*first, *deleted, *between, *(self._version(self._pick.choice(self.deleted)) for _ in range(late))]

    def _one(self) -> Sample:
        make: Callable[[], Sample] = self._pick.choices(
            [self._memory, self._bad, lambda: self._version(self._pick.choice(self.keys))], weights=[4, 2, 4]
        )[0]
        return make()

    def _next(self) -> tuple[int, UUID, datetime]:
        self._number += 1
        when = _BEGIN + timedelta(seconds=self._seconds[self._number])
        return self._number, uuid5(_IDS, str(self._number)), when

    def _memory(self) -> Sample:
        """Return a memory without a key. One memory in ten repeats the content of an earlier memory."""
        number, request_id, when = self._next()
        repeated_number = number if self._pick.random() > 0.1 else self._pick.randrange(1, number + 1)
        extra_records: list[dict[str, Any]] = [
            {},
            {"mood": "fine", "text": 5},
            {"source": "slack"},
            {"source": None, "key": None},
        ]
        row = {
            "content": f"memory {repeated_number}",
            "request_id": str(request_id),
            **self._pick.choice(extra_records),
        }
        return Sample(row | _time(self._pick, when) | _labels(self._pick), request_id, "memory", when=when)

    def _version(self, key: str) -> Sample:
        """Return a version of a record. One version in ten has a content that versions of the record share.

        It thus repeats a content of the record with another timestamp.
        """
        number, _, when = self._next()
        labels = _labels(self._pick)
        content = f"record {key} as of {number if self._pick.random() > 0.1 else 0}"
        row = {"content": content, "source": _SOURCE, "key": self._pick.choice([key, int(key)]), **labels}
        digest = content_hash(content, labels.get("session") or None)
        request_id = version_id(_SOURCE, key, digest, when)
        return Sample(row | _time(self._pick, when), request_id, "version", key, when)

    def _deletion(self, key: str) -> Sample:
        _, _, when = self._next()
        extra_records: list[dict[str, Any]] = [{}, {"content": ""}, {"content": None, "title": 5, "tags": {}}]
        row = {"op": self._pick.choice(["delete", "DELETE"]), "source": _SOURCE, "key": key}
        row |= _time(self._pick, when) | self._pick.choice(extra_records)
        return Sample(row, deletion_id(_SOURCE, key, when), "deletion", key, when)

    def _bad(self) -> Sample:
        number, request_id, when = self._next()
        good = {"content": f"bad {number}", "timestamp": when.isoformat(), "request_id": str(request_id)}
        changed = good | next(self._problems)
        return Sample({k: v for k, v in changed.items() if v is not ...}, request_id, "bad", when=when)
