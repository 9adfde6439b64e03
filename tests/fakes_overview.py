"""The part of the MemoryStore in dictionaries that pages for people ask."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from mnemosyne.domain.memory import Cursor, IngestState, IngestStatus, MemorySummary
from mnemosyne.domain.overview import HISTORY_LIMIT, Facets, GivenRating, History, Per, Timeline
from mnemosyne.domain.search import Filters
from tests.fakes_dead_letters import Requests


class FakeOverview:
    """Counts over time, tags, histories, requests and dead letters."""

    requests: Requests
    ratings: list[tuple[UUID, GivenRating]]

    @abstractmethod
    def list(
        self, namespace: str, filters: Filters, limit: int, *, after: Cursor | None = None
    ) -> Sequence[MemorySummary]: ...

    @abstractmethod
    def _shown(self, namespace: str, request_id: UUID) -> IngestStatus: ...

    def timeline(self, namespace: str, filters: Filters, per: Per | None, timezone: str) -> Timeline:
        days = [_day(one.timestamp, ZoneInfo(timezone)) for one in self.list(namespace, filters, 1_000_000)]
        chosen = per or Per.DAY
        return Timeline(per=chosen, buckets=sorted(Counter(_start(day, chosen) for day in days).items())[-1000:])

    def facets(self, namespace: str, filters: Filters, limit: int) -> Facets:
        return Counter(tag for one in self.list(namespace, filters, 5_000) for tag in one.tags).most_common(limit)

    def history(self, namespace: str, memory_id: UUID) -> History | None:
        mine = {one.id: one for one in self.list(namespace, Filters(include_superseded=True), 1_000_000)}
        if memory_id not in mine:
            return None
        newer, older = [], []
        here = mine[memory_id]
        while here.superseded_by:
            here = mine[here.superseded_by]
            newer.append(here)
        last = [memory_id]
        while last:
            step = [one for one in mine.values() if one.superseded_by in last]
            older += step
            last = [one.id for one in step]
        older = older[:HISTORY_LIMIT]
        given = [rating for one, rating in reversed(self.ratings) if one == memory_id]
        return History(supersedes=older, superseded_by=newer, ratings=given)

    def ingest_requests(
        self, namespace: str, state: IngestState | None, limit: int, *, after: Cursor | None = None
    ) -> Sequence[IngestStatus]:
        known = [self._shown(namespace, i) for n, i in self.requests if n == namespace]
        mine = ((one.updated_at, one.request_id, one) for one in known if one.updated_at)
        found = sorted((one for one in mine if state in (None, one[2].state)), key=lambda one: one[:2], reverse=True)
        return [one for at, id_, one in found if after is None or (at, id_) < (after.timestamp, after.id)][:limit]


def _day(at: datetime, zone: ZoneInfo) -> date:
    """The day of a moment in a zone, where there is one of the years 1 to 9999."""
    try:
        return at.astimezone(zone).date()
    except OverflowError:
        return at.date()


def _start(day: date, per: Per) -> date:
    match per:
        case Per.DAY:
            return day
        case Per.WEEK:
            return day - timedelta(days=day.weekday())
        case Per.MONTH:
            return day.replace(day=1)
        case Per.YEAR:
            return day.replace(month=1, day=1)
