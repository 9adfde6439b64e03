"""Rules for counted times: two Mondays ago, the last week of October, the nineties. Pure."""

import re
from datetime import date, timedelta

from mnemosyne.domain.time.calendar_spans import Span, Unit, subtract
from mnemosyne.domain.time.grammar import Grammar, Match, Rules
from mnemosyne.domain.time.vocabulary import (
    CALENDAR_UNIT,
    NUMBERS,
    OF,
    ORDINALS,
    UNIT,
    UNITS,
    WEEKDAY,
    WEEKDAYS,
    YEAR,
    N,
    alternatives,
    number_of,
)

RULES = Rules()
_DECADES = {name: 1930 + 10 * n for n, name in enumerate(
    ("thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
)}  # fmt: skip
_NTH = {**ORDINALS, "fifth": 5, "5th": 5, "last": -1}


@RULES.rule("(?:right )?now|current date")
def _now(grammar: Grammar, match: Match) -> Span:
    return Span(start=grammar.calendar.now, end=grammar.calendar.now)


@RULES.rule(rf"{N} {WEEKDAY}s? ago", rf"(?:the )?{WEEKDAY} before last(?P<n>)")
def _weekdays_ago(grammar: Grammar, match: Match) -> Span | None:
    count = number_of(match["n"] or "2")
    back = (grammar.today.weekday() - WEEKDAYS[match["weekday"]]) % 7 or 7
    return grammar.calendar.day(grammar.today - timedelta(days=back + 7 * (count - 1))) if count else None


@RULES.rule(
    r"(?:the )?(?P<kind>)week of (?P<text>.+)",
    r"(?:the )?(?P<kind>week|w/c|weeks)(?: (?:beginning|starting|commencing))?(?: on)? (?P<text>.+)",
)
def _week_of(grammar: Grammar, match: Match) -> Span | None:
    if (day := grammar.day(match["text"])) is None:
        return None
    return grammar.calendar.days(day, day + timedelta(days=7)) if match["kind"] else grammar.calendar.week(day)


@RULES.rule(rf"(?:the )?{N} (?P<unit>days|weeks) (?:starting|beginning|from)(?: on)? (?P<text>.+)")
def _days_from(grammar: Grammar, match: Match) -> Span | None:
    day, count = grammar.day(match["text"]), number_of(match["n"]) * (7 if match["unit"] == "weeks" else 1)
    return grammar.calendar.days(day, day + timedelta(days=count)) if day and count else None


@RULES.rule(
    rf"(?:the )?(?P<nth>{alternatives(_NTH)}) (?P<unit>week|weekend|{alternatives(WEEKDAYS)})(?: of| in) (?P<text>.+)"
)
def _nth_week(grammar: Grammar, match: Match) -> Span | None:
    """Return the nth week, weekend or weekday of a span, such as "the second week of May".

    A week belongs to the span that contains its Thursday (ISO 8601).
    """
    span = grammar.span(match["text"])
    if span is None or span.start is None or span.end is None or span.day:
        return None
    zone = grammar.calendar.zone
    first, last = span.start.astimezone(zone).date(), span.end.astimezone(zone).date() - timedelta(days=1)
    nth = _NTH[match["nth"]]
    day = {"week": 3, "weekend": 5}.get(match["unit"], WEEKDAYS.get(match["unit"], 0))
    if nth > 0:
        weekday_date = first + timedelta(days=(day - first.weekday()) % 7 + 7 * (nth - 1))
    else:
        weekday_date = last - timedelta(days=(last.weekday() - day) % 7)
    if not first <= weekday_date <= last:
        return None
    make = {"week": grammar.calendar.week, "weekend": grammar.calendar.weekend}.get(match["unit"], grammar.calendar.day)
    return make(weekday_date)


@RULES.rule(
    rf"{CALENDAR_UNIT} to date", rf"so far this {CALENDAR_UNIT}", rf"this {CALENDAR_UNIT} so far", "(?P<unit>[wmqy])td"
)
def _to_date(grammar: Grammar, match: Match) -> Span | None:
    letters: dict[str, Unit] = {"w": "week", "m": "month", "q": "quarter", "y": "year"}
    unit = letters.get(match["unit"]) or UNITS[match["unit"]]
    return Span(start=grammar.calendar.unit_ago(unit, 0).start, end=grammar.calendar.now)


@RULES.rule(
    r"(?:the )?(?P<decade>(?:18|19|20)\d)0 ?'?s",
    r"(?:the )?'?(?P<tens>[3-9])0 ?'?s",
    rf"(?:the )?(?P<name>{alternatives(_DECADES)})",
    "(?:the )?(?P<which>last|previous|this) decade",
)
def _decade(grammar: Grammar, match: Match) -> Span:
    groups = match.groupdict()
    if groups.get("which"):
        first = grammar.today.year // 10 * 10 - 10 * (groups["which"] != "this")
    elif groups.get("name"):
        first = _DECADES[groups["name"]]
    else:
        first = int(groups["decade"]) * 10 if groups.get("decade") else 1900 + int(groups["tens"]) * 10
    return grammar.calendar.months(first, 1, 120)


@RULES.rule(
    rf"(?:the )?{WEEKDAY},? (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?", r"(?:the )?(?P<day>\d{1,2})(?:st|nd|rd|th)"
)
def _day_of_a_month(grammar: Grammar, match: Match) -> Span | None:
    """Return the latest day that has this number in its month, such as "the 15th".

    If the text names a weekday, return the latest day with this number that falls on this weekday.
    """
    number, weekday = int(match["day"]), match.groupdict().get("weekday")
    for back in range(1_500 if weekday else 62):
        day = grammar.horizon - timedelta(days=back)
        if day.day == number and (weekday is None or day.weekday() == WEEKDAYS[weekday]):
            return grammar.calendar.day(day)
    return None


@RULES.rule(rf"(?:this |on )?{WEEKDAY},?[ -]\(?(?P<text>.*\d.*?)\)?", rf"(?P<text>.*\d.*),? {WEEKDAY}")
def _date_of_a_weekday(grammar: Grammar, match: Match) -> Span | None:
    """Return the date in the text if it falls on the weekday in the text, otherwise None.

    Without a year, return the latest such date that falls on the weekday.
    """
    weekday, text = WEEKDAYS[match["weekday"]], match["text"].strip(" ,-")
    day = grammar.day(text)
    if day is not None and day.weekday() == weekday:
        return grammar.calendar.day(day)
    for year in grammar.years():
        day = grammar.day(f"{text} {year}")
        if day is not None and day <= grammar.horizon and day.weekday() == weekday:
            return grammar.calendar.day(day)
    return None


@RULES.rule(rf"(?:between )?{N} (?:and|to|or) {N.replace('<n>', '<m>')} (?P<unit>days|weeks|months|quarters|years) ago")
def _between_ago(grammar: Grammar, match: Match) -> Span | None:
    near, far = sorted((number_of(match["n"]), number_of(match["m"])))
    first, last = (grammar.calendar.unit_ago(UNITS[match["unit"]], count) for count in (far, near))
    return Span(start=first.start, end=last.end) if near < far else None


@RULES.rule(rf"(?:more than|over|longer than|at least) {N} {UNIT} ago", rf"older than {N} {UNIT}")
def _more_than_ago(grammar: Grammar, match: Match) -> Span | None:
    count = number_of(match["n"])
    return Span(start=None, end=grammar.calendar.ago(UNITS[match["unit"]], count)) if count else None


@RULES.rule(
    rf"(?:less than|within(?: the)?(?: last| past)?|not more than) {N} {UNIT} ago",
    rf"(?:newer|younger|more recent) than {N} {UNIT}",
)
def _less_than_ago(grammar: Grammar, match: Match) -> Span | None:
    return grammar.span(f"past {match['n']} {match['unit']}")


@RULES.rule(
    rf"(?P<more>more than )?{N} (?P<unit>day|days|week|weeks) (?P<side>before|after|from) (?P<text>.+)",
    r"(?P<more>)(?P<n>the) (?P<unit>day) (?P<side>before|after) (?P<text>.+)",
)
def _days_before_or_after(grammar: Grammar, match: Match) -> Span | None:
    if (day := grammar.day(match["text"])) is None:
        return None
    count = (1 if match["n"] == "the" else number_of(match["n"])) * (7 if UNITS[match["unit"]] == "week" else 1)
    result = day - timedelta(days=count) if match["side"] == "before" else day + timedelta(days=count)
    span = grammar.calendar.day(result)
    return (Span(start=None, end=span.start) if match["side"] == "before" else None) if match["more"] else span


_PART = rf"(?:\d{{1,4}}|{alternatives(NUMBERS)}) (?:year|month|week|day)s?"
_PARTS = rf"(?P<parts>{_PART}(?:,? (?:and )?{_PART})+)"


@RULES.rule(rf"{_PARTS} ago", rf"(?:the )?(?P<past>last|past) {_PARTS}")
def _parts_ago(grammar: Grammar, match: Match) -> Span | None:
    """Return the day that is several units before today, as in "two weeks and two days ago".

    With "last" or "past" instead of "ago", return the span from that day until now.
    """
    day = grammar.today
    for part in re.findall(_PART, match["parts"]):
        count, unit = part.rsplit(" ", 1)
        day = subtract(day, unit.rstrip("s"), number_of(count))
    span = grammar.calendar.day(day)
    return Span(start=span.start, end=grammar.calendar.now) if match.groupdict().get("past") else span


@RULES.rule(rf"week (?P<week>\d{{1,2}})(?:{OF}{YEAR})?")
def _weeknumber(grammar: Grammar, match: Match) -> Span | None:
    number = int(match["week"])
    if match["year"]:
        return grammar.calendar.week(date.fromisocalendar(int(match["year"]), number, 1))
    weeks = (grammar.calendar.week(date.fromisocalendar(year, number, 1)) for year in grammar.years() if number < 53)
    return grammar.latest(weeks)


@RULES.rule(r"(?:the )?weekend of (?P<text>.+)", r"(?P<text>.+) weekend(?P<year> \d{4})?")
def _weekend_of(grammar: Grammar, match: Match) -> Span | None:
    """Return the weekend that belongs to a day, as in "the weekend of May 5", extended to include this day.

    For a Monday, the result is the weekend before it and the Monday itself. For a day from Tuesday to Friday, the
    result begins on this day and ends with the weekend after it.
    """
    day = grammar.day(match["text"] + (match.groupdict().get("year") or ""))
    if day is None:
        return None
    saturday = day + timedelta(days=-2 if day.weekday() == 0 else 5 - day.weekday())
    return grammar.calendar.days(min(day, saturday), max(day, saturday + timedelta(days=1)) + timedelta(days=1))
