"""Rules for times of the calendar: months, quarters, seasons, holidays and dates. Pure."""

import re
from calendar import isleap
from collections.abc import Callable
from datetime import UTC, date, timedelta
from typing import cast

from mnemosyne.domain.event_time import event_time
from mnemosyne.domain.time.calendar_spans import SEASONS, Span, holiday
from mnemosyne.domain.time.grammar import Grammar, Match, Rules
from mnemosyne.domain.time.vocabulary import DAY, MONTH, MONTHS, OF, ORDINALS, SEASON, YEAR, alternatives

RULES = Rules()
_MONTH_NAMES = {number: name for name, number in MONTHS.items() if len(name) > 4 or name in ("may", "june", "july")}


@RULES.rule(rf"{MONTH}{OF}{YEAR}", rf"{YEAR} {MONTH}", rf"{YEAR}-(?P<number>\d\d?)")
def _month_of_a_year(grammar: Grammar, match: Match) -> Span:
    groups = match.groupdict()
    month = int(groups["number"]) if groups.get("number") else MONTHS[groups["month"]]
    return grammar.calendar.unit("month", date(int(match["year"]), month, 1))


@RULES.rule(rf"(?:(?:the )?(?P<which>last|previous|this) )?{MONTH}")
def _month(grammar: Grammar, match: Match) -> Span | None:
    month, today = MONTHS[match["month"]], grammar.today
    if match["which"] == "this":
        return grammar.calendar.months(today.year, month, 1)
    if match["which"]:
        return grammar.calendar.months(today.year - (month >= today.month), month, 1)
    return grammar.latest(grammar.calendar.months(year, month, 1) for year in grammar.years())


@RULES.rule(r"(?:the )?(?:year )?(?P<year>(?:19|20|21)\d\d)")
def _year(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.months(int(match["year"]), 1, 12)


@RULES.rule(r"(?P<text>[a-z0-9' -]+?),?(?: of| in)? (?P<which>last|this) year")
def _of_last_year(grammar: Grammar, match: Match) -> Span | None:
    return grammar.span(f"{match['text']} {grammar.today.year - (match['which'] == 'last')}")


@RULES.rule(
    rf"(?P<unit>q)(?P<number>[1-4])(?:{OF}{YEAR})?",
    rf"{YEAR}[ -](?P<unit>q)(?P<number>[1-4])",
    rf"(?:the )?(?P<number>{alternatives(ORDINALS)}) (?P<unit>quarter)(?:{OF}{YEAR})?",
    rf"(?P<unit>h)(?P<number>[12])(?:{OF}{YEAR})?",
    rf"{YEAR}[ -](?P<unit>h)(?P<number>[12])",
    rf"(?:the )?(?P<number>first|1st|second|2nd) (?P<unit>half)(?:{OF}(?:the year )?{YEAR})?",
)
def _quarter_or_half(grammar: Grammar, match: Match) -> Span | None:
    months = 3 if match["unit"][0] == "q" else 6
    first = months * ((ORDINALS.get(match["number"]) or int(match["number"])) - 1) + 1
    make: Callable[[int], Span] = lambda year: grammar.calendar.months(year, first, months)  # noqa: E731
    return make(int(match["year"])) if match["year"] else grammar.latest(map(make, grammar.years()))


@RULES.rule(rf"(?:the )?{SEASON}{OF}{YEAR}")
def _season_of_a_year(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.season(match["season"], int(match["year"]))


@RULES.rule(rf"(?:(?:the )?(?P<which>last|previous|past|this) |the )?{SEASON}")
def _season(grammar: Grammar, match: Match) -> Span | None:
    make: Callable[[int], Span] = lambda year: grammar.calendar.season(match["season"], year)  # noqa: E731
    if match["which"] == "this":
        name, began = grammar.calendar.season_at(grammar.today)
        return make(began if SEASONS[name] == SEASONS[match["season"]] else grammar.today.year)
    return grammar.last_of(make) if match["which"] else grammar.latest(map(make, grammar.years()))


@RULES.rule("(?:the )?(?P<which>last|previous|this) season")
def _nearest_season(grammar: Grammar, match: Match) -> Span:
    name, year = grammar.calendar.season_at(grammar.today)
    span = grammar.calendar.season(name, year)
    if match["which"] == "this" or span.start is None:
        return span
    first = span.start.astimezone(grammar.calendar.zone).date()
    return grammar.calendar.season(*grammar.calendar.season_at(first - timedelta(days=1)))


@RULES.rule(rf"(?:at )?(?:(?P<which>last|previous|this) )?(?P<name>[a-z0-9'’. -]+?)(?:{OF}{YEAR})?")
def _holiday(grammar: Grammar, match: Match) -> Span | None:
    name = re.sub("['’.]", "", match["name"]).replace("-", " ")
    if holiday(name, 2000) is None or (match["which"] and match["year"]):
        return None
    make: Callable[[int], Span] = lambda year: grammar.calendar.day(cast(date, holiday(name, year)))  # noqa: E731
    if match["year"]:
        return make(int(match["year"]))
    if match["which"] == "this":
        return make(grammar.today.year)
    return grammar.last_of(make) if match["which"] else grammar.latest(map(make, grammar.years()))


@RULES.rule(
    r"(?P<year>\d{4})(?P<separator>[-/])(?P<number>\d\d?)(?P=separator)(?P<day>\d\d?)",
    r"(?P<day>\d\d?)\.(?P<number>\d\d?)\.(?P<year>\d{4})",
    rf"(?:the )?{DAY}(?: of)? {MONTH}{OF}{YEAR}",
    rf"{MONTH} (?:the )?{DAY}{OF}{YEAR}",
)
def _date(grammar: Grammar, match: Match) -> Span:
    groups = match.groupdict()
    month = int(groups["number"]) if groups.get("number") else MONTHS[groups["month"]]
    return grammar.calendar.day(date(int(match["year"]), month, int(match["day"])))


@RULES.rule(rf"(?:the )?{DAY}(?: of)? {MONTH}", rf"{MONTH} (?:the )?{DAY}")
def _date_without_year(grammar: Grammar, match: Match) -> Span | None:
    month, day = MONTHS[match["month"]], int(match["day"])
    if not 1 <= day <= (29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31):
        return None
    leap_years = (year for year in grammar.years() if (month, day) != (2, 29) or isleap(year))
    return grammar.latest(grammar.calendar.day(date(year, month, day)) for year in leap_years)


@RULES.rule(r"(?P<first>\d\d?)/(?P<second>\d\d?)(?:/(?P<year>\d{4}))?")
def _slashed_date(grammar: Grammar, match: Match) -> Span | None:
    month, day = sorted((int(match["first"]), int(match["second"])))
    if month != day <= 12:
        return None  # ambiguous: the first number may be the day or the month
    if match["year"]:
        return grammar.calendar.day(date(int(match["year"]), month, day))
    return grammar.span(f"{day} {_MONTH_NAMES[month]}") if month in _MONTH_NAMES and day <= 31 else None


@RULES.rule(
    r"(?P<date>\d{4}-\d\d-\d\d)(?P<separator>[t ])(?P<hour>\d\d):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:\.\d{1,9})?)? ?(?P<offset>z|utc|[+-]\d\d:\d\d)?"
)
def _date_time(grammar: Grammar, match: Match) -> Span | None:
    offset = "+00:00" if match["offset"] in ("z", "utc") else match["offset"] or ""
    if match["separator"] == " " and not match["second"] and offset > f"-{match['hour']}:{match['minute']}":
        return None  # in "2026-05-03 14:00-16:00", the second time is the end, and not an offset from UTC
    text = f"{match['date']}T{match['hour']}:{match['minute']}:{match['second'] or '00'}{offset}"
    moment = event_time(text)
    start = moment.astimezone(UTC) if offset else grammar.calendar.utc(moment)
    return Span(start=start, end=start + (timedelta(seconds=1) if match["second"] else timedelta(minutes=1)))


@RULES.rule(r"(?P<year>\d{4})-w(?P<week>\d\d)", rf"week (?P<week>\d{{1,2}}){OF}{YEAR}")
def _iso_week(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.week(date.fromisocalendar(int(match["year"]), int(match["week"]), 1))
