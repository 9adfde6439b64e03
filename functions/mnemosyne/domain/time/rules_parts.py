"""Rules for parts of a span: early May, the first half of March, the last three days of June. Pure."""

from datetime import date, timedelta

from mnemosyne.domain.time.calendar_spans import Span, subtract
from mnemosyne.domain.time.grammar import Grammar, Match, Rules
from mnemosyne.domain.time.vocabulary import (
    DAY,
    NUMBERS,
    SEASON,
    WEEKDAY,
    WEEKDAYS,
    YEAR,
    alternatives,
    number_of,
)

RULES = Rules()
_COUNT = rf"(?P<n>\d{{1,3}}|{alternatives(NUMBERS)})"


def _days_of(grammar: Grammar, text: str) -> tuple[Span, date, date] | None:
    """Return the span that the text names, the span's first day, and the day after the span's last day.

    None if the text does not name a span of several whole days.
    """
    span = grammar.span(text)
    if span is None or span.start is None or span.end is None or span.day:
        return None
    zone = grammar.calendar.zone
    first, past = span.start.astimezone(zone).date(), span.end.astimezone(zone).date()
    return (span, first, past) if grammar.calendar.days(first, past) == span else None


@RULES.rule(r"(?:the )?(?P<third>early|mid|late|beginning|start|middle|end)(?: of)?[ -](?:in )?(?P<text>.+)")
def _third(grammar: Grammar, match: Match) -> Span | None:
    """Return the early, middle or late third of a month, year or decade, or the first or last three days of a week."""
    third = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1}.get(match["third"], 2)
    if (days := _days_of(grammar, match["text"])) is None:
        return None
    (span, first, past), calendar = days, grammar.calendar
    if span == calendar.unit("month", first):
        edges = [first, first + timedelta(days=10), first + timedelta(days=20), past]
        return calendar.days(edges[third], edges[third + 1])
    if span == calendar.unit("year", first):
        return calendar.months(first.year, 1 + 4 * third, 4)
    if span == calendar.months(first.year, 1, 120):
        return calendar.months(first.year, 1 + 40 * third, 40)
    if span == calendar.week(first) and third != 1:
        start = first + timedelta(days=2 * third)
        return calendar.days(start, start + timedelta(days=3))
    return None


@RULES.rule(r"(?:the )?(?P<half>first|1st|second|2nd) half of (?P<text>.+)")
def _half_of_a_month(grammar: Grammar, match: Match) -> Span | None:
    days = _days_of(grammar, match["text"])
    if days is None or days[0] != grammar.calendar.unit("month", days[1]):
        return None
    _, first, past = days
    middle = first + timedelta(days=15)
    return grammar.calendar.days(*((first, middle) if match["half"] in ("first", "1st") else (middle, past)))


@RULES.rule(
    rf"(?:the )?(?P<which>first|last) {_COUNT} (?P<unit>days|months) of (?P<text>.+)",
    r"(?:the )?(?P<which>first|last)(?P<n>) (?P<unit>day|month) of (?P<text>.+)",
)
def _first_or_last(grammar: Grammar, match: Match) -> Span | None:
    days, count = _days_of(grammar, match["text"]), number_of(match["n"] or "1")
    if days is None or not count:
        return None
    _, first, past = days
    is_first, calendar = match["which"] == "first", grammar.calendar
    if match["unit"] in ("day", "days"):
        start, end = (first, first + timedelta(days=count)) if is_first else (past - timedelta(days=count), past)
        return calendar.days(start, end) if first <= start and end <= past else None
    months = (past.year - first.year) * 12 + past.month - first.month
    if first.day != 1 or past.day != 1 or count > months:
        return None
    return calendar.months(first.year, first.month + (0 if is_first else months - count), count)


@RULES.rule(rf"(?:the )?{DAY} (?:day )?of (?:the )?(?P<month>(?:last|this|previous) month|month before last)")
def _day_of_a_month(grammar: Grammar, match: Match) -> Span | None:
    days, number = _days_of(grammar, match["month"]), int(match["day"])
    if days is None:
        return None
    _, first, past = days
    return grammar.calendar.day(first.replace(day=number)) if 0 < number <= (past - first).days else None


@RULES.rule(
    rf"{WEEKDAY},? (?:from|of) (?P<week>.+ week|.+ weeks ago)",
    rf"(?P<week>last|previous|this|next) week's {WEEKDAY}",
    rf"{WEEKDAY},? (?P<week>.+ weeks ago)",
)
def _weekday_of_a_week(grammar: Grammar, match: Match) -> Span | None:
    text = match["week"].removeprefix("the ")
    days = _days_of(grammar, text if "week" in text else f"{text} week")
    if days is None or (days[2] - days[1]).days != 7:
        return None
    return grammar.calendar.day(days[1] + timedelta(days=WEEKDAYS[match["weekday"]]))


@RULES.rule(rf"{_COUNT} weekends ago", r"(?:the )?weekend before last(?P<n>)")
def _weekends_ago(grammar: Grammar, match: Match) -> Span | None:
    count = number_of(match["n"] or "2")
    return grammar.calendar.weekend(grammar.today - timedelta(days=7 * count)) if count else None


@RULES.rule(rf"{_COUNT} (?P<season>spring|summer|autumn|fall|winter)s ago", rf"(?:the )?{SEASON} before last(?P<n>)")
def _seasons_ago(grammar: Grammar, match: Match) -> Span | None:
    """Return a past season, as in "two summers ago". One summer ago is the latest summer that is over."""
    count = number_of(match["n"] or "2")
    last = grammar.last_of(lambda year: grammar.calendar.season(match["season"], year))
    if last is None or last.start is None or not count:
        return None
    year = last.start.astimezone(grammar.calendar.zone).year
    return grammar.calendar.season(match["season"], year - count + 1)


@RULES.rule(rf"(?:the )?winter(?: of)? {YEAR} ?[-/–] ?(?P<next>\d\d(?:\d\d)?)")
def _winter_of_two_years(grammar: Grammar, match: Match) -> Span | None:
    year = int(match["year"])
    fits = match["next"] in (str(year + 1), f"{(year + 1) % 100:02}")
    return grammar.calendar.season("winter", year) if fits else None


@RULES.rule(
    rf"(?:exactly {_COUNT} (?P<unit>day|week|month|year)s? ago|today {_COUNT.replace('<n>', '<m>')} "
    r"(?P<other>week|month|year)s? ago)",
    rf"{_COUNT} (?P<unit>day|week|month|year)s? ago today(?P<m>)(?P<other>)",
)
def _to_the_day(grammar: Grammar, match: Match) -> Span | None:
    count, unit = number_of(match["n"] or match["m"]), match["unit"] or match["other"]
    return grammar.calendar.day(subtract(grammar.today, unit, count)) if count else None
