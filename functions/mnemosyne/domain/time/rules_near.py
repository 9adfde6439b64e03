"""Rules for times relative to now: yesterday evening, three weeks ago, the last few days, next Tuesday. Pure."""

from datetime import timedelta

from mnemosyne.domain.time.calendar_spans import PARTS_OF_DAY, Span
from mnemosyne.domain.time.grammar import Grammar, Match, Rules
from mnemosyne.domain.time.vocabulary import (
    CALENDAR_UNIT,
    PART,
    UNIT,
    UNITS,
    WEEKDAY,
    WEEKDAYS,
    N,
    alternatives,
    number_of,
)

RULES = Rules()


NEAR_DAYS = {
    "today": 0, "yesterday": -1, "tomorrow": 1, "day before yesterday": -2, "day after tomorrow": 2,
}  # fmt: skip


@RULES.rule(rf"(?:the )?(?P<word>{alternatives(NEAR_DAYS)})")
def _near_day(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.day(grammar.today + timedelta(days=NEAR_DAYS[match["word"]]))


@RULES.rule("(?P<word>tonight|last night)")
def _nights(grammar: Grammar, match: Match) -> Span:
    evening = grammar.today - timedelta(days=match["word"] == "last night")
    return grammar.calendar.hours(evening, 18, 29)


@RULES.rule("this (?P<part>morning|afternoon|evening)")
def _this_part(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.hours(grammar.today, *PARTS_OF_DAY[match["part"]])


@RULES.rule(rf"(?P<text>.+?)(?: in the| on the| at the| at)? {PART}", rf"(?:the )?{PART} (?:of |on )?(?P<text>.+)")
def _part_of_a_day(grammar: Grammar, match: Match) -> Span | None:
    day = grammar.day(match["text"])
    return grammar.calendar.hours(day, *PARTS_OF_DAY[match["part"]]) if day else None


@RULES.rule(rf"{N} {UNIT} ago", rf"(?P<n>\d{{1,6}}){UNIT} ago")
def _ago(grammar: Grammar, match: Match) -> Span | None:
    count = number_of(match["n"])
    return grammar.calendar.unit_ago(UNITS[match["unit"]], count) if count else None


@RULES.rule(r"(?P<n>(?:a )?few|some|several) (?P<unit>minutes|hours|days|weeks|months|years) ago")
def _a_few_ago(grammar: Grammar, match: Match) -> Span:
    unit, calendar, most = UNITS[match["unit"]], grammar.calendar, 7 if match["n"] == "several" else 5
    if unit in ("minute", "hour"):
        return Span(start=calendar.ago(unit, most), end=calendar.ago(unit, 2))
    return Span(start=calendar.unit_ago(unit, most).start, end=calendar.unit_ago(unit, 2).end)


@RULES.rule(
    rf"(?:the )?(?:last|past) {N} {UNIT}",
    rf"(?:the )?(?:last|past) (?P<n>\d{{1,6}}){UNIT}",
    rf"(?:the )?(?:last|past) (?P<n>few|several) {UNIT}",
    rf"(?:the (?:last|past)|past|this past) {UNIT}",
    "last (?P<unit>minute|hour|day)",
    "recent|recently|lately",
)
def _rolling(grammar: Grammar, match: Match) -> Span | None:
    groups = match.groupdict()
    unit, number = UNITS[groups.get("unit") or "week"], groups.get("n") or "1"
    count = {"few": 3, "several": 7}.get(number) or number_of(number)
    return Span(start=grammar.calendar.ago(unit, count), end=grammar.calendar.now) if count else None


@RULES.rule(rf"(?P<which>last|this|next) {CALENDAR_UNIT}", rf"(?:the )?(?P<which>previous|current) {CALENDAR_UNIT}")
def _calendar_unit(grammar: Grammar, match: Match) -> Span:
    steps = {"last": 1, "previous": 1, "this": 0, "current": 0, "next": -1}[match["which"]]
    return grammar.calendar.unit_ago(UNITS[match["unit"]], steps)


@RULES.rule(rf"(?:the )?{CALENDAR_UNIT} before last")
def _before_last(grammar: Grammar, match: Match) -> Span:
    return grammar.calendar.unit_ago(UNITS[match["unit"]], 2)


@RULES.rule("earlier (?P<text>today|this week|this month|this quarter|this year)")
def _earlier(grammar: Grammar, match: Match) -> Span | None:
    span = grammar.span(match["text"])
    return Span(start=span.start, end=grammar.calendar.now) if span and span.start != grammar.calendar.now else None


@RULES.rule("(?:the )?(?P<which>last|previous|this|next) weekend", "(?P<which>(?:the )?weekend)")
def _weekend(grammar: Grammar, match: Match) -> Span | None:
    weeks = {"last": -1, "previous": -1, "this": 0, "next": 1}.get(match["which"])
    if weeks is None:
        days = (grammar.horizon - timedelta(days=7 * n) for n in range(3))
        return grammar.latest(grammar.calendar.weekend(day) for day in days)
    return grammar.calendar.weekend(grammar.today + timedelta(days=7 * weeks))


@RULES.rule(rf"(?:(?:the )?(?P<which>last|previous|past|this|next) )?{WEEKDAY}")
def _weekday(grammar: Grammar, match: Match) -> Span:
    weekday, qualifier = WEEKDAYS[match["weekday"]], match["which"]
    today = grammar.today if qualifier else grammar.horizon
    back = (today.weekday() - weekday) % 7
    if qualifier == "this":
        back = today.weekday() - weekday
    elif qualifier == "next":
        back = back - 7
    elif qualifier:
        back = back or 7
    return grammar.calendar.day(today - timedelta(days=back))


@RULES.rule(
    rf"{WEEKDAY}(?: of| in)? (?P<which>last|this|next) week",
    rf"(?P<which>last|previous|this|next) week(?: on|,| -)? {WEEKDAY}",
)
def _weekday_of_a_week(grammar: Grammar, match: Match) -> Span:
    weeks = {"last": -1, "previous": -1, "this": 0, "next": 1}[match["which"]]
    monday = grammar.today - timedelta(days=grammar.today.weekday())
    return grammar.calendar.day(monday + timedelta(days=7 * weeks + WEEKDAYS[match["weekday"]]))
