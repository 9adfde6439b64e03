"""Rules for times of day: Monday 8-9am, around noon yesterday, Tuesday after 1pm. Pure."""

import re
from datetime import date, timedelta

from mnemosyne.domain.time.calendar_spans import PARTS_OF_DAY, Span
from mnemosyne.domain.time.grammar import Grammar, Match, Rules
from mnemosyne.domain.time.vocabulary import CLOCK

RULES = Rules()
_TIME = r"(?:\d{1,2}(?:[:.][0-5]\d)?(?: ?(?:am|pm|a\.m\.?|p\.m\.?))?|noon|midnight)"
_CLOCK = re.compile(r"(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?(?: ?(?P<half>[ap])\.?m\.?)?")
_PART = re.compile(r"(?P<day>.+?)(?: in the)? (?P<part>morning|afternoon|evening)")
_HOURS = {"morning": (0, 12), "afternoon": (12, 24), "evening": (17, 24), "night": (17, 29)}
"""For each part of the day, the earliest and the latest time of day that can belong to it, in hours after midnight.
Hours above 24 are on the next day."""
_SIDES = {**PARTS_OF_DAY, "night": (18, 29), "": (0, 24)}
"""For each part of the day, the start and end of the span that a time of day divides in two: "last night after 11" is
the second part of the night. A night such as "last night" begins with the evening before it."""
_NIGHTS = ("tonight", "last night")
_STRETCH = rf"(?P<first>{_TIME}) ?(?P<joint>-|–|to|and|until|till) ?(?P<last>{_TIME})"


@RULES.rule(rf"(?P<text>.+?),?(?: at)? {CLOCK}", rf"(?:at )?{CLOCK},?(?: on)? (?P<text>.+)")
def _clock(grammar: Grammar, match: Match) -> Span | None:
    """Return the hour or minute that a time of day means.

    If the time has no am or pm, a part of the day in the text, such as "evening", decides between a.m. and p.m. If the
    text names no part of the day either, the time is on the 24-hour clock.
    """
    day, part = _day_and_part(grammar, match["text"])
    hour, half = int(match["hour"]), (match["half"] or "").replace(".", "")
    if match["text"] in _NIGHTS and (hour == 12 or 1 <= hour < 6) and not half:
        return None  # ambiguous: the time may be on this day or on the next
    if part and not half and 1 <= hour <= 12:
        half = _half(hour, part)
    if day is None or (half and not 1 <= hour <= 12) or hour > 23 or not (half or match["minute"]):
        return None
    minutes = int(match["minute"] or 0) / 60
    start = _in_part((hour % 12 + 12 * (half == "pm") if half else hour) + minutes, part)
    if start is None or (start == _HOURS.get(part, (0, 24))[1] and part != "evening"):
        return None  # the time is not in the part of the day; only an evening includes the midnight at its end
    return grammar.calendar.clock(day, start, minute=match["minute"] is not None)


@RULES.rule(r"(?:at )?(?P<time>\d{1,2}(?:[:.][0-5]\d)? ?(?:am|pm|a\.m\.?|p\.m\.?)|noon)")
def _clock_of_today(grammar: Grammar, match: Match) -> Span | None:
    """Return an hour or minute of today, such as "3pm". None if this hour or minute has not begun yet."""
    span = grammar.span(f"today at {match['time']}")
    return span if span and span.start and span.start <= grammar.calendar.now else None


@RULES.rule(
    rf"(?P<text>.+?),?(?: at| from| between)? {_STRETCH}",
    rf"(?:at |from |between )?{_STRETCH},?(?: on| of)? (?P<text>.+)",
)
def _stretch_of_a_day(grammar: Grammar, match: Match) -> Span | None:
    """Return the span between two times of a day.

    If only the end has am or pm, the start is the last possible time before the end: "11-1pm" begins at 11 a.m.
    """
    day, part = _day_and_part(grammar, match["text"])
    night = part if part == "night" else ""
    first, last = (_in_part(_hour(match[end], part), night) for end in ("first", "last"))
    if day is None or last is None or (match["joint"] == "and" and "between" not in match[0]):
        return None  # "3pm and 5pm" are two times, and not the span between them
    clock, is_24_hours = _CLOCK.fullmatch(match["first"]), match["last"][-1].isdigit()
    may_be_pm = clock is not None and not clock["half"] and 10 <= int(clock["hour"]) <= 12
    if first is None or (may_be_pm and not is_24_hours and not part):
        if clock is None or clock["half"] or int(clock["hour"]) > 12 or (is_24_hours and 10 <= last < 13):
            return None
        hour = int(clock["hour"]) % 12 + int(clock["minute"] or 0) / 60
        possible = (start for start in (hour, hour + 12, hour + 24) if start < last and _in_part(start, night) == start)
        first = max(possible, default=last)
    if first >= last or (_in_part(first, part) is None and _in_part(last, part) is None):
        return None
    return grammar.calendar.hours(day, first, last)


@RULES.rule(
    rf"(?:around|about|at about) (?P<time>{_TIME})(?: on)? (?P<text>.+)",
    rf"(?P<text>.+?) (?:around|about|at about) (?P<time>{_TIME})",
)
def _around(grammar: Grammar, match: Match) -> Span | None:
    """Return the span from one hour before the time to one hour after it."""
    day, hour = grammar.day(match["text"]), _hour(match["time"])
    return grammar.calendar.hours(day, hour - 1, hour + 1) if day is not None and hour is not None else None


@RULES.rule(r"(?:at )?(?P<time>noon)(?: on)? (?P<text>.+)", r"(?P<text>.+?)(?: at)? (?P<time>noon)")
def _at_noon(grammar: Grammar, match: Match) -> Span | None:
    day = grammar.day(match["text"])
    return grammar.calendar.clock(day, 12) if day is not None else None


@RULES.rule(r"(?:at )?midnight (?P<text>last night)", r"(?P<text>tonight|last night)(?: at)? midnight")
def _at_midnight(grammar: Grammar, match: Match) -> Span | None:
    """Return the span that begins at the midnight of a night, as in "last night at midnight".

    There is no rule for the midnight of a day, because it can be the beginning or the end of the day.
    """
    day, _ = _day_and_part(grammar, match["text"])
    return grammar.calendar.clock(day, 24) if day is not None else None


@RULES.rule(
    rf"(?P<text>.+?) (?P<side>after|since|before|until|by) (?P<time>{_TIME})",
    rf"(?P<side>after|before) (?P<time>{_TIME}) (?:on )?(?P<text>.+)",
)
def _side_of_a_day(grammar: Grammar, match: Match) -> Span | None:
    """Return the part of a day (or of its morning, afternoon, evening or night) that is before or after a time.

    If it is unclear whether a.m. or p.m. is meant, the result is an empty span, which the caller treats as an error. If
    the result were None, the text would be parsed as a span that has only a start or only an end.
    """
    day, part = _day_and_part(grammar, match["text"])
    if day is None:
        return None
    hour = _in_part(_hour(match["time"], part), part)
    if hour is None:
        return grammar.calendar.hours(day, 0, 0)
    (first, last), (earliest, latest) = _SIDES[part], _HOURS.get(part, (0, 24))
    if match["side"] in ("after", "since"):
        return grammar.calendar.hours(day, hour, last if hour < last else latest)
    return grammar.calendar.hours(day, first if first < hour else earliest, hour)


def _day_and_part(grammar: Grammar, text: str) -> tuple[date | None, str]:
    """Return the day, and the part of the day if the text names one."""
    if text in _NIGHTS:
        return grammar.today - timedelta(days=text == "last night"), "night"
    match = _PART.fullmatch(text)
    if match is None:
        return grammar.day(text), ""
    return grammar.day("today" if match["day"] == "this" else match["day"]), match["part"]


def _half(hour: int, part: str) -> str:
    """Return am or pm for an hour in a part of the day. In the morning, 12 o'clock is noon, so it is pm."""
    return "am" if part == "morning" and hour != 12 else "pm"


def _in_part(hour: float | None, part: str) -> float | None:
    """Return `hour` or `hour + 24`, whichever is in the part of the day; None if neither is.

    Hours above 24 are on the next day: a night ends at 5 a.m. of the next day, which is hour 29. Therefore 2 a.m. of a
    night becomes 26.
    """
    first, last = _HOURS.get(part, (0, 24))
    return None if hour is None else next((time for time in (hour, hour + 24) if first <= time <= last), None)


def _hour(text: str, part: str = "") -> float | None:
    """Convert a time of day to hours after midnight.

    A time with minutes is on the 24-hour clock if its hour has two digits or is 0. None if the text is not a time, or
    if it is unclear whether a.m. or p.m. is meant.
    """
    if text in ("noon", "midnight"):
        return 12 if text == "noon" else 24
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if half := match["half"] or (part and _half(hour, part)[0]):
        if 1 <= hour <= 12:
            return hour % 12 + 12 * (half == "p") + minute / 60
        if match["half"]:
            return None
    is_plain = match["minute"] is not None and (len(match["hour"]) == 2 or hour == 0)
    return hour + minute / 60 if is_plain and hour + minute / 60 <= 24 else None
