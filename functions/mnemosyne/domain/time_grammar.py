"""The grammar of time expressions: which words mean which span. Pure; every rule matches the whole text or nothing.

A rule that can be read in two ways is left out on purpose: not understood is an error, misunderstood is a lie.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import cast

from mnemosyne.domain.calendar_spans import PARTS_OF_DAY, SEASONS, Calendar, Span, Unit, holiday
from mnemosyne.domain.time_vocabulary import (
    CALENDAR_UNIT,
    CLOCK,
    DAY,
    MONTH,
    MONTHS,
    NUMBERS,
    OF,
    ORDINALS,
    PART,
    SEASON,
    UNIT,
    UNITS,
    WEEKDAY,
    WEEKDAYS,
    YEAR,
    N,
    alternatives,
)

Match = re.Match[str]
Rule = Callable[["Grammar", Match], Span | None]
_rules: list[tuple[re.Pattern[str], Rule]] = []


def _rule(*patterns: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _rules.extend((re.compile(pattern, re.ASCII), rule) for pattern in patterns)
        return rule

    return register


class Grammar:
    """Reads expressions around a moment. `horizon` is the last day that "the latest March" may begin on."""

    def __init__(self, calendar: Calendar, horizon: date | None = None) -> None:
        self.calendar = calendar
        self.today = calendar.today
        self.horizon = horizon or calendar.today
        self._known: dict[str, Span | None] = {}

    def span(self, text: str) -> Span | None:
        """The span that the whole text names; None where no rule matches. May raise ValueError, OverflowError.

        Rules read parts of the text in turn: each part is read once, or the time taken would double with each word.
        """
        if text not in self._known:
            self._known[text] = self._span(text)
        return self._known[text]

    def _span(self, text: str) -> Span | None:
        text = re.sub(r"^(?:in|on|during|within|over|for|throughout) ", "", text)
        for pattern, rule in _rules:
            if (match := pattern.fullmatch(text)) and (span := rule(self, match)):
                return span
        return None

    def day(self, text: str) -> date | None:
        """The one day that the whole text names; None where it names none, or a longer or shorter span."""
        span = self.span(text)
        return span.day if span else None

    def latest(self, candidates: Iterator[Span]) -> Span | None:
        """The first of the candidates, newest first, that has begun by the horizon."""
        end = self.calendar.day(self.horizon).end
        return next((span for span in candidates if span.start and end and span.start < end), None)

    def years(self) -> Iterator[int]:
        """The horizon's year and those before it, as far as any yearly thing can be away."""
        yield from range(self.horizon.year, self.horizon.year - 9, -1)

    def last_of(self, make: Callable[[int], Span]) -> Span | None:
        """The latest yearly span that had ended before the horizon's day began."""
        now = self.calendar.day(self.horizon).start
        spans = map(make, self.years())
        return next((span for span in spans if span.end and now and span.end <= now), None)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS[text]


NEAR_DAYS = {
    "today": 0, "yesterday": -1, "tomorrow": 1, "day before yesterday": -2, "day after tomorrow": 2,
}  # fmt: skip


@_rule(rf"(?:the )?(?P<word>{alternatives(NEAR_DAYS)})")
def _near_day(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.day(grammar.today + timedelta(days=NEAR_DAYS[match["word"]]))


@_rule("(?P<word>tonight|last night)")
def _nights(grammar: Grammar, match: Match) -> Span:
    evening = grammar.today - timedelta(days=match["word"] == "last night")
    return grammar.calendar.hours(evening, 18, 29)


@_rule("this (?P<part>morning|afternoon|evening)")
def _this_part(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.hours(grammar.today, *PARTS_OF_DAY[match["part"]])


@_rule(
    rf"(?P<text>.+?)(?: in the| on the| at the| at)? {PART}",
    rf"(?:the )?{PART} (?:of |on )?(?P<text>.+)",
)
def _part_of_a_day(grammar: Grammar, match: Match) -> Span | None:
    day = grammar.day(match["text"])
    return grammar.calendar.hours(day, *PARTS_OF_DAY[match["part"]]) if day else None


@_rule(rf"(?P<text>.+?) at {CLOCK}", rf"at {CLOCK}(?: on)? (?P<text>.+)")
def _clock(grammar: Grammar, match: Match) -> Span | None:
    day, hour, half = grammar.day(match["text"]), int(match["hour"]), (match["half"] or "").replace(".", "")
    if day is None or (half and not 1 <= hour <= 12) or hour > 23 or not (half or match["minute"]):
        return None
    hour = hour % 12 + 12 * (half == "pm") if half else hour
    start = hour + int(match["minute"] or 0) / 60
    return grammar.calendar.hours(day, start, start + (1 / 60 if match["minute"] else 1))


@_rule(rf"{N} {UNIT} ago", r"(?P<n>\d{1,6})(?P<unit>min|h|d|w) ago")
def _ago(grammar: Grammar, match: Match) -> Span | None:
    count, unit = _number(match["n"]), UNITS[match["unit"]]
    if not count:
        return None
    if unit in ("minute", "hour"):
        return grammar.calendar.clock_unit(unit, grammar.calendar.now - timedelta(**{f"{unit}s": count}))
    return grammar.calendar.unit(unit, grammar.calendar.back(unit, count))


@_rule(r"(?:a )?few (?P<unit>days|weeks|months|years) ago")
def _a_few_ago(grammar: Grammar, match: Match) -> Span:
    unit, calendar = UNITS[match["unit"]], grammar.calendar
    first, last = calendar.unit(unit, calendar.back(unit, 5)), calendar.unit(unit, calendar.back(unit, 2))
    return Span(start=first.start, end=last.end)


@_rule(
    rf"(?:the )?(?:last|past) {N} {UNIT}",
    r"(?:the )?(?:last|past) (?P<n>\d{1,6})(?P<unit>min|h|d|w)",
    rf"(?:the )?(?:last|past) (?P<n>few) {UNIT}",
    rf"(?:the (?:last|past)|past) {UNIT}",
    "(?P<word>recent|recently|lately)",
)
def _rolling(grammar: Grammar, match: Match) -> Span | None:
    found = match.groupdict()
    unit: Unit
    if found.get("word"):
        unit, count = "day", 7
    else:
        given = found.get("n") or "1"
        unit, count = UNITS[match["unit"]], 3 if given == "few" else _number(given)
    start = grammar.calendar.utc(grammar.calendar.back(unit, count))
    if unit in ("minute", "hour"):  # by elapsed time, whatever clocks were set to in between
        start = grammar.calendar.now - timedelta(**{f"{unit}s": count})
    return Span(start=start, end=grammar.calendar.now) if count else None


@_rule(rf"(?P<which>last|this|next) {CALENDAR_UNIT}", rf"(?:the )?(?P<which>previous|current) {CALENDAR_UNIT}")
def _calendar_unit(grammar: Grammar, match: Match) -> Span:
    steps = {"last": 1, "previous": 1, "this": 0, "current": 0, "next": -1}[match["which"]]
    unit = UNITS[match["unit"]]
    return grammar.calendar.unit(unit, grammar.calendar.back(unit, steps))


@_rule("earlier (?P<text>today|this week|this month|this quarter|this year)")
def _earlier(grammar: Grammar, match: Match) -> Span | None:
    span = grammar.span(match["text"])
    return Span(start=span.start, end=grammar.calendar.now) if span and span.start != grammar.calendar.now else None


@_rule("(?:the )?(?P<which>last|previous|this|next) weekend", "(?P<which>(?:the )?weekend)")
def _weekend(grammar: Grammar, match: Match) -> Span | None:
    weeks = {"last": -1, "previous": -1, "this": 0, "next": 1}.get(match["which"])
    if weeks is None:
        days = (grammar.horizon - timedelta(days=7 * n) for n in range(3))
        return grammar.latest(grammar.calendar.weekend(day) for day in days)
    return grammar.calendar.weekend(grammar.today + timedelta(days=7 * weeks))


@_rule(rf"(?:(?:the )?(?P<which>last|previous|past|this|next) )?{WEEKDAY}")
def _weekday(grammar: Grammar, match: Match) -> Span:
    wanted, which = WEEKDAYS[match["weekday"]], match["which"]
    today = grammar.today if which else grammar.horizon
    back = (today.weekday() - wanted) % 7
    if which == "this":
        back = today.weekday() - wanted
    elif which == "next":
        back = back - 7
    elif which:
        back = back or 7
    return grammar.calendar.day(today - timedelta(days=back))


@_rule(
    rf"{WEEKDAY}(?: of| in)? (?P<which>last|this|next) week",
    rf"(?P<which>last|this|next) week(?: on)? {WEEKDAY}",
)
def _weekday_of_a_week(grammar: Grammar, match: Match) -> Span:
    weeks = {"last": -1, "this": 0, "next": 1}[match["which"]]
    monday = grammar.today - timedelta(days=grammar.today.weekday())
    return grammar.calendar.day(monday + timedelta(days=7 * weeks + WEEKDAYS[match["weekday"]]))


@_rule(rf"{MONTH}{OF}{YEAR}", rf"{YEAR} {MONTH}", rf"{YEAR}-(?P<number>\d\d)")
def _month_of_a_year(grammar: Grammar, match: Match) -> Span:
    found = match.groupdict()
    month = int(found["number"]) if found.get("number") else MONTHS[found["month"]]
    return grammar.calendar.unit("month", datetime.combine(date(int(match["year"]), month, 1), time.min))


@_rule(rf"(?:(?:the )?(?P<which>last|previous|this) )?{MONTH}")
def _month(grammar: Grammar, match: Match) -> Span | None:
    month, here = MONTHS[match["month"]], grammar.today
    if match["which"] == "this":
        return grammar.calendar.months(here.year, month, 1)
    if match["which"]:
        return grammar.calendar.months(here.year - (month >= here.month), month, 1)
    return grammar.latest(grammar.calendar.months(year, month, 1) for year in grammar.years())


@_rule(rf"(?:the )?(?:year )?{YEAR}")
def _year(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.months(int(match["year"]), 1, 12)


@_rule(r"(?P<text>[a-z0-9' -]+?),?(?: of| in)? (?P<which>last|this) year")
def _of_last_year(grammar: Grammar, match: Match) -> Span | None:
    return grammar.span(f"{match['text']} {grammar.today.year - (match['which'] == 'last')}")


@_rule(
    rf"q(?P<number>[1-4])(?:{OF}{YEAR})?",
    rf"{YEAR}[ -]q(?P<number>[1-4])",
    rf"(?:the )?(?P<ordinal>{alternatives(ORDINALS)}) quarter(?:{OF}{YEAR})?",
)
def _quarter(grammar: Grammar, match: Match) -> Span | None:
    found = match.groupdict()
    number = int(found["number"]) if found.get("number") else ORDINALS[found["ordinal"]]
    make: Callable[[int], Span] = lambda year: grammar.calendar.months(year, 3 * number - 2, 3)  # noqa: E731
    return make(int(found["year"])) if found["year"] else grammar.latest(map(make, grammar.years()))


@_rule(
    rf"h(?P<number>[12])(?:{OF}{YEAR})?",
    rf"{YEAR}[ -]h(?P<number>[12])",
    rf"(?:the )?(?P<ordinal>first|1st|second|2nd) half(?:{OF}(?:the year )?{YEAR})?",
)
def _half(grammar: Grammar, match: Match) -> Span | None:
    found = match.groupdict()
    number = int(found["number"]) if found.get("number") else ORDINALS[found["ordinal"]]
    make: Callable[[int], Span] = lambda year: grammar.calendar.months(year, 6 * number - 5, 6)  # noqa: E731
    return make(int(found["year"])) if found["year"] else grammar.latest(map(make, grammar.years()))


@_rule(rf"(?:the )?{SEASON}{OF}{YEAR}")
def _season_of_a_year(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.season(match["season"], int(match["year"]))


@_rule(rf"(?:(?:the )?(?P<which>last|previous|past|this) |the )?{SEASON}")
def _season(grammar: Grammar, match: Match) -> Span | None:
    make: Callable[[int], Span] = lambda year: grammar.calendar.season(match["season"], year)  # noqa: E731
    if match["which"] == "this":
        name, began = grammar.calendar.season_at(grammar.today)
        return make(began if SEASONS[name] == SEASONS[match["season"]] else grammar.today.year)
    return grammar.last_of(make) if match["which"] else grammar.latest(map(make, grammar.years()))


@_rule("(?:the )?(?P<which>last|previous|this) season")
def _nearest_season(grammar: Grammar, match: Match) -> Span:
    name, year = grammar.calendar.season_at(grammar.today)
    span = grammar.calendar.season(name, year)
    if match["which"] == "this" or span.start is None:
        return span
    first = span.start.astimezone(grammar.calendar.zone).date()
    return grammar.calendar.season(*grammar.calendar.season_at(first - timedelta(days=1)))


@_rule(rf"(?:(?P<which>last|this) )?(?P<name>[a-z0-9'’ -]+?)(?:{OF}{YEAR})?")
def _holiday(grammar: Grammar, match: Match) -> Span | None:
    name = re.sub("['’]", "", match["name"]).replace("-", " ")
    if holiday(name, 2000) is None or (match["which"] and match["year"]):
        return None
    make: Callable[[int], Span] = lambda year: grammar.calendar.day(cast(date, holiday(name, year)))  # noqa: E731
    if match["year"]:
        return make(int(match["year"]))
    if match["which"] == "this":
        return make(grammar.today.year)
    return grammar.last_of(make) if match["which"] else grammar.latest(map(make, grammar.years()))


@_rule(
    r"(?P<year>\d{4})[-/](?P<number>\d\d)[-/](?P<day>\d\d)",
    r"(?P<day>\d\d?)\.(?P<number>\d\d?)\.(?P<year>\d{4})",
    rf"(?:the )?{DAY}(?: of)? {MONTH}{OF}{YEAR}",
    rf"{MONTH} (?:the )?{DAY}{OF}{YEAR}",
)
def _date(grammar: Grammar, match: Match) -> Span:
    found = match.groupdict()
    month = int(found["number"]) if found.get("number") else MONTHS[found["month"]]
    return grammar.calendar.day(date(int(match["year"]), month, int(match["day"])))


@_rule(rf"(?:the )?{DAY}(?: of)? {MONTH}", rf"{MONTH} (?:the )?{DAY}")
def _date_without_year(grammar: Grammar, match: Match) -> Span | None:
    month, day = MONTHS[match["month"]], int(match["day"])
    if not 1 <= day <= (29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31):
        return None
    leap_years = (year for year in grammar.years() if (month, day) != (2, 29) or _is_leap(year))
    return grammar.latest(grammar.calendar.day(date(year, month, day)) for year in leap_years)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@_rule(r"(?P<one>\d\d?)/(?P<two>\d\d?)/(?P<year>\d{4})")
def _slashed_date(grammar: Grammar, match: Match) -> Span | None:
    one, two, year = int(match["one"]), int(match["two"]), int(match["year"])
    if one <= 12 and two <= 12 and one != two:
        return None  # the day or the month first: two readings
    return grammar.calendar.day(date(year, min(one, two), max(one, two)) if one <= 12 else date(year, two, one))


@_rule(
    r"(?P<date>\d{4}-\d\d-\d\d)[t ](?P<hour>\d\d):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:\.\d{1,9})?)? ?(?P<offset>z|[+-]\d\d:\d\d)?"
)
def _date_time(grammar: Grammar, match: Match) -> Span:
    offset = (match["offset"] or "").replace("z", "+00:00")
    text = f"{match['date']}T{match['hour']}:{match['minute']}:{match['second'] or '00'}{offset}"
    moment = datetime.fromisoformat(text)
    start = moment.astimezone(UTC) if offset else grammar.calendar.utc(moment)
    return Span(start=start, end=start + (timedelta(seconds=1) if match["second"] else timedelta(minutes=1)))


@_rule(r"(?P<year>\d{4})-w(?P<week>\d\d)", rf"week (?P<week>\d{{1,2}}){OF}{YEAR}")
def _iso_week(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.week(date.fromisocalendar(int(match["year"]), int(match["week"]), 1))


@_rule(r"(?:the )?(?P<third>early|mid|late|beginning|start|middle|end)(?: of)?[ -](?:in )?(?P<text>.+)")
def _third(grammar: Grammar, match: Match) -> Span | None:
    third = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1}.get(match["third"], 2)
    span = grammar.span(match["text"])
    if span is None or span.start is None or span.end is None:
        return None
    zone, calendar = grammar.calendar.zone, grammar.calendar
    first, past = span.start.astimezone(zone).date(), span.end.astimezone(zone).date()
    if span == calendar.unit("month", datetime.combine(first, time.min)):
        edges = [first, first + timedelta(days=10), first + timedelta(days=20), past]
        return calendar.days(edges[third], edges[third + 1])
    if span == calendar.unit("year", datetime.combine(first, time.min)):
        return calendar.months(first.year, 1 + 4 * third, 4)
    return None
