"""Rank the candidates of a search. Pure: all weights are in `ranking_weights.Weights`.

The database returns candidates with their raw scores (`db/functions/09_find_candidates.sql`). The steps are:

1. `score_hybrid` computes the relevance in a search by meaning and words: the weighted mean of vector score and lexical
   score (`fuse`), plus bonuses for neighbours in the session (`add_context`), and for a time and a speaker that the
   query names. Other searches use `score_plain` instead.
2. `diversify` subtracts a penalty for similarity to a better candidate.
3. `order` combines relevance and quality (usefulness by ratings), and keeps only the best of several near-duplicates.
"""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from operator import attrgetter

from mnemosyne.domain.candidates import Candidate, Candidates, RankedCandidate
from mnemosyne.domain.name_words import names_in
from mnemosyne.domain.ranking_weights import DEFAULT_WEIGHTS, Weights
from mnemosyne.domain.time.window import TimeWindow

POOL = 20
"""Number of best candidates that `diversify` compares with each other."""
DIVERSIFIED = 10
"""Number of candidates that `diversify` chooses one after the other. After each choice, it raises the penalty of all
candidates that are similar to the chosen one."""
WITH_NEIGHBOURS = 20
"""Number of best candidates whose direct neighbours in the session become candidates, too."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def score_hybrid(
    candidates: Candidates,
    query: str,
    *,
    lexical_weight: float,
    preferred: Collection[TimeWindow] = (),
    weights: Weights = DEFAULT_WEIGHTS,
) -> list[RankedCandidate]:
    """Return the candidates of a hybrid search with their relevance in [0, 1], best first."""
    rows = candidates.rows
    windows = [(_microseconds(window.after), _microseconds(window.before)) for window in preferred]
    times = [weights.preferred_time if windows and _is_within(row.timestamp, windows) else 0.0 for row in rows]
    share = candidates.best_share
    words = max(weight_of_words(lexical_weight, share, weights), weights.unique_words * candidates.lead)
    fused_scores = fuse(rows, candidates.listed, words, weights)
    own_scores = [score + time for score, time in zip(fused_scores, times, strict=True)]
    adjacency = _adjacency(candidates.neighbours)
    context_factor = min(context_weight(share, weights), weights.context_by_lead * (1 - candidates.lead))
    context = [context_factor * bonus for bonus in add_context(rows, own_scores, adjacency, weights)]
    named_speakers = names_in(query, _repeated_speakers(rows))
    speakers = [weights.speaker if row.speaker in named_speakers else 0.0 for row in rows]
    indexes = [*range(candidates.listed), *_eligible_neighbours(candidates, own_scores, adjacency)]
    totals = {index: own_scores[index] + context[index] + speakers[index] for index in indexes}
    largest = max(1.0, *totals.values()) if totals else 1.0
    entries = [
        RankedCandidate(rows[index], total / largest, context[index], times[index], speakers[index], redundancy=0.0)
        for index, total in totals.items()
    ]
    return sorted(entries, key=lambda entry: (entry.relevance, entry.candidate.id), reverse=True)


def _adjacency(neighbours: Iterable[tuple[int, int, int]]) -> dict[int, dict[int, int]]:
    """Map the index of each row to its neighbours in the session: the rows at the offsets -2, -1, 1 and 2."""
    runs: dict[int, dict[int, int]] = {}
    for head, offset, row in neighbours:
        runs.setdefault(head, {0: head})[offset] = row
    adjacency: dict[int, dict[int, int]] = {}
    for run in runs.values():
        for place, row in run.items():
            by_offset = adjacency.setdefault(row, {})
            for offset in (-2, -1, 1, 2):
                if (neighbour := run.get(place + offset)) is not None:
                    by_offset[offset] = neighbour
    return adjacency


def _repeated_speakers(rows: Iterable[Candidate]) -> Collection[str]:
    """Return the speakers of at least two rows. The speaker of a row is the text before the first colon of its content.
    A text before a colon that occurs in one row only is left out, because it is often a title and not a speaker."""
    counts = Counter(row.speaker for row in rows if row.speaker)
    return [speaker for speaker, count in counts.items() if count > 1]


def weight_of_words(lexical_weight: float, share: float, weights: Weights = DEFAULT_WEIGHTS) -> float:
    """Return the weight of the lexical score, from 0 to 1. It is the embedder's `lexical_weight`, increased if the best
    memories contain many of the query's words, and reduced if they contain few (`share`: `Candidates.best_share`)."""
    change = weights.lexical_by_share * (share - weights.usual_share)
    return min(1.0, lexical_weight * (1 + max(-weights.lexical_change, min(weights.lexical_change, change))))


def context_weight(share: float, weights: Weights = DEFAULT_WEIGHTS) -> float:
    """Return a factor from 0 to 1 for the bonus that a memory gets for its neighbours in the session. The factor is
    lower if the best memories contain many of the query's words (`share`, see `Candidates.best_share`)."""
    return min(1.0, max(0.0, 1 - weights.context_by_share * (share - weights.sufficient_share)))


def fuse(
    rows: Sequence[Candidate], listed: int, lexical_weight: float, weights: Weights = DEFAULT_WEIGHTS
) -> list[float]:
    """Return the weighted mean of the vector score and the lexical score of each row.

    Both scores are scaled first, so that each ranges from 0 to 1 in the first `listed` rows. These rows match the
    search; the other rows are their neighbours in the session. Source:
    Bruch, Gai, Ingber 2023, "An Analysis of Fusion Functions for Hybrid Retrieval", https://arxiv.org/abs/2210.11934.
    """
    vectors = [row.vector_score or 0.0 for row in rows]
    words = [combined_lexical_score(row, weights) for row in rows]
    scaled_vectors, scaled_words = _scale(vectors, listed, flat=None), _scale(words, listed, flat=0.0)
    return [
        (1 - lexical_weight) * vector_score + lexical_weight * word_score
        for vector_score, word_score in zip(scaled_vectors, scaled_words, strict=True)
    ]


def combined_lexical_score(row: Candidate, weights: Weights = DEFAULT_WEIGHTS) -> float:
    """Return the weighted mean of the lexical scores of the whole text and of its best passage.

    Source: Callan 1994, "Passage-Level Evidence in Document Retrieval", https://doi.org/10.1007/978-1-4471-2099-5_31.
    """
    whole = row.lexical_score or 0.0
    share = 0.0 if row.passage_score is None else weights.best_passage
    return (1 - share) * whole + share * (row.passage_score or 0.0)


def _scale(scores: Sequence[float], listed: int, *, flat: float | None) -> list[float]:
    """Scale all scores, so that the first `listed` scores range from 0 to 1. Negative results become 0.

    If the first `listed` scores are all equal, every score becomes 1 or 0. With a threshold `flat`, it becomes 1 if it
    is above this threshold. If `flat` is None, it becomes 1 if it is at least as high as the first score.
    """
    if not listed:
        return [0.0] * len(scores)
    least, largest = min(scores[:listed]), max(scores[:listed])
    if largest > least:
        return [max(0.0, (score - least) / (largest - least)) for score in scores]
    if flat is None:
        return [1.0 if score >= least else 0.0 for score in scores]
    return [1.0 if score > flat else 0.0 for score in scores]


def add_context(
    rows: Sequence[Candidate], own_scores: Sequence[float], adjacency: Mapping[int, Mapping[int, int]], weights: Weights
) -> list[float]:
    """Return, for each row, the bonus for its neighbours in the session.

    The bonus is a weighted sum of the neighbours' scores and the best score in the session. A row with a long content
    gets `context_share` * bonus + (1 - `context_share`) * `mean_context` * the mean bonus of all rows. If any row has
    neighbours, a row without a session gets a part of its own score as its bonus. Other rows without neighbours get 0.
    `own_scores` include the bonus for a time that the query names. `adjacency` is the result of `_adjacency`.
    """
    best: dict[int, float] = {}
    for row, score in zip(rows, own_scores, strict=True):
        if row.session is not None:
            best[row.session] = max(score, best.get(row.session, score))
    by_offset = weights.by_offset
    bonuses = [0.0] * len(rows)
    for index, neighbours in adjacency.items():
        session = rows[index].session
        bonuses[index] = sum(by_offset[offset] * own_scores[neighbour] for offset, neighbour in neighbours.items())
        bonuses[index] += weights.session_best * (best[session] if session is not None else 0.0)
    replacement = weights.mean_context * sum(bonuses) / max(1, len(adjacency))
    for index, neighbours in adjacency.items():
        adjacent = [rows[neighbour].length for offset, neighbour in neighbours.items() if abs(offset) == 1]
        share = context_share(rows[index].length, adjacent, weights)
        bonuses[index] = share * bonuses[index] + (1 - share) * replacement
    for index, row in enumerate(rows if adjacency else ()):
        if row.session is None:
            bonuses[index] = weights.without_session * own_scores[index]
    return bonuses


def context_share(length: int, adjacent: Sequence[int], weights: Weights = DEFAULT_WEIGHTS) -> float:
    """Return the fraction (at most 1) of the bonus for neighbours that a memory with `length` bytes of content gets.

    `adjacent` has the lengths in bytes of the memories directly before and after the memory. A long answer between
    short messages gets a small share, because its own words name its topic. A long text between long texts, such as a
    paragraph of a report, gets a larger share.
    """
    if length <= weights.long_content:
        return 1.0
    mean = math.exp(statistics.fmean(math.log(max(1, size)) for size in adjacent)) if adjacent else 1.0
    contrast = min(1.0, weights.long_content / mean)
    return math.pow(weights.long_content / length, contrast)


def _eligible_neighbours(
    candidates: Candidates, own_scores: Sequence[float], adjacency: Mapping[int, Mapping[int, int]]
) -> Iterable[int]:
    """Return the indexes of the neighbours of the best WITH_NEIGHBOURS matches. The neighbours of a match are the rows
    directly before and after it in its session, except other matches and rows that do not meet the filters."""
    indices = sorted(range(candidates.listed), key=lambda index: (-own_scores[index], candidates.rows[index].id))
    best = [index for index in indices[:WITH_NEIGHBOURS] if index in adjacency]
    direct = {adjacency[index].get(offset, index) for index in best for offset in (-1, 1)}
    return sorted(index for index in direct if index >= candidates.listed and candidates.rows[index].eligible)


def score_plain(candidates: Candidates) -> list[RankedCandidate]:
    """Return the candidates of a search that is not hybrid, with their relevance.

    In a search by words, the relevance is the score relative to the largest score. In a search by vector, it is the
    cosine. In a search for a substring, it is 1, and in a list of the newest memories 0.
    """
    rows = candidates.rows[: candidates.listed]
    largest = max((combined_lexical_score(row) for row in rows), default=0.0) or 1.0

    def relevance(row: Candidate) -> float:
        if row.lexical_score is not None:
            return combined_lexical_score(row) / largest
        if row.vector_score is not None:
            return min(1.0, max(0.0, row.vector_score))
        return 1.0 if candidates.strategy == "substring" else 0.0

    return [RankedCandidate(candidate=row, relevance=relevance(row)) for row in rows]


def pool_ids(entries: Sequence[RankedCandidate]) -> list[str]:
    """Return the ids of the best POOL candidates, which `diversify` compares with each other.

    The result is empty if nothing must be compared: there are fewer than two candidates, or none has a session.
    """
    if len(entries) < 2 or all(entry.candidate.session is None for entry in entries):
        return []
    return [entry.candidate.id for entry in entries[:POOL]]


def diversify(
    entries: Sequence[RankedCandidate], cosines: Sequence[Sequence[float | None]], weights: Weights = DEFAULT_WEIGHTS
) -> None:
    """Reduce the relevance of candidates that resemble better ones: maximal marginal relevance.

    `cosines` has the cosine of each pair of candidates in the pool (`pool_ids`), or None if a memory of the pair was
    deleted meanwhile. A candidate outside the pool gets the largest penalty, as if its cosine were 1. A memory without
    a session never gets a penalty: users want to see similar documents, but not similar messages of a chat. Source:
    Carbonell, Goldstein 1998, https://doi.org/10.1145/290941.291025.
    """
    redundancies = [0.0] * len(cosines)
    remaining = list(range(len(cosines)))
    for _ in range(min(DIVERSIFIED, len(remaining)) if len(remaining) > 1 else 0):
        best = max(remaining, key=lambda place: entries[place].relevance - weights.redundancy * redundancies[place])
        remaining.remove(best)
        for place in remaining:
            if entries[place].candidate.session is not None:
                redundancies[place] = max(redundancies[place], cosines[best][place] or 0.0)
    redundancies += [0.0 if entry.candidate.session is None else 1.0 for entry in entries[len(redundancies) :]]
    for entry, redundancy in zip(entries, redundancies, strict=True):
        entry.redundancy = redundancy
        entry.relevance = max(0.0, entry.relevance - weights.redundancy * redundancy)


def order(entries: Sequence[RankedCandidate], quality_weight: float) -> list[RankedCandidate]:
    """Sort by score, best first, and keep only the best memory of each group of near-duplicates.

    Candidates with equal scores are ordered by cosine, and then by time, newest first.
    """
    for entry in entries:
        entry.score = (1 - quality_weight) * entry.relevance + quality_weight * entry.candidate.quality
    result: list[RankedCandidate] = []
    best: dict[str, RankedCandidate] = {}
    for entry in sorted(entries, key=_sort_key, reverse=True):
        statement = entry.candidate.statement
        if statement in best:
            best[statement].folded += (entry.candidate.id,)
            continue
        if statement is not None:
            best[statement] = entry
        result.append(entry)
    return result


def apply_reranker(
    ranked: Iterable[RankedCandidate], relevances: Mapping[str, float], quality_weight: float
) -> list[RankedCandidate]:
    """Replace the relevance of each candidate by the one in `relevances`, which the reranker computed; sort by score.

    Candidates of equal score keep their order. Candidates that are not in `relevances` are left out.
    """
    entries = [entry for entry in ranked if entry.candidate.id in relevances]
    for entry in entries:
        entry.relevance = relevances[entry.candidate.id]
        entry.score = (1 - quality_weight) * entry.relevance + quality_weight * entry.candidate.quality
    return sorted(entries, key=attrgetter("score"), reverse=True)


def _sort_key(entry: RankedCandidate) -> tuple[float, float, int, str]:
    candidate = entry.candidate
    cosine = candidate.vector_score if candidate.vector_score is not None else -2.0
    return entry.score, cosine, candidate.timestamp, candidate.id


def _is_within(timestamp: int, windows: Iterable[tuple[int | None, int | None]]) -> bool:
    return any(
        (after is None or timestamp >= after) and (before is None or timestamp < before) for after, before in windows
    )


def _microseconds(time: datetime | None) -> int | None:
    return None if time is None else (time - _EPOCH) // timedelta(microseconds=1)
