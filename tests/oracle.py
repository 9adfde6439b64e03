"""Ranking in plain Python, from the contract's formulas: what the database must agree with.

Fusion: Bruch, Gai, Ingber 2023, "An Analysis of Fusion Functions for Hybrid Retrieval", https://arxiv.org/abs/2210.11934.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence

from mnemosyne.ports import Vector


def quality(ratings: int, total: int) -> float:
    """A memory's quality in [0, 1], from the number and sum of its ratings (-1, 0, 1)."""
    return (1.0 + (total + ratings) / 2.0) / (2.0 + ratings)


def normalised(scores: Mapping[str, float], *, flat: Mapping[str, float]) -> dict[str, float]:
    """The scores scaled to [0, 1] by the least and the largest; where all are equal, what `flat` says."""
    least, largest = min(scores.values()), max(scores.values())
    if largest == least:
        return dict(flat)
    return {name: (score - least) / (largest - least) for name, score in scores.items()}


def fused(vector: Mapping[str, float], lexical: Mapping[str, float], lexical_weight: float) -> dict[str, float]:
    """The relevance of each candidate: the convex combination of both scores, each normalised over all of them."""
    near = normalised(vector, flat=dict.fromkeys(vector, 1.0))
    words = normalised(lexical, flat={name: 1.0 if score > 0 else 0.0 for name, score in lexical.items()})
    return {name: (1 - lexical_weight) * near[name] + lexical_weight * words[name] for name in vector}


def in_context(scores: Mapping[str, float], sessions: Collection[Sequence[str]]) -> dict[str, float]:
    """The scores with what stands around each in its session, whose members are in the order of time."""
    found = dict(scores)
    for session in sessions:
        best = max(scores[name] for name in session)
        for place, name in enumerate(session):
            around = {place - 1: 0.45, place - 2: 0.25, place + 1: 0.1, place + 2: 0.05}
            beside = [weight * scores[session[at]] for at, weight in around.items() if 0 <= at < len(session)]
            found[name] += sum(beside) + 0.3 * best if beside else 0.0
    return found


def is_said_by(content: str, question: str) -> bool:
    """Whether the content begins with a name, a colon and a space, and the question names it."""
    name, colon, _ = content[:42].partition(": ")
    return bool(colon) and not {*_words(name)}.isdisjoint(_words(question))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def relevance(
    scores: Mapping[str, float],
    *,
    question: str = "",
    sessions: Collection[Sequence[str]] = (),
    preferred: Collection[str] = (),
) -> dict[str, float]:
    """The relevance of each content: fused, of the times preferred, in its context, said by whom is asked about.

    The best is 1 at most.
    """
    timely = {name: one + (0.2 if name in preferred else 0.0) for name, one in scores.items()}
    said = {
        name: one + (0.2 if is_said_by(name, question) else 0.0) for name, one in in_context(timely, sessions).items()
    }
    largest = max(1.0, *said.values())
    return {name: one / largest for name, one in said.items()}


def diversified(
    relevances: Mapping[str, float], vectors: Mapping[str, Vector], sessions: Collection[Sequence[str]]
) -> dict[str, float]:
    """The relevances less a ninth of the redundancy: maximal marginal relevance, λ = .9 (Carbonell, Goldstein 1998).

    Ten of the twenty best are chosen one by one; vectors are normalised. What is in no session loses nothing.
    """
    pool = sorted(relevances, key=lambda name: relevances[name], reverse=True)[:20]
    members = {name for session in sessions for name in session}
    redundancy = {name: 1.0 if name in members and name not in pool else 0.0 for name in relevances}
    if len(pool) > 1:
        left = list(pool)
        for _ in range(min(10, len(pool))):
            best = max(left, key=lambda name: relevances[name] - redundancy[name] / 9)
            left.remove(best)
            for name in members.intersection(left):
                near = float(vectors[best] @ vectors[name])
                redundancy[name] = max(redundancy[name], near)
    return {name: max(0.0, one - redundancy[name] / 9) for name, one in relevances.items()}


def lexical(texts: Mapping[str, Mapping[str, int]], asked: Collection[str]) -> dict[str, float]:
    """BM25 of each text for the words asked, from how often each word stands in each; k1 = 1.2, b = .4.

    The factor of the length, in different words, stands by itself: exact where a word is there once (Robertson,
    Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond"). A word weighs the root of its inverse
    document frequency; one that no text has, as if half a text had it. Lengths count up to four times the mean.
    """
    mean_length = max(1.0, sum(map(len, texts.values())) / len(texts))
    counts = {word: sum(word in one for one in texts.values()) for word in asked}
    weights = {word: math.sqrt(math.log(1 + len(texts) / (count or 0.5))) for word, count in counts.items()}
    return {
        name: sum(weights[word] * 2.2 * words[word] / (words[word] + 1.2) for word in asked if word in words)
        * (2.2 / (1.72 + 0.48 * min(4.0, len(words) / mean_length)))
        for name, words in texts.items()
    }


def score(relevance: float, quality_: float, weight: float) -> float:
    """What a hit is ranked by."""
    return (1 - weight) * relevance + weight * quality_
