"""Figures of benchmarks, their goals and earlier figures; the facts of the benchmark of languages."""

import asyncio

import pytest

from infra.benchmarks import calls
from infra.benchmarks.corpus import questions
from infra.benchmarks.figures import Figure, regressions, table
from infra.benchmarks.languages import DATA, NAMES, facts

LESS = Figure.of("hybrid / semantic", [1.0, 2.0, 3.0], 2.0)
MORE = Figure.of("recall", [0.9, 1.0, 1.0], 0.99, more_is_better=True)


def test_a_figure_is_the_median_of_its_rounds_with_their_quartiles() -> None:
    assert (LESS.low, LESS.ratio, LESS.high) == (1.0, 2.0, 3.0)
    assert Figure.of("one", [0.5]).ratio == 0.5


@pytest.mark.parametrize(
    ("figure", "reached"),
    [(LESS, True), (MORE, True), (Figure.of("x", [2.1], 2.0), False), (Figure.of("x", [9]), None)],
)
def test_a_figure_reaches_its_goal_or_not(figure: Figure, reached: bool | None) -> None:
    assert figure.reached is reached


@pytest.mark.parametrize(
    ("figure", "baseline", "worse"), [(LESS, 1.3, True), (LESS, 1.4, False), (MORE, 1.6, True), (MORE, 1.4, False)]
)
def test_a_figure_worse_by_more_than_half_is_a_regression(figure: Figure, baseline: float, worse: bool) -> None:
    assert bool(regressions([figure], {figure.name: {"ratio": baseline}})) is worse


def test_a_figure_without_a_recorded_value_is_not_a_regression() -> None:
    assert regressions([LESS], {}) == []


def test_the_table_marks_goals_that_are_not_reached() -> None:
    assert "| x | 2.10 | 2.10 to 2.10 | ≤ 2, not reached |" in table([Figure.of("x", [2.1], 2.0)])


def test_a_generated_question_is_six_consecutive_words_of_its_text() -> None:
    text = "one two three four five six seven eight"
    (question,) = questions([text], 1)
    assert question in text
    assert len(question.split()) == 6


def test_the_measured_calls_of_tools_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "REQUESTS", 1)
    names = [figure.name for figure in asyncio.run(calls.measure_servers(rounds=3))]
    assert names == [f"{ours} / {other}, {era}" for era in calls.ERAS for ours, other in calls.COMPARISONS]


def test_each_file_is_a_language_of_the_benchmark_with_thirty_facts_each_once() -> None:
    assert {file.stem for file in DATA.iterdir()} == NAMES.keys()
    for language in NAMES:
        own = facts(language)
        assert [fact.number for fact in own] == list(range(1, 31)), language
        assert len({fact.memory for fact in own}) == len({fact.question for fact in own}) == 30, language
