"""How rules read time expressions: each matches the whole of a text or nothing. Pure.

A rule that can be read in two ways is left out on purpose: not understood is an error, misunderstood is a lie.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain

from mnemosyne.domain.time.calendar_spans import Calendar, Span
from mnemosyne.domain.time.spelling import plain_form

Match = re.Match[str]
Rule = Callable[["Grammar", Match], Span | None]


class Rules:
    """Rules in the order in which they are tried, each with the patterns it reads."""

    def __init__(self) -> None:
        self._rules: list[tuple[re.Pattern[str], Rule]] = []

    def __iter__(self) -> Iterator[tuple[re.Pattern[str], Rule]]:
        return iter(self._rules)

    def reading(self, *patterns: str) -> Callable[[Rule], Rule]:
        """Add the decorated rule, which reads texts that one of the patterns matches whole."""

        def add(rule: Rule) -> Rule:
            self._rules.extend((re.compile(pattern, re.ASCII), rule) for pattern in patterns)
            return rule

        return add


class TooManyReadingsError(ValueError):
    """Raised when a text would take more readings than are left."""


@dataclass
class Readings:
    """How many texts may still be read by all rules; one reading takes about 0.05 ms."""

    left: int

    def take(self) -> None:
        """Count a reading; raises TooManyReadingsError if none is left."""
        if self.left <= 0:
            raise TooManyReadingsError("the text is too involved to be read as a time")
        self.left -= 1


class Grammar:
    """Reads expressions around a moment. `horizon` is the last day that "the latest March" may begin on."""

    def __init__(
        self, rules: Sequence[Rules], calendar: Calendar, readings: Readings, horizon: date | None = None
    ) -> None:
        self._rules = rules
        self.readings = readings
        self.calendar = calendar
        self.today = calendar.today
        self.horizon = horizon or calendar.today
        self._known: dict[str, Span | None] = {}

    def span(self, text: str) -> Span | None:
        """Return the span that the whole text names; None where no rule matches. May raise ValueError, OverflowError.

        Rules read parts of the text in turn: each part is read once, or the time taken would double with each word.
        """
        if text not in self._known:
            self._known[text] = self._span(text)
        return self._known[text]

    def _span(self, text: str) -> Span | None:
        self.readings.take()
        text = re.sub(r"^(?:in|on|during|within|over|for|throughout) ", "", text)
        for pattern, rule in chain.from_iterable(self._rules):
            if (match := pattern.fullmatch(text)) and (span := rule(self, match)):
                return span
        return self.span(plain) if (plain := plain_form(text)) != text else None

    def day(self, text: str) -> date | None:
        """Return the one day that the whole text names; None where it names none, or a longer or shorter span."""
        span = self.span(text)
        return span.day if span else None

    def latest(self, candidates: Iterator[Span]) -> Span | None:
        """Return the first of the candidates, newest first, that has begun by the horizon."""
        end = self.calendar.day(self.horizon).end
        return next((span for span in candidates if span.start and end and span.start < end), None)

    def years(self) -> Iterator[int]:
        """Yield the horizon's year and those before it, as far as any yearly thing can be away."""
        yield from range(self.horizon.year, self.horizon.year - 9, -1)

    def last_of(self, make: Callable[[int], Span]) -> Span | None:
        """Return the latest yearly span that had ended before the horizon's day began."""
        now = self.calendar.day(self.horizon).start
        spans = map(make, self.years())
        return next((span for span in spans if span.end and now and span.end <= now), None)
