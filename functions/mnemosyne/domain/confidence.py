"""Confidence that a hit (a memory that a search returns) is about the query.

The score of a hit only orders the hits of one search, but the confidence can be compared between searches. It is
computed from the sum of two numbers: the cosine of the angle between the vectors of memory and query, and the share of
words. The share of words is the fraction of the query's words that the memory contains. Rare words count more, and the
share is lower if the memory lacks a name that the query has. The sum separates questions with and without an answer
better than either number alone (docs/benchmarks.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Confidence(StrEnum):
    """How close a hit is to the query: weak, related or strong."""

    WEAK = "weak"
    RELATED = "related"
    STRONG = "strong"

    def at_least(self, other: "Confidence") -> bool:
        """Whether this confidence is the same as the other, or higher."""
        order = list(Confidence)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True)
class Thresholds:
    """The lowest value (such as a cosine) for the confidence `related`, and the lowest value for `strong`."""

    related: float
    strong: float

    def confidence(self, value: float) -> Confidence:
        """Return the confidence of a hit with this value (such as a cosine), according to the thresholds."""
        if value >= self.strong:
            return Confidence.STRONG
        return Confidence.RELATED if value >= self.related else Confidence.WEAK


@dataclass(frozen=True)
class Calibration:
    """Thresholds of confidence for the embeddings of one model.

    The thresholds in `both` apply to the result of `weighted_sum`, that is, to cosine and share of words together. If
    the share of words is unknown, the thresholds in `cosine` apply to the cosine alone.
    """

    both: Thresholds
    cosine: Thresholds
    words: float = 1.0
    """Weight of the share of words in `weighted_sum`. The weight is low for a model whose cosines are all close to each
    other, because a high weight would hide the small differences between the cosines."""

    def weighted_sum(self, cosine: float, words: float) -> float:
        """Return the cosine plus the weighted share of words (the fraction of the query's words in the memory)."""
        return cosine + self.words * words


LACKED_NAME = 0.25
"""Amount that is subtracted from the share of words if the memory lacks a name that the query has. Such a memory is
often about another person or thing, even if it contains most words of the query (docs/decisions/0044)."""
WORDS = Thresholds(related=0.35, strong=0.6)
"""Thresholds of the share of words alone, for searches without vectors. These thresholds do not depend on the embedding
space."""
UNCALIBRATED = Calibration(both=Thresholds(related=0.95, strong=1.25), cosine=Thresholds(related=0.6, strong=0.75))
"""Thresholds for models that were not measured, such as Gemini. The thresholds of the sum are so high that only a hit
with a large share of the query's words is related or strong."""
CALIBRATIONS: Mapping[str, Calibration] = {
    "wordllama-l2-supercat-256": Calibration(
        both=Thresholds(related=0.67, strong=1.2), cosine=Thresholds(related=0.3, strong=0.45), words=1.4
    ),
    # With this model, two unrelated texts have a cosine of about .8. The thresholds were measured on a collection of
    # conversations. Of 125 questions with an answer, 78 % had a strong first hit and 18 % a related one. Of 123
    # questions without an answer, 4 % had a strong first hit and 32 % a related one.
    "multilingual-e5-small-q4": Calibration(
        both=Thresholds(related=0.82, strong=0.86), cosine=Thresholds(related=0.82, strong=0.85), words=0.1
    ),
}
"""Thresholds by embedding model. `python -m infra.benchmarks.confidence` measures how often the confidence is wrong
with these thresholds."""


def reduced_share(words: float, *, lacks_name: bool) -> float:
    """Return `words`, the share of words of a memory, reduced by LACKED_NAME if it lacks a name that the query has."""
    return max(0.0, words - LACKED_NAME) if lacks_name else words


def confidence(model: str, cosine: float | None, words: float | None, *, lacks_name: bool = False) -> Confidence:
    """Return the confidence of a hit.

    `cosine` is the cosine of the angle between the vectors of memory and query. `words` is the share of the query's
    words that the memory contains. Either of them is None if it was not computed.
    """
    words = words and reduced_share(words, lacks_name=lacks_name)
    calibration = CALIBRATIONS.get(model, UNCALIBRATED)
    if cosine is None and words is None:
        # Only an exact search computes neither the cosine nor the share of words. All hits of an exact search are
        # strong, because they contain the text of the query.
        return Confidence.STRONG
    if cosine is None:
        return WORDS.confidence(words or 0.0)
    if words is None:
        return calibration.cosine.confidence(cosine)
    return calibration.both.confidence(calibration.weighted_sum(cosine, words))
