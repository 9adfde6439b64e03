"""Figures (results of benchmarks), and their comparison with the baseline (the figures of an earlier run).

Most figures are ratios of two measurements of one run, such as the times of two searches. A figure has a spread over
several rounds, and can have a goal.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TOLERATED = 1.5
"""Factor by which a figure may be worse than the baseline without a failure. With a smaller factor, differences that
come only from noise in the measurements would be failures."""


@dataclass(frozen=True)
class Figure:
    """A measured ratio with its spread.

    Usually `ratio` is the median of all rounds, and `low` and `high` are the quartiles. If `more_is_better` is true, a
    higher ratio is better, otherwise a lower ratio.
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
        """Return the figure with this name. `ratios` has the measured ratio of each round."""
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
        return cls(name, middle, low, high, goal, more_is_better)

    @property
    def reached(self) -> bool | None:
        """True if the ratio reaches the goal, False if it does not, and None if there is no goal."""
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.more_is_better else self.ratio <= self.goal

    def worse_than(self, baseline: float) -> bool:
        """Whether the ratio is worse than the baseline by more than the factor TOLERATED."""
        return self.ratio < baseline / TOLERATED if self.more_is_better else self.ratio > baseline * TOLERATED

    @property
    def row(self) -> str:
        """The figure as a row of the table in docs/benchmarks.md."""
        sign = "≥" if self.more_is_better else "≤"
        goal = "" if self.goal is None else f"{sign} {self.goal:g}{'' if self.reached else ', not reached'}"
        return f"| {self.name} | {self.ratio:.2f} | {self.low:.2f} to {self.high:.2f} | {goal} |"


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a table in Markdown."""
    return "\n".join(["| | ratio | quartiles | goal |", "|---|---|---|---|", *(figure.row for figure in figures)])


def regressions(figures: Sequence[Figure], baseline: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each figure that is worse than its baseline by more than the factor TOLERATED."""
    return [
        f"{figure.name}: {figure.ratio:.2f}, baseline {baseline[figure.name]['ratio']:.2f}"
        for figure in figures
        if figure.name in baseline and figure.worse_than(baseline[figure.name]["ratio"])
    ]
