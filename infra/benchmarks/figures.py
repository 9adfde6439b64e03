"""Measured figures and their comparison with the baseline.

A figure is a ratio within one run of the benchmarks. It has a spread over the rounds, and may have a goal.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TOLERATED = 1.5
"""Factor by which a figure may be worse than the baseline without a failure. Measurements are noisy, and few
regressions are smaller than this."""


@dataclass(frozen=True)
class Figure:
    """One ratio, with the median and the quartiles of its rounds.

    A lower ratio is better, or a higher one if `more_is_better` is true.
    """

    name: str
    ratio: float
    low: float
    high: float
    goal: float | None = None
    more_is_better: bool = False

    @classmethod
    def of(
        cls, name: str, ratios: Sequence[float], goal: float | None = None, *, more_is_better: bool = False
    ) -> "Figure":
        """Return the figure for the ratios of all rounds."""
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
        return cls(name, middle, low, high, goal, more_is_better)

    @property
    def reached(self) -> bool | None:
        """Whether the ratio reaches the goal. None if there is no goal."""
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.more_is_better else self.ratio <= self.goal

    def worse_than(self, baseline: float) -> bool:
        """Whether the ratio is worse than the baseline by more than TOLERATED."""
        return self.ratio < baseline / TOLERATED if self.more_is_better else self.ratio > baseline * TOLERATED

    @property
    def row(self) -> str:
        """Return the figure as a row of the documents' table."""
        sign = "≥" if self.more_is_better else "≤"
        goal = "" if self.goal is None else f"{sign} {self.goal:g}{'' if self.reached else ', not reached'}"
        return f"| {self.name} | {self.ratio:.2f} | {self.low:.2f} to {self.high:.2f} | {goal} |"


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a table in Markdown."""
    return "\n".join(["| | ratio | quartiles | goal |", "|---|---|---|---|", *(figure.row for figure in figures)])


def regressions(figures: Sequence[Figure], baseline: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each figure that is worse than its baseline."""
    return [
        f"{figure.name}: {figure.ratio:.2f}, baseline {baseline[figure.name]['ratio']:.2f}"
        for figure in figures
        if figure.name in baseline and figure.worse_than(baseline[figure.name]["ratio"])
    ]
