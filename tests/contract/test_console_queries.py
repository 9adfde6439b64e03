"""Queries of the console: counts over time, tags, histories, requests and dead letters."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from mnemosyne.adapters.database import console_queries, console_queries_sql
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.console_queries import HISTORY_LIMIT, BucketLength
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.memory import KeysetCursor
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.search import Filters
from tests.fakes import NOW, request, store_of
from tests.memories import rate, store
from tests.shared_database import SharedDatabase

ALL = Filters(include_superseded=True)


def _store(memories: MemoryStore, *entries: tuple[str, datetime, list[str]], namespace: str = "ns") -> list[UUID]:
    requests = [request(content, timestamp=at, tags=tags) for content, at, tags in entries]
    outcomes = store(store_of(memories, namespace), *requests)
    return [id_ for ingest_request in requests if (id_ := outcomes[ingest_request.request_id].memory_id)]


def _at(day: int, hour: int = 12) -> datetime:
    return datetime(2026, 5, day, hour, tzinfo=UTC)


def test_memories_are_counted_by_the_days_of_a_time_zone(memories: MemoryStore) -> None:
    _store(memories, ("a", _at(1, 23), []), ("b", _at(2, 1), []), ("c", _at(2, 23), []))
    _store(memories, ("another's", _at(2), []), namespace="other")
    assert memories.timeline(ALL, BucketLength.DAY, "UTC").buckets == [(date(2026, 5, 1), 1), (date(2026, 5, 2), 2)]
    tokyo = memories.timeline(ALL, BucketLength.DAY, "Asia/Tokyo").buckets
    assert tokyo == [(date(2026, 5, 2), 2), (date(2026, 5, 3), 1)]


@pytest.mark.parametrize("name", ["CET", "EET", "MET", "WET", "EST", "MST", "HST", "EST5EDT", "Europe/Berlin"])
def test_a_day_has_the_daylight_saving_of_its_time_zone(name: str, memories: MemoryStore) -> None:
    times = [datetime(2026, month, 1, tzinfo=ZoneInfo(name)) + timedelta(minutes=30) for month in (2, 8)]
    _store(memories, *((f"memory {at}", at, []) for at in times))
    assert memories.timeline(ALL, BucketLength.DAY, name).buckets == [(at.date(), 1) for at in times]


@pytest.mark.parametrize(
    ("per", "start"),
    [
        (BucketLength.WEEK, date(2026, 5, 11)),
        (BucketLength.MONTH, date(2026, 5, 1)),
        (BucketLength.YEAR, date(2026, 1, 1)),
    ],
)
def test_a_timeline_s_bucket_starts_on_its_first_day(memories: MemoryStore, per: BucketLength, start: date) -> None:
    _store(memories, ("a", _at(13), []))
    assert memories.timeline(ALL, per, "UTC").buckets == [(start, 1)]


@pytest.mark.parametrize(
    ("first", "last", "timezone", "per"),
    [
        ("2025-01-01T23:00", "2026-02-04T01:00", "UTC", BucketLength.DAY),  # 400 days
        ("2025-01-01T23:00", "2026-02-05T01:00", "UTC", BucketLength.WEEK),  # 401 days, in 399 days and two hours
        ("2025-01-01T23:00", "2026-02-05T01:00", "Asia/Tokyo", BucketLength.DAY),  # 400 days in Tokyo
        ("2020-01-05T23:00", "2027-08-29T01:00", "UTC", BucketLength.WEEK),  # 400 weeks
        ("2020-01-05T23:00", "2027-08-30T01:00", "UTC", BucketLength.MONTH),  # 401 weeks, in less than 399 weeks
        ("1990-01-31T23:00", "2023-04-01T01:00", "UTC", BucketLength.MONTH),  # 400 months
        ("1990-01-31T23:00", "2023-05-01T01:00", "UTC", BucketLength.YEAR),  # 401 months
    ],
)
def test_a_timeline_uses_the_finest_unit_with_at_most_400_buckets(
    memories: MemoryStore, first: str, last: str, timezone: str, per: BucketLength
) -> None:
    times = [datetime.fromisoformat(f"{time}+00:00") for time in (first, last)]
    _store(memories, *((f"memory {at}", at, []) for at in times))
    assert memories.timeline(ALL, None, timezone).per is per


def test_a_timeline_counts_only_memories_that_pass_the_filters(memories: MemoryStore) -> None:
    _store(memories, ("a", _at(1), ["tea"]), ("b", _at(2), ["tea"]), ("c", _at(2), []))
    assert memories.timeline(replace(ALL, tags=("tea",)), BucketLength.DAY, "UTC").buckets[-1][1] == 1
    assert memories.timeline(replace(ALL, after=_at(2, 0)), BucketLength.DAY, "UTC").buckets == [(date(2026, 5, 2), 2)]


def test_superseded_memories_are_left_out_if_the_filters_say_so(memories: MemoryStore) -> None:
    old, new = _store(memories, ("a", _at(1), []), ("b", _at(2), []))
    memories.update(old, MemoryChange(superseded_by=new))
    assert len(memories.timeline(ALL, BucketLength.DAY, "UTC").buckets) == 2
    assert len(memories.timeline(Filters(), BucketLength.DAY, "UTC").buckets) == 1


def test_an_empty_namespace_has_a_timeline_without_buckets(memories: MemoryStore) -> None:
    assert memories.timeline(ALL, None, "UTC").buckets == []


def _tags(memories: MemoryStore, filters: Filters = ALL, limit: int = 10, prefix: str = "") -> list[tuple[str, int]]:
    return [(tag.name, tag.memories) for tag in memories.facets(filters, limit, prefix=prefix).tags]


def test_tags_are_counted_within_filters_with_the_most_common_first(memories: MemoryStore) -> None:
    _store(memories, ("a", _at(1), ["tea", "ada"]), ("b", _at(2), ["Tea"]), ("c", _at(3), ["bob"]))
    _store(memories, ("d", _at(1), ["cake"]), namespace="other")
    assert _tags(memories)[0] in (("tea", 2), ("Tea", 2))
    assert len(_tags(memories, limit=1)) == 1
    assert _tags(memories, replace(ALL, tags=("bob",))) == [("bob", 1)]
    assert memories.facets(ALL, 1).total_tags == 3


def test_tags_are_found_by_their_prefix_in_any_case(memories: MemoryStore) -> None:
    _store(memories, ("a", _at(1), ["Äpfel", "apples", "tea"]))
    assert _tags(memories, prefix="äPF") == [("Äpfel", 1)]
    assert _tags(memories, prefix="%") == []
    assert memories.facets(ALL, 10, prefix="t").total_tags == 3


def test_a_tag_was_last_used_by_the_latest_memory_that_has_it(memories: MemoryStore) -> None:
    _store(memories, ("a", _at(1), ["tea"]), ("b", _at(4), ["tea"]), ("c", _at(9), []))
    (tag,) = memories.facets(ALL, 10).tags
    assert tag.last_used == _at(4)


def test_sessions_are_counted_with_the_latest_first(memories: MemoryStore) -> None:
    for number, session in enumerate(["one", "two", "one", None]):
        store(memories, request(f"m {number}", timestamp=_at(number + 1), session=session))
    facets = memories.facets(ALL, 10)
    assert [(session.name, session.memories) for session in facets.sessions] == [("one", 2), ("two", 1)]
    assert (facets.memories, facets.complete) == (4, True)


@pytest.mark.parametrize(("limit", "tags"), [(2, ["new"]), (3, ["new", "old"])])
def test_only_the_newest_memories_are_counted_if_there_are_too_many(
    memories: MemoryStore, monkeypatch: pytest.MonkeyPatch, limit: int, tags: list[str]
) -> None:
    monkeypatch.setattr(console_queries, "FACETED_MEMORIES", limit)
    _store(memories, ("a", _at(1), ["old"]), ("b", _at(2), ["new"]), ("c", _at(3), ["new"]))
    facets = memories.facets(ALL, 10)
    assert ([tag.name for tag in facets.tags], facets.memories, facets.complete) == (tags, limit, limit == 3)


def test_a_history_has_earlier_and_later_versions_nearest_first(memories: MemoryStore) -> None:
    first, second, third, fourth = _store(memories, *((name, _at(n), []) for n, name in enumerate("abcd", 1)))
    for old, new in ((first, second), (second, third), (third, fourth)):
        memories.update(old, MemoryChange(superseded_by=new))
    history = memories.history(second)
    assert history is not None
    assert [memory.id for memory in history.superseded_by] == [third, fourth]
    assert [superseded.id for superseded in history.supersedes] == [first]
    last = memories.history(fourth)
    assert last is not None and [superseded.id for superseded in last.supersedes] == [third, second, first]


def test_a_history_has_the_ratings_as_they_were_given(memories: MemoryStore) -> None:
    (memory_id,) = _store(memories, ("a", _at(1), []))
    rate(memories, memory_id, -1, "outdated")
    history = memories.history(memory_id)
    assert history is not None
    assert [(rating.rating, rating.reason) for rating in history.ratings] == [(-1, "outdated")]


def test_requests_are_listed_with_the_latest_change_first(memories: MemoryStore) -> None:
    requests = [request(f"memory {n}") for n in range(3)]
    for ingest_request in requests:
        store(memories, ingest_request)
    listed = [listed_request.request_id for listed_request in memories.ingest_requests(None, 2)]
    assert listed == [requests[2].request_id, requests[1].request_id]


def test_dead_letters_are_listed_without_their_data_and_read_singly_with_it(memories: MemoryStore) -> None:
    for n in range(3):
        letter = DeadLetter(
            message_id=str(n), data=b"x" * n, attributes={"a": "b"}, cause=f"cause {n}",
            dead_lettered_at=NOW + timedelta(hours=n),
        )  # fmt: skip
        memories.store_dead_letter(letter)
    listed = memories.dead_letter_summaries(10)
    assert {(letter.message_id, letter.bytes, letter.cause) for letter in listed} == {
        (str(n), n, f"cause {n}") for n in range(3)
    }
    after = KeysetCursor(timestamp=listed[0].dead_lettered_at, key=listed[0].message_id)
    assert list(memories.dead_letter_summaries(10, after=after)) == list(listed[1:])
    whole_letter = memories.dead_letter("2")
    assert whole_letter is not None and whole_letter.data == b"xx"
    assert store_of(memories, "other").dead_letter("2") is None


@pytest.mark.parametrize("timezone", ["UTC", "America/New_York", "Europe/Berlin", "Pacific/Kiritimati", "Etc/GMT+12"])
@pytest.mark.parametrize("per", [*BucketLength, None])
def test_memories_of_the_earliest_and_latest_times_are_counted_in_each_time_zone(
    memories: MemoryStore, timezone: str, per: BucketLength | None
) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    _store(memories, ("first", first, []), ("last", last, []), ("between", _at(1), []))
    for filters in (ALL, Filters()):
        buckets = memories.timeline(filters, per, timezone).buckets
        assert [count for _, count in buckets] == [1, 1, 1]
        assert buckets[0][0] == date.min
        assert buckets[-1][0].year == 9999


def test_a_page_of_an_export_has_a_limit_of_bytes(memories: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit keeps a hundred clients that export at the same time from using up the memory of the instance."""
    monkeypatch.setattr("mnemosyne.adapters.database.memories.EXPORT_BYTES", 20_000)
    _store(memories, *((f"{n:02}" + "\N{GRINNING FACE}" * 250, _at(1), []) for n in range(50)))
    pages, after = [], None
    while page := memories.export(200, after=after):
        pages.append(len(page))
        after = page[-1].cursor
    assert sum(pages) == 50
    assert max(pages) * 1_002 < 20_000 + 1_002


def test_a_history_shows_a_limited_number_of_superseded_memories(memories: MemoryStore) -> None:
    *many, last = _store(memories, *((f"note {n}", _at(1 + n // 24, n % 24), []) for n in range(HISTORY_LIMIT + 11)))
    for old in many:
        memories.update(old, MemoryChange(superseded_by=last))
    history = memories.history(last)
    assert history is not None and len(history.supersedes) == HISTORY_LIMIT
    assert {older.superseded_by for older in history.supersedes} == {last}
    assert [older.id for older in history.supersedes] == many[: -HISTORY_LIMIT - 1 : -1]  # the newest ones
    assert history.more == ["supersedes"]
    for old in many[:-HISTORY_LIMIT]:
        memories.delete(old)
    history = memories.history(last)
    assert history is not None and (len(history.supersedes), history.more) == (HISTORY_LIMIT, [])


def test_a_history_reads_only_the_superseded_memories_that_it_shows(
    memories: MemoryStore, shared_database: SharedDatabase
) -> None:
    ids = _store(memories, *((f"note {n}", _at(1), []) for n in range(43)))
    for n, old in enumerate(ids[1:]):  # each memory supersedes six others
        memories.update(old, MemoryChange(superseded_by=ids[n // 6]))
    explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {console_queries_sql.HISTORY}"
    plan = shared_database.owner.one(explain, namespace="ns", id=ids[0], limit=3)["QUERY PLAN"]
    (scan,) = (
        node for node in _nodes(plan[0]["Plan"]) if node["Node Type"] == "CTE Scan" and node["CTE Name"] == "older"
    )
    assert scan["Actual Rows"] == 4


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for part in plan.get("Plans", ()) for node in _nodes(part))]
