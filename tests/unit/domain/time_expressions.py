"""Truth table of the time expressions, from `time_expressions.txt`, and expressions that are refused."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from mnemosyne.domain.time.window import TimeWindow

NOW = datetime(2026, 5, 20, 15, 30, tzinfo=UTC)  # a Wednesday, in the week of Monday 18 May


class Case(NamedTuple):
    """An expression and its window at a time in a zone."""

    expression: str
    window: TimeWindow
    now: datetime = NOW
    timezone: str = "UTC"


def window(interval: str, timezone: str = "UTC") -> TimeWindow:
    """Return the window of an interval in the notation of `time_expressions.txt`."""
    after, _, before = interval.partition("/")
    if not before:
        first = date.fromisoformat(f"{after}-01-01"[:10])
        days = {4: 366, 7: 31, 10: 1}[len(after)]  # to a day in the next year or month, or to the next day
        before = f"{str(first + timedelta(days))[: len(after)]}-01-01"[:10]
        after = str(first)
    elif "-" not in before and before != "..":
        before = f"{after[:11]}{before}"
    return TimeWindow(after=_utc(after, timezone), before=_utc(before, timezone))


def _utc(text: str, timezone: str) -> datetime | None:
    if text == "..":
        return None
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(timezone))).astimezone(UTC)


def _cases() -> Iterator[Case]:
    table = re.sub(r" *#.*|(?<=\|)\n", "", Path(__file__).with_suffix(".txt").read_text())
    now, timezone = NOW, "UTC"
    for line in filter(None, table.splitlines()):
        if line.startswith("now "):
            _, moment, _, timezone = line.split()
            now = datetime.fromisoformat(moment)
            continue
        for entry in line.split("; "):
            expressions, _, interval = entry.rpartition(" = ")
            for expression in expressions.split("|"):
                yield Case(expression.strip(), window(interval, timezone), now, timezone)


UNDERSTOOD = [
    *_cases(),
    Case("  last   week  ", window("2026-05-11/2026-05-18")),
    Case(" March  2025.", window("2025-03")),
]

REFUSED = [
    # Nothing, or too little to name a time
    "", "\t\n", "?", "12", "three", "last", "ago", "days ago", "ago 3 days", "last 3", "the", "since", "between",
    "between Monday", "between Monday and", "between and", "from Monday to", "early", "end of", "week of 2026",
    "yesterday at",
    # Numbers that are not counts of something
    "-3 days ago", "0 days ago", "last 0 days", "the past 0 weeks", "last -5 days", "1.5 days ago", "1e3 days ago",
    "elevnty days ago", "twenty-eleven days ago", "99999999 years ago", "last 99999999 years",
    "99999999999999999999 days ago", "3 bananas ago", "last 3 bananas", "last 3 days ago",
    # Days, months, weeks, quarters and years that do not exist
    "2026-13-01", "2026-02-30", "2025-02-29", "2026-00-10", "2026-05-00", "2026-04-31", "2026/13/01", "2025-13",
    "2025-00", "0000-01-01", "31.02.2026", "12.13.2026", "31/04/2026", "13/13/2026", "May 32nd", "May 0",
    "February 30", "February 29, 2025", "29 February 2023", "31 June 2025", "31st of April 2026", "Smarch 2025",
    "Blursday", "last Blursday", "week 54 of 2026", "week 53 of 2025", "week 0 of 2026", "2026-W00", "2026-W54",
    "2025-W53", "Q5 2025", "Q0 2025", "fifth quarter of 2025", "third half of 2025", "H3 2025", "year 0", "0000",
    "-2025", "year -5", "1899", "2200", "Friday 17 May 2026", "the last 40 days of April", "the 31st of last month",
    "winter 2024/26",
    # Times that do not exist
    "25:00 yesterday", "yesterday at 25:00", "yesterday at 14:60", "yesterday at 13pm", "2026-05-03T25:00",
    "2026-05-03 14:60", "2026-05-03T14:30:61Z", "2026-05-03T14:30:00+99:00", "noon o'clock", "half past ten",
    # Times outside the part of the day
    "last night at 12pm", "yesterday morning at 8pm", "yesterday evening at 8am", "yesterday morning 8pm-10pm",
    "this morning at 13:00", "last night at 7am",
    "yesterday morning at 12", "yesterday morning at 12:00", "yesterday morning at 12:30", "yesterday morning at 12pm",
    "yesterday morning 12-3", "12 yesterday morning", "yesterday afternoon at 12am", "yesterday evening at 0:30",
    "before 5pm last night", "before 5pm yesterday evening", "after 12am yesterday evening",
    "yesterday morning after 12", "last night at 5am",
    # Two readings
    "03/04/2026", "01/02/2025", "12/11/2025", "10/11/2025", "yesterday at 5", "today from 7 to 8", "> 2 weeks ago",
    "< 30 days ago", "last night at 2", "5pm", "a decade ago", "before 9:30 yesterday", "after 9:30 on May 3",
    "yesterday after 10", "around 9:30 yesterday", "yesterday 9:30-11:30", "yesterday 10-11:30", "yesterday 10:30-3",
    # Mixed separators, and ranges that run backwards
    "2026/05-06", "2025-06 12", "2026.05-06", "2026 05/06", "2026-06/05", "2026-05-10/03", "2026-05/13", "05/06-2026",
    "05.06/2026",
    # Ranges that are empty or run backwards
    "2025-01-01 to 2024-01-01", "from 2025 to 2024", "between May 2025 and March 2025", "from today to yesterday",
    "between this week and last week", "2026-05-10 - 2026-05-03", "from Q3 2025 to Q1 2025", "between 20 and 10 May",
    # A length that is not the period until now
    "in 3 days", "before 3 days", "after 24h", "until two weeks", "any",
    # Two times with a gap, which is in neither of them
    "Monday and Friday", "Monday or Friday", "2023 and 2025", "May and July", "May 1 and 5", "1 and 5 May",
    "May 1 and May 5", "3pm and 5pm yesterday", "last week Monday and Friday",
    # Sides that do not make a period
    "after May and after June", "before May and until June", "after today and before yesterday",
    # Too vague, repeating, or not a matter of the calendar
    "someday", "the other day", "every Monday", "Mondays", "after lunch", "since I was a child", "by Friday",
    "the middle of last week", "the first half of last week",
    # A part that the named period does not have
    "last 5 months of Q1 2025", "first month of last week", "last 2 months of last month", "first week of yesterday",
    "second Monday of yesterday", "third weekend of 2026-05-03",
    # With an additional word that has no meaning
    "asdf", "yesterday tomorrow", "last week banana", "banana last week", "last banana week", "last week last month",
    "last last week", "since since Monday", "before after Monday", "Monday Tuesday", "March April", "2025 2024",
    "Christmas Easter", "yesterday morning evening", "between Monday and banana", "since banana", "yesterdays",
    "lastweek", "2026-05-03T14:30:00Z tomorrow",
    # Junk
    "last week; DELETE FROM memories", "<b>yesterday</b>", "last\x00week", "🕒", "yesterday 🎉", "gestern", "先週",
    "x" * 10_000, "last week " * 1_000, "9" * 5_000 + " days ago", "since " * 2_000 + "Monday", "(" * 5_000,
    "between " + "1 and " * 2_000 + "2",
]  # fmt: skip
