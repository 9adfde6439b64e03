"""Convert time filters to time windows. Pure: callers pass the current time."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from mnemosyne.domain.event_time import event_time, in_zone, zone
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.time import rules_calendar, rules_clock, rules_counted, rules_near, rules_parts
from mnemosyne.domain.time.calendar_spans import Calendar, Span
from mnemosyne.domain.time.grammar import Grammar, MatchBudget
from mnemosyne.domain.time.spelling import plain_form
from mnemosyne.domain.time.vocabulary import LENGTH
from mnemosyne.errors import InvalidRequest

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_RULES = (rules_near.RULES, rules_calendar.RULES, rules_counted.RULES, rules_parts.RULES, rules_clock.RULES)


@dataclass(frozen=True, kw_only=True)
class TimeWindow:
    """A time window in UTC: `after` is inclusive, `before` exclusive, and None means unbounded."""

    after: datetime | None = None
    before: datetime | None = None

    @property
    def last(self) -> datetime | None:
        """The last microsecond of the window."""
        return self.before - timedelta(microseconds=1) if self.before else None

    def contains(self, moment: datetime) -> bool:
        """Whether a time is in the window."""
        return (self.after is None or moment >= self.after) and (self.before is None or moment < self.before)

    def __str__(self) -> str:
        """Return the window as text, with both ends inclusive."""
        return f"{rfc3339(self.after) or 'any time'} to {rfc3339(self.last) or 'any time'}"


def intersection(first: TimeWindow, second: TimeWindow) -> TimeWindow:
    """Return the intersection of two windows. Raises InvalidRequest if it is empty."""
    after = max((w.after for w in (first, second) if w.after), default=None)
    before = min((w.before for w in (first, second) if w.before), default=None)
    if after and before and after >= before:
        raise InvalidRequest(f"the time filters exclude each other: {first} and {second} do not overlap")
    return TimeWindow(after=after, before=before)


def bounds(
    after: str | None, before: str | None, *, timezone: str = "UTC", names: tuple[str, str] = ("after", "before")
) -> TimeWindow:
    """Return the window between two inclusive bounds, each `YYYY-MM-DD`, RFC 3339 or a local time in `timezone`.

    A date means the whole day in `timezone`. Raises InvalidRequest if a bound has none of these formats or the window
    is empty. The error contains `names`, the names of the two arguments.
    """
    local = zone(timezone)
    first, last = names
    start = None if after is None else _parse_bound(first, after, local, end=False)
    stop = None if before is None else _parse_bound(last, before, local, end=True)
    if start and stop and start >= stop:
        raise InvalidRequest(f"{first} must not be later than {last}, got {first} {after!r} and {last} {before!r}")
    return TimeWindow(after=start, before=stop)


def past_time(text: str | None, *, now: datetime, timezone: str = "UTC") -> datetime | None:
    """Parse the argument `as_of`, a past time. The result is None if the argument is omitted.

    The text is RFC 3339, a local time in `timezone`, or a date `YYYY-MM-DD`, which means the end of that day in
    `timezone`. Raises InvalidRequest if the text has none of these formats, or the time is after `now`.
    """
    local = zone(timezone)
    if text is None:
        return None
    end = _parse_bound("as_of", text, local, end=True)
    # `_parse_bound` returns the first moment after the named time, so the named time ends a microsecond earlier.
    if end is None or (at := end - timedelta(microseconds=1)) > now:
        raise InvalidRequest(
            f"as_of must be a time in the past, got {text[:60]!r}: a date means the end of that day. Give a time of "
            "day, or omit as_of to read the present state"
        )
    return at


def _parse_bound(name: str, text: str, local: tzinfo, *, end: bool) -> datetime | None:
    """Parse the start of a time window or, with `end`, the inclusive end of a window.

    A date as the start means the start of the day. For an end, the result is the first moment after it: the start of
    the next day, or the time plus one microsecond. Returns None for the end 9999-12-31, because no later day exists.
    """
    try:
        if _DATE.fullmatch(text):
            day = date.fromisoformat(text)
            if end and day == date.max:
                return None
            midnight = datetime.combine(day + timedelta(days=end), time.min, tzinfo=local)
            return midnight.astimezone(UTC)
        if not _DATE.match(text):
            raise ValueError("digits alone may be a date or a time")
        return in_zone(event_time(text), local) + timedelta(microseconds=end)
    except (ValueError, OverflowError) as exc:
        raise InvalidRequest(
            f"{name} must be YYYY-MM-DD, RFC 3339 or a local time (2026-05-20, 2026-05-20T14:30:00Z or "
            f"2026-05-20T14:30), got {text[:60]!r}"
        ) from exc


EXAMPLES = (
    "yesterday, last week, 3 days ago, the past 2 months, last Tuesday, March 2025, Q1 2025, summer 2025, "
    "2026-05-20, between May 1 and May 15, since Monday, before 2025"
)
EXPRESSION_LENGTH = 200
EXPRESSION_MATCHES = 300
"""Maximum number of parts of an expression that are matched against the rules. Real expressions need up to 40."""
_SEPARATORS = re.compile(r" (?P<word>to|until|till|through|thru|and|or|-|–|—) ")
_DAY = timedelta(hours=23)
"""Length of the shortest day: the day on which clocks are set forward by one hour."""
_START_OR_END = re.compile(r"(?:the )?(?:very )?(?P<point>beginning|start|end) of (?P<text>.+)")
# A span with only a start ("2025..") or only an end ("..2025"). Three dots do not match, because they are an ellipsis.
_OPEN_INTERVAL = re.compile(r"(?P<start>.*[^. ]) ?\.\.|\.\. ?(?P<end>[^. ].*)")
_ONE_SIDED = re.compile(r"(since|from|until|till|up to|up until|before|after) (.+)")
_TWO_SIDES = re.compile(
    r"(.+?),?(?: and| but)? "
    r"((?:since|until|till|up to|up until|prior to|before|after|not|no later|no earlier|[<>≤≥]).+)"
)
_ALL_TIME = re.compile(r"(?:for |of |from )?(?:all|any) ?time|always|ever", re.IGNORECASE)


def resolve(expression: str, *, now: datetime, timezone: str = "UTC", budget: MatchBudget | None = None) -> TimeWindow:
    """Return the time window that an English time expression means at `now` (a time with an offset) in `timezone`.

    Weeks start on Monday. A month, weekday or holiday without a year means the latest one that has begun. `budget`
    limits how many parts of the expression are matched against the rules. By default, each call has a separate budget.

    Raises InvalidRequest, with examples, if any part of the expression cannot be parsed, and for an unknown time zone.
    """
    calendar = Calendar(now, zone(timezone))
    text = " ".join(expression.replace("’", "'").replace("_", " ").casefold().split())
    if match := _OPEN_INTERVAL.fullmatch(text):
        text = f"since {match['start']}" if match["start"] else f"until {match['end']}"
    text = text.rstrip("?.!… ")
    budget = budget or MatchBudget(EXPRESSION_MATCHES)
    try:
        span = _parse_expression(plain_form(text), calendar, budget) if 0 < len(text) <= EXPRESSION_LENGTH else None
    except (ValueError, OverflowError):
        span = None  # a date that does not exist, such as 30 February or 99,999 years ago
    if span is None or (span.start and span.end and span.start >= span.end):
        raise InvalidRequest(f"time_expr {expression[:EXPRESSION_LENGTH]!r} is not understood; try: {EXAMPLES}")
    return TimeWindow(after=span.start, before=span.end)


def is_all_time(expression: str) -> bool:
    """Whether the expression means any time, such as "all time", and so limits nothing."""
    return _ALL_TIME.fullmatch(" ".join(expression.split()).rstrip(".!? ")) is not None


def _parse_expression(text: str, calendar: Calendar, budget: MatchBudget) -> Span | None:
    grammar = Grammar(_RULES, calendar, budget)
    if (between := text.removeprefix("between ")) != text and (span := _span_between(between, grammar, between=True)):
        return span
    if span := grammar.span(text):
        return span
    if span := _span_between(text.removeprefix("from "), grammar):
        return span
    if length := re.fullmatch(LENGTH, text):
        return grammar.span(f"past {length[1]}")
    return _parse_one_sided(text, grammar) or _parse_two_sided(text, grammar)


def _parse_one_sided(text: str, grammar: Grammar) -> Span | None:
    """Return the span of an expression that has only a start or only an end, such as "since May"."""
    if not (match := _ONE_SIDED.fullmatch(text)) or not (span := _parse_endpoint(match[2], grammar)):
        return None
    match match[1]:
        case "from" if span.start and span.end and span.end - span.start >= _DAY:
            return span  # "from last week" means in that week, not since that week
        case "since" | "from":
            return Span(start=span.start, end=None)
        case "before":
            return Span(start=None, end=span.start)
        case "after":
            return Span(start=span.end, end=None)
    return Span(start=None, end=span.end)


def _parse_two_sided(text: str, grammar: Grammar) -> Span | None:
    """Return the span of an expression that names start and end separately, such as "after May and before July"."""
    if not (match := _TWO_SIDES.fullmatch(text)):
        return None
    sides = [plain_form(side) for side in match.groups()]
    for one, other in (sides, reversed(sides)):
        end = _parse_one_sided(other, grammar)
        if end is None or end.start or end.end is None:
            continue
        start = _parse_one_sided(one, _grammar_before(end.end, grammar))
        if start and start.start and start.end is None and start.start < end.end:
            return Span(start=start.start, end=end.end)
    return None


def _grammar_before(end: datetime, grammar: Grammar) -> Grammar:
    """Return a grammar in which a time without a year means the latest such time before `end`."""
    last = (end - timedelta(microseconds=1)).astimezone(grammar.calendar.zone).date()
    return Grammar(_RULES, grammar.calendar, grammar.budget, last)


def _parse_endpoint(text: str, grammar: Grammar) -> Span | None:
    """Return the span of an expression that is the start or end of another span.

    As a start or end, "3 p.m." means a point in time, and not an hour.
    """
    span = _start_or_end(text, grammar) or grammar.span(text)
    return Span(start=span.start, end=span.start) if span and span.is_hour else span


def _start_or_end(text: str, grammar: Grammar) -> Span | None:
    """Return a point in time, such as "the end of May", as a span whose start and end are equal.

    None if the text does not name the beginning, start or end of a span.
    """
    match = _START_OR_END.fullmatch(text)
    if match is None or not (span := grammar.span(match["text"])):
        return None
    at = span.end if match["point"] == "end" else span.start
    return Span(start=at, end=at)


def _span_between(text: str, grammar: Grammar, *, between: bool = False) -> Span | None:
    """Return the span from the start of one expression to the end of another, such as "March to May".

    Without a year, the first expression means the latest such time before the end of the second expression. If only
    "and" or "or" joins the expressions, their spans must be adjacent, because "Monday and Friday" does not mean the
    days between. With `between`, the word "between" precedes the text, and the spans need not be adjacent.
    """
    for separator in _SEPARATORS.finditer(text):
        start, end = text[: separator.start()], text[separator.end() :]
        last = _parse_endpoint(start, grammar) and _parse_endpoint(end, grammar)
        if last is None or last.end is None:
            continue
        first = _parse_endpoint(start, _grammar_before(last.end, grammar))
        if not first or not first.start or first.start >= last.end:
            continue
        if between or separator["word"] not in ("and", "or") or (first.end and first.end >= (last.start or last.end)):
            return Span(start=first.start, end=last.end)
    return None
