"""Parse time expressions by rules. A rule must match the whole text of an expression. Pure.

Ambiguous expressions have no rules, because an error is better than a wrong time.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import chain

from mnemosyne.domain.time.calendar_spans import Calendar, Span
from mnemosyne.domain.time.spelling import plain_form

Match = re.Match[str]
Rule = Callable[["Grammar", Match], Span | None]


class Rules:
    """Rules with their patterns, in the order in which they are tried.

    The patterns are compiled at their first use. Compiling them at import would delay every start by a tenth of a
    second.
    """

    def __init__(self) -> None:
        self._rules: list[tuple[str, Rule]] = []

    def __iter__(self) -> Iterator[tuple[re.Pattern[str], Rule]]:
        return iter(self._compiled)

    @cached_property
    def _compiled(self) -> list[tuple[re.Pattern[str], Rule]]:
        return [(re.compile(pattern, re.ASCII), rule) for pattern, rule in self._rules]

    def rule(self, *patterns: str) -> Callable[[Rule], Rule]:
        """Return a decorator that adds a rule for texts that fully match one of the patterns."""

        def add(rule: Rule) -> Rule:
            self._rules.extend((pattern, rule) for pattern in patterns)
            return rule

        return add


@dataclass
class MatchBudget:
    """The number of texts that may still be matched against the rules. It limits the time that an expression takes:
    matching one text against all rules takes about 0.05 ms."""

    left: int

    def take(self) -> None:
        """Count an attempt to match a text. Raises ValueError if no attempt remains."""
        if self.left <= 0:
            raise ValueError("the expression needs too many attempts")
        self.left -= 1


class Grammar:
    """Parses time expressions relative to a moment.

    Without a year, "March" means the latest March that begins on or before a day, the `horizon`. By default, this is
    today.
    """

    def __init__(
        self, rules: Sequence[Rules], calendar: Calendar, budget: MatchBudget, horizon: date | None = None
    ) -> None:
        self._rules = rules
        self.budget = budget
        self.calendar = calendar
        self.today = calendar.today
        self.horizon = horizon or calendar.today
        self._spans: dict[str, Span | None] = {}

    def span(self, text: str) -> Span | None:
        """Return the span that the text means; None if no rule matches.

        Rules call this function for parts of the text. Results are cached, because without a cache each further word
        of the text would double the running time. Raises ValueError or OverflowError if the time does not exist, such
        as 30 February, or if no match of the MatchBudget is left.
        """
        if text not in self._spans:
            self._spans[text] = self._span(text)
        return self._spans[text]

    def _span(self, text: str) -> Span | None:
        self.budget.take()
        text = re.sub(r"^(?:in|on|during|within|over|for|throughout) ", "", text)
        for pattern, rule in chain.from_iterable(self._rules):
            if (match := pattern.fullmatch(text)) and (span := rule(self, match)):
                return span
        return self.span(plain) if (plain := plain_form(text)) != text else None

    def day(self, text: str) -> date | None:
        """Return the day that the text means. None if the text means a longer or shorter span, or is not a time."""
        span = self.span(text)
        return span.day if span else None

    def latest(self, candidates: Iterator[Span]) -> Span | None:
        """Return the latest span that begins on or before the day `horizon` (by default today).

        `candidates` yields the spans to choose from, the latest first.
        """
        end = self.calendar.day(self.horizon).end
        return next((span for span in candidates if span.start and end and span.start < end), None)

    def years(self) -> Iterator[int]:
        """Yield the years that a date without a year can mean.

        These are the year of the day `horizon` (by default today) and the eight years before. Eight years are necessary
        for a 29 February, because two leap days can be eight years apart.
        """
        yield from range(self.horizon.year, self.horizon.year - 9, -1)

    def last_of(self, make: Callable[[int], Span]) -> Span | None:
        """Return the latest span that ended before the day `horizon` (by default today).

        `make` returns the span for a given year, such as the summer of that year.
        """
        now = self.calendar.day(self.horizon).start
        spans = map(make, self.years())
        return next((span for span in spans if span.end and now and span.end <= now), None)
