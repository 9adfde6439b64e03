"""Days, weeks, months, seasons and holidays as time spans. Pure."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal, TypeVar

Unit = Literal["minute", "hour", "day", "week", "month", "quarter", "year"]
_Day = TypeVar("_Day", bound=date)

# Parts of the day, in hours after midnight. There is no common convention for these hours. They are chosen so that each
# hour of the day belongs to a part.
PARTS_OF_DAY = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (21, 29)}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""First month of each meteorological season in the northern hemisphere."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """A time span in UTC, which includes its start but not its end. A start or end of None means unbounded.

    `day` is set if the span is one local day. `is_hour` is true if the time expression names a full hour: the span of
    "3 p.m." is from 3 p.m. to 4 p.m.
    """

    start: datetime | None
    end: datetime | None
    day: date | None = None
    is_hour: bool = False


class Calendar:
    """Computes time spans in a time zone. Times such as "two days ago" are relative to `now`.

    Methods raise OverflowError or ValueError outside the years 1 to 9999.
    """

    def __init__(self, now: datetime, zone: tzinfo) -> None:
        self.zone = zone
        self.now = now.astimezone(UTC)
        self.local = now.astimezone(zone).replace(tzinfo=None, fold=0)
        self.today = self.local.date()

    def utc(self, wall: datetime) -> datetime:
        """Convert a local time (as a clock on the wall shows it) to UTC."""
        return wall.replace(tzinfo=self.zone).astimezone(UTC)

    def between(self, first: datetime, last: datetime) -> Span:
        """Return the span between two local times."""
        return Span(start=self.utc(first), end=self.utc(last))

    def days(self, first: date, last: date) -> Span:
        """Return the span from the start of the day `first` to the start of the day `last`, which is not included."""
        midnight = time.min
        return self.between(datetime.combine(first, midnight), datetime.combine(last, midnight))

    def day(self, day: date) -> Span:
        """Return the span of a local day."""
        span = self.days(day, day + timedelta(days=1))
        return Span(start=span.start, end=span.end, day=day)

    def hours(self, day: date, first: float, last: float) -> Span:
        """Return the span between two local times of a day. The times are hours after midnight.

        A local time that was skipped when clocks were set forward means a later time: 2:30 means 3:30. So if a whole
        hour was skipped, its span is the hour after the change of the clocks.
        """
        midnight = datetime.combine(day, time.min)
        span = self.between(midnight + timedelta(hours=first), midnight + timedelta(hours=last))
        if span.start and span.end and span.end <= span.start:
            return Span(start=span.start, end=span.start + timedelta(hours=last - first))
        return span

    def clock(self, day: date, hour: float, *, minute: bool = False) -> Span:
        """Return the span of one hour that begins at a local time of a day or, if `minute` is true, of one minute.

        `hour` is the time in hours after midnight, such as 14.5 for 14:30.
        """
        span = self.hours(day, hour, hour + 1)
        end = span.start + timedelta(minutes=1) if minute and span.start else span.end
        return Span(start=span.start, end=end, is_hour=not minute)

    def week(self, day: date) -> Span:
        """Return the week that contains the day. Weeks begin on Monday."""
        monday = day - timedelta(days=day.weekday())
        return self.days(monday, monday + timedelta(days=7))

    def weekend(self, day: date) -> Span:
        """Return Saturday and Sunday of the week that contains the day."""
        saturday = day + timedelta(days=5 - day.weekday())
        return self.days(saturday, saturday + timedelta(days=2))

    def months(self, year: int, month: int, count: int) -> Span:
        """Return the span of `count` months, beginning with `month`.

        A `month` outside 1 to 12 is in an earlier or later year than `year`. For example, month 13 is the next January.
        """
        return self.days(_first_day_of_month(year, month), _first_day_of_month(year, month + count))

    def unit(self, unit: Unit, day: date) -> Span:
        """Return the day, week, month, quarter or year that contains a day."""
        match unit:
            case "day":
                return self.day(day)
            case "week":
                return self.week(day)
            case "month":
                return self.months(day.year, day.month, 1)
            case "quarter":
                return self.months(day.year, day.month - (day.month - 1) % 3, 3)
        return self.months(day.year, 1, 12)

    def ago(self, unit: Unit, count: int) -> datetime:
        """Return the time in UTC that was `count` units ago.

        Minutes and hours are elapsed time, even if clocks were set forward or back meanwhile.
        """
        if unit in ("minute", "hour"):
            return self.now - timedelta(**{f"{unit}s": count})
        return self.utc(subtract(self.local, unit, count))

    def unit_ago(self, unit: Unit, count: int) -> Span:
        """Return the minute, hour, day, week, month, quarter or year that contains the time `count` units ago."""
        if unit not in ("minute", "hour"):
            return self.unit(unit, subtract(self.today, unit, count))
        moment = self.ago(unit, count)
        local = moment.astimezone(self.zone)
        minutes = local.minute if unit == "hour" else 0
        start = moment - timedelta(minutes=minutes, seconds=local.second, microseconds=local.microsecond)
        return Span(start=start, end=start + timedelta(**{f"{unit}s": 1}))

    def season(self, name: str, year: int) -> Span:
        """Return the span of a season. `name` is the season, and `year` is the year in which the season begins."""
        return self.months(year, SEASONS[name], 3)

    def season_at(self, day: date) -> tuple[str, int]:
        """Return the name of the season that contains the day, and the year in which it began."""
        name = {0: "winter", 1: "spring", 2: "summer", 3: "autumn"}[day.month % 12 // 3]
        return name, day.year - (name == "winter" and day.month < 12)


def _first_day_of_month(year: int, month: int) -> date:
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)


def subtract(day: _Day, unit: str, count: int) -> _Day:
    """Return the day `count` days, weeks, months, quarters or years earlier, as a date or with the same time of day.

    If the day does not exist in the month (such as 31 April), the result is the last day of the month.
    """
    if unit in ("day", "week"):
        return day - timedelta(days=count * (7 if unit == "week" else 1))
    first = _first_day_of_month(day.year, day.month - count * {"month": 1, "quarter": 3, "year": 12}[unit])
    length = (_first_day_of_month(first.year, first.month + 1) - first).days
    return day.replace(year=first.year, month=first.month, day=min(day.day, length))


def easter(year: int) -> date:
    """Return the date of Easter Sunday in the Western churches.

    The formula is the anonymous Gregorian computus (Meeus, "Astronomical Algorithms").
    """
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)


def _nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))


_FIXED = {
    "new year": (1, 1), "new years": (1, 1), "new years day": (1, 1), "valentines": (2, 14), "valentines day": (2, 14),
    "international womens day": (3, 8), "st patricks day": (3, 17), "saint patricks day": (3, 17),
    "earth day": (4, 22), "may day": (5, 1), "international workers day": (5, 1), "juneteenth": (6, 19),
    "independence day": (7, 4), "july 4th": (7, 4), "fourth of july": (7, 4), "4th of july": (7, 4),
    "halloween": (10, 31), "all saints day": (11, 1), "veterans day": (11, 11), "christmas eve": (12, 24),
    "christmas": (12, 25), "christmas day": (12, 25), "xmas": (12, 25), "boxing day": (12, 26),
    "new year eve": (12, 31), "new years eve": (12, 31),
}  # fmt: skip
_AFTER_EASTER = {
    "good friday": -2, "easter": 0, "easter sunday": 0, "easter monday": 1, "ascension day": 39, "ascension": 39,
    "pentecost": 49, "whit sunday": 49, "whitsun": 49, "whit monday": 50, "pentecost monday": 50,
}  # fmt: skip
_MONDAY, _THURSDAY, _SUNDAY = 0, 3, 6
_WEEKDAY_OF_MONTH = {
    **dict.fromkeys(("mlk day", "mlk jr day", "martin luther king day", "martin luther king jr day",
                     "civil rights day"), (1, _MONDAY, 3)),
    "presidents day": (2, _MONDAY, 3), "mothers day": (5, _SUNDAY, 2), "fathers day": (6, _SUNDAY, 3),
    "memorial day": (6, _MONDAY, 0), "labor day": (9, _MONDAY, 1), "labour day": (9, _MONDAY, 1),
    "columbus day": (10, _MONDAY, 2), "indigenous peoples day": (10, _MONDAY, 2),
    "thanksgiving": (11, _THURSDAY, 4), "thanksgiving day": (11, _THURSDAY, 4),
}  # fmt: skip
"""For each holiday, the month, the weekday and its number: 2 is the second such weekday in the month. Number 0 is the
last such weekday in the previous month."""


def holiday(name: str, year: int) -> date | None:
    """Return the date of a holiday; None if the name is unknown. Names have no apostrophes or hyphens."""
    if name in _FIXED:
        return date(year, *_FIXED[name])
    if name in _AFTER_EASTER:
        return easter(year) + timedelta(days=_AFTER_EASTER[name])
    if name == "black friday":
        return _nth_weekday(year, 11, _THURSDAY, 4) + timedelta(days=1)
    return _nth_weekday(year, *_WEEKDAY_OF_MONTH[name]) if name in _WEEKDAY_OF_MONTH else None
