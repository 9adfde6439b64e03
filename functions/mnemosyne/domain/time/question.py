"""Find time expressions in a question. Pure."""

import re
from collections.abc import Iterator
from datetime import datetime

from mnemosyne.domain.change_words import FUNCTION
from mnemosyne.domain.time.calendar_spans import PARTS_OF_DAY, SEASONS
from mnemosyne.domain.time.grammar import MatchBudget
from mnemosyne.domain.time.vocabulary import LENGTH, MONTHS, NUMBERS, ORDINALS, UNITS, WEEKDAYS
from mnemosyne.domain.time.window import TimeWindow, resolve
from mnemosyne.errors import InvalidRequest

# `_ALONE` has words that are a complete time expression, and `_CUES` has words that may begin a longer expression.
# Months, seasons and weekdays are only in `_CUES`, because "may", "march", "fall" and "sun" alone usually mean
# something else.
_ALONE = frozenset({"today", "yesterday", "tonight", "recently", "lately"})
_CUES = {
    *_ALONE, *NUMBERS, *ORDINALS, *MONTHS, *WEEKDAYS, *SEASONS, "q1", "q2", "q3", "q4", "h1", "h2",
    "last", "this", "past", "previous", "since", "before", "after", "until", "till", "between", "from", "during", "in",
    "on", "at", "over", "within", "the", "earlier", "early", "late", "mid", "few", "several", "some",
}  # fmt: skip
# Every time expression contains one of these words or a digit.
_TIME_WORDS = frozenset({
    *_ALONE, *MONTHS, *WEEKDAYS, *(f"{weekday}s" for weekday in WEEKDAYS), *PARTS_OF_DAY, *SEASONS, *UNITS, "half",
    "season", "weekend", "weekends", "fortnight", "decade", "christmas", "easter", "halloween", "juneteenth",
    "thanksgiving", "valentines", "valentine", "xmas",
})  # fmt: skip
_HAS_DIGIT = re.compile(r".*\d")
_WHOLE_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?|\d\d?\.\d\d?\.\d{4}|\d\d?/\d\d?/\d{4}")
_PART_OF_A_YEAR = re.compile(r"(half|quarter)\b")
_NAMED_YEAR = re.compile(r"\d{4}|\b(last|this|next|past|previous|current|ago)\b")
# Words that make clear which period is meant, such as a year or "last". An expression without such a word, such as "in
# March", can mean March of any year.
_NAMED_PERIOD = re.compile(
    r"\d{4}|\b(last|this|next|past|previous|current|ago|few|recent|recently|lately|today|yesterday|tonight)\b"
)
# Expressions that recur in each period, such as "at the end of the month" (of any month) and "at five" (on any day).
# Such expressions, and lengths such as "3 days", do not count as the time that a question names.
_OF_ANY_PERIOD = re.compile(r".*\b(of|in)( the)? (week|month|quarter|year)")
_CLOCK_ALONE = re.compile(
    r"(\s|[-–]|\b(at|since|before|after|until|till|from|to|and|between|by|around|about|noon|midnight)\b"
    r"|\b\d{1,2}([:.]\d\d)?( ?[ap]\.?m\b\.?)?)*"
)
_CLOCK = re.compile(r"\d{1,2}([:.]\d\d([ap]\.?m)?|[ap]\.?m)")
_BEFORE_A_CLOCK = frozenset({
    "before", "after", "since", "until", "till", "by", "from", "to", "between", "and", "around", "about", "-", "–",
})  # fmt: skip
"""Words that belong to the time of day after them. An expression without them would mean another time: "before 9:30
yesterday" does not mean the minute 9:30."""
_LENGTH = re.compile(LENGTH)
_PUNCTUATION = " ?.!,;:…—"
_MARKS = _PUNCTUATION + "()[]{}*_`\"'“”„‘’«»"
"""Punctuation and other marks that are removed from the beginning and the end of an expression."""
# The possessive is removed from "yesterday's", but not from "after yesterday's": "After yesterday's call" does not mean
# the time after yesterday.
_POSSESSIVE = re.compile(r"(?!(?:after|before|since|until|till) )(.*\w)['’]s", re.IGNORECASE)
_DASH = re.compile(r"(?<=[^\W\d])—")
"""A dash directly after a letter. It separates two words, even without a space."""
_EXPRESSION_WORDS = 9
_QUESTION_WORDS = 60
QUESTION_MATCHES = 200
"""Maximum number of parts of a question that are matched against the rules. A question with more parts to match is
treated as a question without a time. 1,356 real questions needed at most 100."""
_BEFORE_A_PERIOD = frozenset({"in", "within", "during", "over", "since", "from", "for"})
"""Prepositions with which "last" and a unit mean a period that ends now, as in "in the last minute"."""
_BEFORE_AN_END = frozenset({"at", "on", "by", "to", "until", "till", "before"})
"""Prepositions with which "last" and a unit mean the end of something: "on the last day", "by the last hour"."""


def split_question(question: str, *, now: datetime, timezone: str = "UTC") -> tuple[str, str] | None:
    """Return the longest time expression in a question, and the rest of the question.

    None if the question names no time.
    """
    match = _find_time(question, now, timezone, MatchBudget(QUESTION_MATCHES))
    return (match[0], match[2]) if match else None


def _find_time(question: str, now: datetime, timezone: str, budget: MatchBudget) -> tuple[str, TimeWindow, str] | None:
    """Return the longest time expression in a question, its time window, and the rest of the question."""
    words = _DASH.sub(" — ", question).split()
    if len(words) > _QUESTION_WORDS:
        return None  # too long for a question, so probably a pasted text
    for expression, start, end in _find_expressions(words):
        if budget.left <= 0:
            return None
        try:
            window = resolve(expression, now=now, timezone=timezone, budget=budget)
        except InvalidRequest:
            continue
        return expression, window, " ".join(words[:start] + words[end:]).strip(_PUNCTUATION)
    return None


def _find_expressions(words: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each part of a question that probably means a time, the longest part first.

    The two numbers after the part are the index of its first word, and the index after its last word.
    """
    plain = [word.casefold().strip(_MARKS) for word in words]
    following = ["" if word[-1] in _MARKS else after for word, after in zip(words, [*plain[1:], ""], strict=False)]
    is_time_word = [_is_time_word(word) for word in plain]
    for length in range(min(_EXPRESSION_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            end = start + length
            if not any(is_time_word[start:end]) or _is_end_of_something(plain[:end], following[end - 1]):
                continue
            if start and plain[start - 1] in _BEFORE_A_CLOCK and _CLOCK.fullmatch(plain[start]):
                continue
            for expression in _spellings(" ".join(words[start:end])):
                if _probably_means_time(expression.casefold()):
                    yield expression, start, end


def _spellings(text: str) -> tuple[str, ...]:
    """Return a text without the marks around it and, if it ends with a possessive, also without the possessive."""
    text = text.strip(_MARKS)
    match = _POSSESSIVE.fullmatch(text)
    return (text, match[1]) if match else (text,)


def _is_time_word(word: str) -> bool:
    plain = _spellings(word)[-1]
    return plain in _TIME_WORDS or _HAS_DIGIT.match(plain) is not None


def named_times(question: str, *, now: datetime, timezone: str = "UTC") -> tuple[TimeWindow, ...]:
    """Return the time windows that a question names.

    A time without a year, such as "in March", means several windows: March of this year and of each of the nine years
    before. But "since March" and "before March" mean only the latest March.
    """
    budget = MatchBudget(QUESTION_MATCHES)
    if not (match := _find_time(question, now, timezone, budget)):
        return ()
    expression, window, _ = match
    if window.after is None or window.before is None or _NAMED_PERIOD.search(expression.casefold()):
        return (window,)
    windows = [window]
    for year in range(now.year, now.year - 10, -1):
        try:
            windows.append(resolve(f"{expression} {year}", now=now, timezone=timezone, budget=budget))
        except InvalidRequest:
            continue  # not a time: for example "monday 2025", or 29 February in a year without that day
    return tuple(dict.fromkeys(windows))


def _probably_means_time(expression: str) -> bool:
    """Whether an expression from a question probably means a time.

    This check is necessary, because a word such as "may" can be parsed as a time even if it means something else.
    """
    first, *more = expression.split() or [""]
    if not more:
        return first in _ALONE or _WHOLE_DATE.fullmatch(first) is not None
    if _PART_OF_A_YEAR.search(expression) and not _NAMED_YEAR.search(expression):
        return False  # probably not a time: for example "the first half of a book"
    if any(pattern.fullmatch(expression) for pattern in (_OF_ANY_PERIOD, _CLOCK_ALONE, _LENGTH)):
        return False
    return first.strip(".,") in _CUES or first[:1].isdigit()


def _is_end_of_something(words: list[str], following: str) -> bool:
    """Whether the words end with "last" and a unit, such as "last day", in the sense of the end of something.

    Otherwise, "last" and a unit mean a period until now. The words are in lower case. `following` is the next word of
    the sentence, or empty. "Last minute" is also a set phrase, as in "last minute changes". So "the last minute" means
    a period only after a preposition such as "in", and "last minute" without "the" only if, in addition, no noun
    follows. Every word that is not a function word counts as a noun.
    """
    second, first, last, unit = ["", "", "", *words][-4:]
    if last != "last":
        return False
    if following == "of":
        return True
    if unit == "minute":
        is_before_noun = following != "" and following not in FUNCTION
        return not (second in _BEFORE_A_PERIOD if first == "the" else first in _BEFORE_A_PERIOD and not is_before_noun)
    return unit in ("hour", "day") and first == "the" and second in _BEFORE_AN_END
