"""Rewrite time expressions to the spelling that the rules expect. Pure."""

import re
from collections.abc import Callable
from functools import cache

from mnemosyne.domain.time.vocabulary import MONTHS, NUMBERS, WEEKDAYS, N, alternatives, number_of

_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth",
)  # fmt: skip
_DAYS = (
    {word: n for n, word in enumerate(_ORDINALS, 1)}
    | {f"twenty{space}{word}": 20 + n for n, word in enumerate(_ORDINALS[:9], 1) for space in " -"}
    | {"thirtieth": 30, "thirty first": 31, "thirty-first": 31}
)
"""Days of a month in words."""
_CARDINALS = {word: number for word, number in NUMBERS.items() if 1 < number < 100}
_MONTH = rf"(?:{alternatives(MONTHS)})(?![a-z])\.?"
_WEEKDAY = rf"(?:{alternatives(WEEKDAYS)})\.?"
_NUMBER = rf"(?:{alternatives(_CARDINALS)})"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_TO = r" ?(?:-|–|—|~|\bto\b|\bthrough\b|\bthru\b|\btill\b|\buntil\b) ?"
_BETWEEN = rf"(?:{_TO}| ?\band\b ?)"
_FROM = "(?:from |between |on |in )?"
_OF_A_YEAR = rf"(?:(?: of|,)? ({_YEAR}))?"
_ISO = r"\d{4}-\d\d(?:-\d\d(?:[t ]\d\d:[\d:.]+(?:z|[+-]\d\d:\d\d)?)?)?"
"""Pattern of a month, a date or a time in ISO 8601, casefolded."""
_CENTURIES = {"sixteen": 1600, "seventeen": 1700, "eighteen": 1800, "nineteen": 1900, "twenty": 2000}
_TEN_OR_MORE = alternatives([word for word, number in NUMBERS.items() if number >= 10])


_YEAR_IN_WORDS = (
    rf"\b(?:(?P<century>{alternatives(_CENTURIES)})(?: hundred)?(?: and)?[ -](?P<rest>{_TEN_OR_MORE})"
    rf"|two thousand(?:(?: and)? (?P<more>{alternatives(NUMBERS)}))?)\b(?! \w+ ago)"
)
_AND_A_HALF = rf"\b{N} (?:and a half (?:hours?|years?)|(?:hours?|years?) and a half)\b"
_LATE = alternatives([word for word, number in _DAYS.items() if number > 4])
_ANY = f"{alternatives(_DAYS)}|{_NUMBER}"
_DAY_IN_WORDS = (
    rf"(?P<before>\b)(?P<day>{_LATE})(?P<after>)\b",
    rf"(?P<before>\b{_MONTH} (?:the )?)(?P<day>{_ANY})(?P<after>)\b",
    rf"(?P<before>\b)(?P<day>{_ANY})(?P<after> (?:of )?{_MONTH})",
)
_WORDS = frozenset({*_CENTURIES, *" ".join(_DAYS).replace("-", " ").split(), *" ".join(_CARDINALS).split(), "thousand"})


def _year_of_words(match: re.Match[str]) -> str:
    if match["century"]:
        return str(_CENTURIES[match["century"]] + NUMBERS[match["rest"]])
    return str(2000 + (NUMBERS[match["more"]] if match["more"] else 0))


def _day_number(match: re.Match[str]) -> str:
    number = _DAYS.get(match["day"]) or _CARDINALS[match["day"]]
    return f"{match['before']}{number}{match['after']}"


def _whole_units(match: re.Match[str]) -> str:
    count = number_of(match["n"])
    return f"{60 * count + 30} minutes" if "hour" in match[0] else f"{12 * count + 6} months"


def _replace_number_words(text: str) -> str:
    """Write numbers in words as digits: years, days of a month, ordinals above four, and hours or years with a half.

    Examples are "nineteen ninety", "may third", "fifth" and "two and a half hours". A day is recognised by the name of
    a month next to it.
    """
    if " and a half" in text:
        text = re.sub(_AND_A_HALF, _whole_units, text)
    if not _WORDS.isdisjoint(re.findall("[a-z]+", text)):
        for pattern, into in _compiled_number_words():
            text = pattern.sub(into, text)
    return text


_REWRITTEN: tuple[tuple[str, str], ...] = (
    # Dates such as 03-May-2026, 2026-aug-1, dec31, oct/2, "October, 1st", 2026-7-6, 20260503, 12-2015, 2015-3, q1-2019.
    (rf"(\d{{1,2}})[-/ ]?({_MONTH})[-/,]? ?({_YEAR})", r"\1 \2 \3"),
    (rf"({_YEAR})[-/]({_MONTH})[-/](\d{{1,2}})", r"\3 \2 \1"),
    (rf"({_MONTH}) ?[/,]? ?(?:the )?({_DAY}) ?,? ?({_YEAR})", r"\1 \2 \3"),
    (rf"({_MONTH})(?:/|, |-)?({_DAY})", r"\1 \2"),
    (r"(\d{1,2})-(\d{1,2})-(\d{4})", r"\1/\2/\3"),
    (r"(\d{4})([-/. ])(\d{1,2})\2(\d{1,2})", r"\1-\3-\4"),
    (rf"({_YEAR})(0[1-9]|1[0-2])([0-3]\d)", r"\1-\2-\3"),
    (rf"(0?[1-9]|1[0-2])[-/]({_YEAR})", r"\2-\1"),
    (rf"(q[1-4]|h[12])-({_YEAR})", r"\1 \2"),
    (rf"((?:{_DAY} )?{_MONTH}) of '?([3-9]\d)", r"\1 19\2"),
    # A number above 31 cannot be a day, so it is a year of the 20th century.
    (rf"({_DAY} (?:of )?{_MONTH}|{_MONTH} {_DAY}),? '?(3[2-9]|[4-9]\d)", r"\1 19\2"),
    (r"(.*\b\d{1,2}(?::\d\d)?) in the morning", r"\1am"),
    (r"(.*\b\d{1,2}(?::\d\d)?) in the (?:afternoon|evening)", r"\1pm"),
    (rf"(.*{_DAY}) day of (.+)", r"\1 of \2"),
    # Ranges: May 3-10, 2026; between 1 and 15 October; Jan-Feb 2017.
    (
        rf"{_FROM}({_MONTH}) (?:the )?({_DAY}){_BETWEEN}(?:the )?({_DAY}){_OF_A_YEAR}",
        r"\1 \2 \4 to \1 \3 \4",
    ),
    (
        rf"{_FROM}(?:the )?({_DAY}){_BETWEEN}(?:the )?({_DAY}) (?:of )?({_MONTH}){_OF_A_YEAR}",
        r"\1 \3 \4 to \2 \3 \4",
    ),
    (
        rf"{_FROM}({_MONTH}(?: {_DAY})?(?: {_YEAR})?) ?[-–—~] ?({_MONTH}(?: {_DAY})?(?:,? {_YEAR})?)",
        r"\1 to \2",
    ),
    (rf"{_FROM}({_YEAR}) ?[-–—~] ?({_YEAR})", r"\1 to \2"),
    (rf"((?:last|previous|this) week),? {_FROM}({_WEEKDAY}){_TO}({_WEEKDAY})", r"\2 to \3 \1"),
    (rf"{_FROM}({_WEEKDAY}) ?[-–—~] ?({_WEEKDAY}(?: (?:of )?(?:last|previous|this) week)?)", r"\1 to \2"),
    (r"(\d+)[-–—~](\d+ \w+ ago)", r"\1 to \2"),
    (rf"({_ISO}) ?(?:/|\.\.+) ?({_ISO})", r"\1 to \2"),
    # In ISO 8601, the end of an interval may leave out the year, or year and month, if these are the same as at the
    # start.
    (r"(\d{4}-(?:\d\d-)?)(\d\d)/(\d\d)", r"\1\2 to \1\3"),
    (r"(\d{4}-)(\d\d-\d\d)/(\d\d-\d\d)", r"\1\2 to \1\3"),
    (r"(.+?)\.\.+(.+)", r"\1 to \2"),
    # Synonyms of since, until, before and after.
    (r"(?:from |since )?(.+?),? (?:onwards?|(?:and|or) (?:later|after|newer|greater))", r"since \1"),
    (r"(.+?) (?:and|or) (?:earlier|before|older)", r"until \1"),
    (r"(?:starting|beginning|commencing)(?: on| from| in)? (?!of )(.+)", r"since \1"),
    (r"(?:no earlier than|not before|>=|> =|≥) ?(.+)", r"since \1"),
    (r"(?:by(?= (?:the )?(?:very )?end of)|no later than|not later than|not after|<=|< =|≤) ?(.+)", r"until \1"),
    (r"(?:later than|(?:greater|newer) than(?= \d{4}$)|>) ?(?!.* ago$)(.+)", r"after \1"),
    (r"(?:prior to|earlier than|less than(?= \d{4}$)) ?(.+)", r"before \1"),
    (r"< ?(?!.* ago$)(.+)", r"before \1"),
    (r"= ?(.+)", r"\1"),
    (r"(?:till|until|to|up to) (?:date|the present|current date)", "until now"),
    (r"(?!year|month|week|quarter)(.+) (?:to|till|until) (?:date|the present|current date)", r"\1 to now"),
    # Words that are removed, because they do not change the meaning.
    (r"(?:some ?time|any ?time|at some point|back|all|the whole)(?: (?:of|in|on|during|over|day))? (.+)", r"\1"),
    (r"at (?:the )?((?:weekend|beginning|start|middle|end)(?: .+)?)", r"the \1"),
    (r"(?:about|around|roughly|approximately) (.+ ago)", r"\1"),
    # Synonyms of counts and units.
    (r"earlier in the (week|month|quarter|year)", r"earlier this \1"),
    (r"(.+) (?:of|in) (?:the )?(week|month|quarter|year)", r"\1 of this \2"),
    (rf"((?:an?|{_NUMBER}|\d+) .+) back", r"\1 ago"),
    (r"(.*?)(?:a )?half(?: an|-)? ?hour(.*)", r"\1 30 minutes\2"),
    (r"(.*?)half a year(.*)", r"\1 6 months\2"),
    (r"(this|last|next) calendar (.+)", r"\1 \2"),
    (r"(?:a|one) fortnight ago", "2 weeks ago"),
    (r"(?:over|greater than) (.+) ago", r"more than \1 ago"),
    (r"(?:the |this )?(?:last|past) fortnight", "past 2 weeks"),
    (rf"(?:the )?({_NUMBER}|\d+) (?:last|past|previous) (.+)", r"past \1 \2"),
    (rf"(?:the )?previous ({_NUMBER}|\d+) (.+)", r"past \1 \2"),
    (r"(?:this|the) past (.+day|weekend)", r"last \1"),
    (r"(?:the )?(?:calendar year|cy) ?(\d{4})", r"\1"),
    (r"year (?:greater than|after) (\d{4})", r"after \1"),
)  # fmt: skip


# The patterns are compiled at the first call, because compiling at import would slow down every start.
@cache
def _compiled_rewrites() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), into) for pattern, into in _REWRITTEN)


@cache
def _compiled_number_words() -> tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]:
    return (re.compile(_YEAR_IN_WORDS), _year_of_words), *((re.compile(day), _day_number) for day in _DAY_IN_WORDS)


def plain_form(text: str) -> str:
    """Rewrite number words, separators and synonyms to the spelling that the rules expect."""
    text = _replace_number_words(text.replace(" ,", ","))
    for pattern, into in _compiled_rewrites():
        if (match := pattern.fullmatch(text)) and _is_range(match, into):
            text = " ".join(match.expand(into).split())
    return text


def _is_range(match: re.Match[str], into: str) -> bool:
    """Whether the matched text may be rewritten to the form `into`.

    The result is false only if `into` is a range ("… to …"), but the two days of a month in the text are not a range.
    The days of a range are in ascending order. If only "and" joins them, they are also adjacent: "May 3 and 9" are two
    days, but "May 3 and 4" and "between May 3 and 9" are ranges.
    """
    days = [int(re.sub(r"\D", "", group)) for group in match.groups() if group and re.fullmatch(_DAY, group)]
    if len(days) != 2 or " to " not in into:
        return True
    is_pair = " and " in match[0] and not match[0].startswith("between ")
    return days[0] < days[1] and (days[1] == days[0] + 1 or not is_pair)
