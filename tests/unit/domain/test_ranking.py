"""Ranking of search candidates; the expected scores are calculated by hand."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from mnemosyne.domain import ranking
from mnemosyne.domain.candidates import Candidate, Candidates, RankedCandidate
from mnemosyne.domain.ranking_weights import DEFAULT_WEIGHTS
from mnemosyne.domain.time.window import TimeWindow


def _candidate(name: str, vector: float | None = 0.0, words: float | None = 0.0, **fields: Any) -> Candidate:
    blank = Candidate(name, 0, None, 0.5, vector, words, None, None, eligible=True)
    return blank._replace(**fields)


def _candidates(
    *rows: Candidate, neighbours: Sequence[tuple[int, int, int]] = (), listed: int | None = None
) -> Candidates:
    return Candidates(
        rows=rows,
        listed=len(rows) if listed is None else listed,
        neighbours=neighbours,
        strategy="exact+fulltext",
        full=False,
    )


def _relevances(ranked: Sequence[RankedCandidate]) -> dict[str, float]:
    return {item.candidate.id: item.relevance for item in ranked}


def test_fusion_scales_both_scores_over_all_candidates() -> None:
    rows = [_candidate("a", 0.9, 0.0), _candidate("b", 0.5, 4.0), _candidate("c", 0.1, 1.0)]
    assert ranking.fuse(rows, 3, 0.5) == pytest.approx([0.5, 0.75, 0.125])


def test_half_of_the_score_by_words_of_a_long_memory_is_that_of_its_best_passage() -> None:
    rows = [_candidate("long", words=4.0, passage_score=2.0), _candidate("a", words=1.0), _candidate("b", words=5.0)]
    assert ranking.fuse(rows, 3, 1.0) == pytest.approx([0.5, 0.0, 1.0])


@pytest.mark.parametrize(
    ("shares", "weight"),
    [
        ((0.0, 0.0, 0.0), 0.2),
        ((0.35, 0.35, 0.35), 0.5),
        ((0.1, 0.45, 0.45, 0.45), 0.625),
        ((1.0, 1.0, 1.0), 0.8),
    ],
)
def test_words_weigh_more_if_the_best_candidates_contain_more_of_the_query_s_words(
    shares: Sequence[float], weight: float
) -> None:
    rows = [_candidate("vector", 1.0, 0.0), _candidate("words", 0.0, 1.0)]
    rows += [_candidate(f"share {share}", words_share=share) for share in shares]
    relevances = _relevances(ranking.score_hybrid(_candidates(*rows), "", lexical_weight=0.5))
    assert (relevances["words"], relevances["vector"]) == pytest.approx((weight, 1 - weight))


@pytest.mark.parametrize(
    ("other_shares", "weight"), [((), 0.8), ((0.45,) * 9, 0.44), ((0.9,) * 9, 0.32), ((0.0, 0.0), 0.8)]
)
def test_words_that_only_one_memory_contains_outweigh_vectors(other_shares: Sequence[float], weight: float) -> None:
    rows = [_candidate("vector", 1.0, 0.0), _candidate("words", 0.0, 1.0, words_share=1.0)]
    rows += [_candidate(f"other {place}", words_share=share) for place, share in enumerate(other_shares)]
    relevances = _relevances(ranking.score_hybrid(_candidates(*rows), "9f76893b", lexical_weight=0.2))
    assert (relevances["words"], relevances["vector"]) == pytest.approx((weight, 1 - weight))


def test_the_weight_of_words_is_at_most_1() -> None:
    assert ranking.weight_of_words(0.9, 1.0) == 1.0


@pytest.mark.parametrize(("words", "expected"), [(0.0, 0.6), (2.0, 1.0)])
def test_equal_word_scores_are_scaled_to_0_or_1(words: float, expected: float) -> None:
    rows = [_candidate("a", 0.3, words), _candidate("b", 0.3, words)]
    assert ranking.fuse(rows, 2, 0.4) == pytest.approx([expected, expected])


def test_a_neighbour_that_scores_below_every_candidate_adds_nothing() -> None:
    rows = [_candidate("a", 0.9, 2.0), _candidate("b", 0.5, 1.0), _candidate("neighbour", 0.1, 0.0)]
    assert ranking.fuse(rows, 2, 0.5)[2] == 0.0


def test_context_weighs_earlier_neighbours_more_and_includes_the_best_memory_of_the_session() -> None:
    rows = [_candidate(name, session=1) for name in "abc"]
    around = {0: {1: 1, 2: 2}, 1: {-1: 0, 1: 2}, 2: {-1: 1, -2: 0}}
    added = ranking.add_context(rows, [1.0, 0.0, 0.5], around, DEFAULT_WEIGHTS)
    assert added == pytest.approx([0.05 * 0.5 + 0.3, 0.45 * 1.0 + 0.1 * 0.5 + 0.3, 0.25 * 1.0 + 0.3])


@pytest.mark.parametrize(("length", "expected"), [(10, 0.6), (440, 0.6), (880, 0.375), (4_400, 0.195)])
def test_the_weight_of_neighbours_decreases_with_the_length_of_a_content(length: int, expected: float) -> None:
    rows = [_candidate("a", session=1), _candidate("b", session=1, length=length)]
    added = ranking.add_context(
        rows, [0.6667, 0.4], {1: {-1: 0}}, replace(DEFAULT_WEIGHTS, previous=0.6, session_best=0.3)
    )
    assert added[1] == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize(
    ("adjacent", "share"),
    [([], 0.25), ([100], 0.25), ([440, 440], 0.25), ([100, 1_936], 0.25), ([880], 0.5), ([440, 1_760], 0.5)],
)
def test_a_long_content_gets_more_of_its_context_among_long_contents(adjacent: list[int], share: float) -> None:
    assert ranking.context_share(1_760, adjacent) == pytest.approx(share)


def test_a_memory_without_a_session_gets_a_tenth_of_its_score_if_others_get_context() -> None:
    rows = [_candidate(name, session=1) for name in "ab"] + [_candidate("alone", session=2), _candidate("none")]
    added = ranking.add_context(rows, [1.0, 0.5, 0.9, 0.8], {0: {1: 1}, 1: {-1: 0}}, DEFAULT_WEIGHTS)
    assert added[2:] == pytest.approx([0.0, 0.08])


@pytest.mark.parametrize(
    ("speaker", "query", "named"),
    [
        ("Ada Lovelace", "what does ada drink?", True),
        ("Ada", "what does Bo have?", False),
        ("José", "what did jose say", True),
        ("Łukasz", "gdzie mieszka lukasz", True),
        ("राम", "राम ने क्या कहा", True),
        ("राम", "रमा ने क्या कहा", False),
        ("Μαρία", "τι είπε η μαρια", True),
        ("user_2", "what did user_2 say", True),
        ("user", "what did user_2 say", False),
    ],
)
def test_a_speaker_whose_name_is_in_the_query_gets_a_bonus(speaker: str, query: str, named: bool) -> None:
    rows = [_candidate("a", 0.5, speaker=speaker), _candidate("b", 0.4), _candidate("c", 0.3, speaker=speaker)]
    (first, *_) = ranking.score_hybrid(_candidates(*rows), query, lexical_weight=0.0)
    assert first.speaker == (DEFAULT_WEIGHTS.speaker if named else 0.0)


def test_a_title_before_a_colon_is_not_a_speaker() -> None:
    candidates = _candidates(_candidate("a", 0.5, speaker="The Virtual Memory"), _candidate("b", 0.4, speaker="Proofs"))
    ranked = ranking.score_hybrid(candidates, "what is the virtual memory", lexical_weight=0.0)
    assert [entry.speaker for entry in ranked] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("after", "before", "preferred"),
    [(10, 20, True), (11, 20, False), (5, 10, False), (None, 11, True), (10, None, True), (None, None, True)],
)
def test_a_memory_at_the_start_of_a_preferred_period_is_preferred_and_one_at_its_end_is_not(
    after: int | None, before: int | None, preferred: bool
) -> None:
    def at(second: int | None) -> datetime | None:
        return None if second is None else datetime.fromtimestamp(second, UTC)

    candidates = _candidates(_candidate("a", 0.5, timestamp=10_000_000), _candidate("b", 0.9))
    window = TimeWindow(after=at(after), before=at(before))
    ranked = ranking.score_hybrid(candidates, "tea", lexical_weight=0.0, preferred=[window])
    assert {item.candidate.id: item.time for item in ranked}["a"] == (
        DEFAULT_WEIGHTS.preferred_time if preferred else 0.0
    )


def test_relevance_is_at_most_1() -> None:
    candidates = _candidates(_candidate("a", 0.9, 3.0, speaker="Ada"), _candidate("b", 0.1, speaker="Ada"))
    assert _relevances(ranking.score_hybrid(candidates, "Ada", lexical_weight=0.5))["a"] == 1.0


def test_a_neighbour_of_a_good_match_joins_the_candidates_if_it_passes_the_filters() -> None:
    rows = [
        _candidate("question", 0.9, 2.0, session=1), _candidate("other", 0.1, session=1),
        _candidate("answer", session=1), _candidate("hidden", session=1, eligible=False),
    ]  # fmt: skip
    candidates = _candidates(*rows, listed=2, neighbours=[(0, 1, 2), (0, -1, 3)])
    assert _relevances(ranking.score_hybrid(candidates, "tea", lexical_weight=0.5)).keys() == {
        "question",
        "other",
        "answer",
    }


def test_a_neighbour_that_joins_the_candidates_gets_context_from_the_match_and_its_own_neighbours() -> None:
    rows = [_candidate("head", 0.9, session=1), _candidate("low", 0.0, session=1), _candidate("next", 0.0, session=1)]
    rows += [_candidate("after", 0.9, session=1, eligible=False)]
    candidates = _candidates(*rows, listed=2, neighbours=[(0, 1, 2), (0, 2, 3)])
    joined = next(
        item for item in ranking.score_hybrid(candidates, "", lexical_weight=0.0) if item.candidate.id == "next"
    )
    assert joined.neighbours == pytest.approx(0.45 * 1 + 0.1 * 1 + 0.3 * 1)


@pytest.mark.parametrize(("share", "weight"), [(0.2, 1.0), (0.45, 1.0), (0.75, 0.7), (1.0, 0.45)])
def test_context_weighs_less_if_the_best_candidates_contain_most_of_the_query_s_words(
    share: float, weight: float
) -> None:
    rows = [_candidate(name, 0.9, session=1, words_share=share) for name in ("a", "b")]
    ranked = ranking.score_hybrid(_candidates(*rows, neighbours=[(1, -1, 0)]), "", lexical_weight=0.0)
    assert {entry.candidate.id: entry.neighbours for entry in ranked} == pytest.approx(
        {"a": 0.4 * weight, "b": 0.75 * weight}
    )


def test_a_memory_that_repeats_a_better_one_moves_down() -> None:
    ranked = [
        RankedCandidate(_candidate(name, session=1), relevance)
        for name, relevance in (("a", 1.0), ("copy", 0.95), ("other", 0.9))
    ]
    ranking.diversify(ranked, [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert _relevances(ranked) == pytest.approx({"a": 1.0, "copy": 0.95 - 1 / 9, "other": 0.9})


def test_similar_memories_without_a_session_keep_their_relevance() -> None:
    ranked = [RankedCandidate(_candidate("a", session=1), 1.0), RankedCandidate(_candidate("copy"), 0.9)]
    ranking.diversify(ranked, [[1.0, 1.0], [1.0, 1.0]])
    assert ranked[1].relevance == 0.9


def test_a_candidate_without_similarities_is_treated_as_a_copy() -> None:
    ranked = [RankedCandidate(_candidate("a", session=1), 1.0), RankedCandidate(_candidate("late", session=1), 0.5)]
    ranking.diversify(ranked, [[1.0]])
    assert ranked[1].relevance == pytest.approx(0.5 - 1 / 9)


def test_a_memory_deleted_during_the_search_is_not_similar_to_any() -> None:
    ranked = [RankedCandidate(_candidate("a", session=1), 1.0), RankedCandidate(_candidate("gone", session=1), 0.9)]
    ranking.diversify(ranked, [[1.0, None], [None, None]])
    assert ranked[1].relevance == 0.9


def test_only_memories_in_sessions_are_compared_with_each_other() -> None:
    first, second = RankedCandidate(_candidate("a"), 1.0), RankedCandidate(_candidate("b", session=1), 0.9)
    assert ranking.pool_ids([first]) == []
    assert ranking.pool_ids([first, second]) == ["a", "b"]


@pytest.mark.parametrize(("weight", "first"), [(0.0, "relevant"), (1.0, "good")])
def test_the_weight_of_quality_decides_the_order(weight: float, first: str) -> None:
    ranked = [
        RankedCandidate(_candidate("relevant", quality=0.1), 0.9),
        RankedCandidate(_candidate("good", quality=0.8), 0.2),
    ]
    assert ranking.order(ranked, weight)[0].candidate.id == first


def test_equal_scores_are_ordered_by_cosine_then_the_newest() -> None:
    rows = [_candidate("far", -0.9), _candidate("near", -0.1), _candidate("newer", -0.1, timestamp=9)]
    ranked = ranking.order([RankedCandidate(row, 0.0) for row in rows], 0.0)
    assert [item.candidate.id for item in ranked] == ["newer", "near", "far"]


def test_near_duplicates_fold_into_the_best_of_them() -> None:
    rows = [_candidate("a", 0.2, statement="s"), _candidate("b", 0.9, statement="s"), _candidate("c", 0.5)]
    ranked = ranking.order(ranking.score_plain(_candidates(*(row._replace(lexical_score=None) for row in rows))), 0.0)
    assert [(item.candidate.id, item.folded) for item in ranked] == [("b", ("a",)), ("c", ())]


@pytest.mark.parametrize(
    ("strategy", "vector", "relevance"),
    [("substring", None, 1.0), ("newest", None, 0.0), ("exact", -0.5, 0.0), ("exact", 0.7, 0.7)],
)
def test_a_search_that_is_not_hybrid_has_its_own_relevance(
    strategy: str, vector: float | None, relevance: float
) -> None:
    candidates = replace(_candidates(_candidate("a", vector, None)), strategy=strategy)
    assert ranking.score_plain(candidates)[0].relevance == relevance


def test_a_search_by_words_only_scales_relevance_by_the_best_match() -> None:
    candidates = _candidates(_candidate("a", None, 4.0), _candidate("b", None, 1.0))
    assert _relevances(ranking.score_plain(candidates)) == {"a": 1.0, "b": 0.25}


def test_a_reranker_s_relevance_replaces_the_ranking_s_and_equal_ones_keep_their_order() -> None:
    ranked = [RankedCandidate(_candidate(name), 1.0) for name in ("a", "b", "c", "unread")]
    changed = ranking.apply_reranker(ranked, {"a": 0.2, "b": 0.8, "c": 0.2}, 0.0)
    assert [item.candidate.id for item in changed] == ["b", "a", "c"]
