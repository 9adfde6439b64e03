"""The oracle itself, by hand: figures of the contract worked out on paper."""

import math

import pytest

from tests import oracle


@pytest.mark.parametrize(
    ("ratings", "total", "expected"),
    [
        (0, 0, 0.5),  # unrated
        (1, 1, 2 / 3),  # (1 + 1) / 3
        (1, -1, 1 / 3),
        (2, 0, 0.5),
        (98, 98, 0.99),
    ],
)
def test_quality(ratings: int, total: int, expected: float) -> None:
    assert oracle.quality(ratings, total) == pytest.approx(expected)


def test_fusion_scales_each_list_over_all_candidates() -> None:
    fused = oracle.fused({"a": 0.9, "b": 0.5, "c": 0.1}, {"a": 0.0, "b": 4.0, "c": 1.0}, 0.5)
    assert fused == pytest.approx({"a": 0.5, "b": 0.75, "c": 0.125})


def test_a_list_in_which_all_are_equal_tells_only_whether_words_match() -> None:
    assert oracle.fused({"a": 0.3, "b": 0.3}, {"a": 0.0, "b": 0.0}, 0.4) == pytest.approx({"a": 0.6, "b": 0.6})
    assert oracle.fused({"a": 0.3, "b": 0.3}, {"a": 2.0, "b": 2.0}, 0.4) == pytest.approx({"a": 1.0, "b": 1.0})


def test_a_word_weighs_by_how_often_it_stands_there_how_rare_it_is_and_how_long_the_text_is() -> None:
    texts = {"a": {"tea": 1, "cup": 1}, "b": {"tea": 3, "cup": 1}, "c": {"dog": 1, "cup": 1}, "d": {"cup": 9, "x": 1}}
    scores = oracle.lexical(texts, ["tea", "zyx"])
    weight = math.sqrt(math.log(3))  # two of four: 1 + 1 / .5
    assert scores == pytest.approx({"a": weight, "b": weight * 2.2 * 3 / 4.2, "c": 0.0, "d": 0.0})
    longer = oracle.lexical({"a": {"tea": 1}, "b": {"tea": 1, "cup": 1, "of": 1}}, ["tea"])
    assert longer["a"] / longer["b"] == pytest.approx((1.72 + 0.48 * 1.5) / (1.72 + 0.48 * 0.5))


def test_context_counts_what_came_before_more_than_what_came_after_and_the_best_of_the_session() -> None:
    scores = oracle.in_context({"a": 1.0, "b": 0.0, "c": 0.5, "alone": 0.7, "none": 0.2}, [["a", "b", "c"], ["alone"]])
    assert scores == pytest.approx(
        {
            "a": 1.0 + 0.1 * 0.0 + 0.05 * 0.5 + 0.3,
            "b": 0.0 + 0.45 * 1.0 + 0.1 * 0.5 + 0.3,
            "c": 0.5 + 0.45 * 0.0 + 0.25 * 1.0 + 0.3,
            "alone": 0.7,
            "none": 0.2,
        }
    )


def test_a_name_before_a_colon_is_who_said_it() -> None:
    assert oracle.is_said_by("Ada Lovelace: tea, please", "what does ada drink?")
    assert not oracle.is_said_by("Ada drinks tea: green", "what does Bo have?")
    assert not oracle.is_said_by("at 5:30 Ada drinks tea", "what does Ada drink?")
