"""Words in time expressions, and patterns for them. Pure."""

import re
from typing import cast

from mnemosyne.domain.time.calendar_spans import PARTS_OF_DAY, SEASONS, Unit

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]

MONTHS = {name[:n]: i for i, name in enumerate(_MONTHS, 1) for n in (3, len(name))} | {"sept": 9}
WEEKDAYS = {name[:n]: i for i, name in enumerate(_DAYS) for n in (3, len(name))} | {
    "tues": 1, "weds": 2, "thur": 3, "thurs": 3,
}  # fmt: skip
NUMBERS = (
    {word: i for i, word in enumerate(_ONES)}
    | {word: 20 + 10 * i for i, word in enumerate(_TENS)}
    | {f"{t}{s}{o}": 20 + 10 * i + j for i, t in enumerate(_TENS) for j, o in enumerate(_ONES[:10]) if j for s in " -"}
    | {"a": 1, "an": 1, "a couple of": 2, "a couple": 2, "couple of": 2, "couple": 2}
)
_UNITS: dict[Unit, str] = {
    "minute": "minute minutes min mins",
    "hour": "hour hours hr hrs h",
    "day": "day days d",
    "week": "week weeks wk wks w",
    "month": "month months mo",
    "quarter": "quarter quarters",
    "year": "year years yr yrs y",
}
UNITS: dict[str, Unit] = {word: unit for unit, words in _UNITS.items() for word in words.split()}
ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}


def alternatives(words: object) -> str:
    """Return a pattern that matches any of the words, the longest first."""
    return "|".join(sorted((re.escape(str(word)) for word in cast("dict[str, int]", words)), key=len, reverse=True))


N = rf"(?P<n>\d{{1,6}}|{alternatives(NUMBERS)})"
UNIT = rf"(?P<unit>{alternatives(UNITS)})"
LENGTH = (
    rf"(?:within |since )?(\d{{1,6}} ?(?:{alternatives(UNITS)})"
    rf"|(?:{alternatives(NUMBERS)}|few|several) (?:{alternatives(UNITS)}))"
)
"""Pattern of a length of time that means a period until now, such as "7 days", "24h" or "within two weeks"."""
CALENDAR_UNIT = "(?P<unit>week|wk|month|quarter|year|yr)"
YEAR = r"(?P<year>(?:1[5-9]|20|21)\d\d)"
MONTH = rf"(?P<month>{alternatives(MONTHS)})\.?"
DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
WEEKDAY = rf"(?P<weekday>{alternatives(WEEKDAYS)})\.?"
SEASON = rf"(?P<season>{alternatives(SEASONS)})"
OF = "(?: of| in|,)? "
CLOCK = r"(?P<hour>\d{1,2})(?::(?P<minute>[0-5]\d))?(?: ?(?P<half>am|pm|a\.m\.?|p\.m\.?))?"
PART = rf"(?P<part>{alternatives(PARTS_OF_DAY)})"


def number_of(text: str) -> int:
    """Parse a number in digits or words."""
    return int(text) if text.isdigit() else NUMBERS[text]
