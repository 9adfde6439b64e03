"""To find the times in a question, the rules are tried on a bounded number of expressions."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.time import question, window
from mnemosyne.domain.time.calendar_spans import Span
from mnemosyne.domain.time.grammar import Grammar, MatchBudget
from mnemosyne.errors import InvalidRequest

NOW = datetime(2026, 11, 25, tzinfo=UTC)
WORDS = sorted(question._CUES | question._TIME_WORDS | {"and", "to", "of", "-", "1", "5", "3rd", "2025", "2026-05-20"})
REPEATED = [
    "last 5", "the 1st of", "in 3 and", "since 5 to", "between 1 and 2", "may 1 -", "the last 1", "on 1 in", "night",
    "until 5 and", "in one and", "end of the", "half of", "2025 or", "monday tuesday", "at 1pm", "monday to",
    "the 3 of may", "all back", "early",
]  # fmt: skip
DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """List of the texts on which the rules were tried."""
    read: list[str] = []
    span = Grammar._span

    def counted(self: Grammar, text: str) -> Span | None:
        read.append(text)
        return span(self, text)

    monkeypatch.setattr(Grammar, "_span", counted)
    yield read


def _questions(name: str) -> list[str]:
    lines = (DATA / name / "queries.jsonl").read_text().splitlines()
    return [json.loads(line)["query"] for line in lines]


@given(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
def test_a_question_of_random_time_words_needs_a_bounded_number_of_readings(text: str) -> None:
    readings = MatchBudget(question.QUESTION_MATCHES)
    question._find_time(text, NOW, "UTC", readings)
    assert readings.left >= 0


@pytest.mark.parametrize("words", REPEATED)
def test_a_question_that_repeats_words_needs_a_bounded_number_of_readings(readings: list[str], words: str) -> None:
    question.named_times(" ".join((words * 60).split()[:60]), now=NOW)
    question.named_times(" ".join(f"{words} " * 60).strip()[:302], now=NOW)
    # The budget may be exceeded, because a rejected expression also counts, at most once for each candidate year.
    assert len(readings) <= 2 * (question.QUESTION_MATCHES + 11)


@pytest.mark.parametrize("words", REPEATED)
def test_an_expression_that_repeats_words_needs_a_bounded_number_of_readings(readings: list[str], words: str) -> None:
    with pytest.raises(InvalidRequest):
        window.resolve((f"{words} " * 60)[:199], now=NOW)
    assert len(readings) <= window.EXPRESSION_MATCHES + 1


@pytest.mark.parametrize("name", ["conversations", pytest.param("many_conversations", marks=pytest.mark.nightly)])
def test_ordinary_questions_need_at_most_half_of_the_allowed_readings(readings: list[str], name: str) -> None:
    questions = _questions(name)
    assert len(questions) > 100
    for text in questions:
        readings.clear()
        question.named_times(text, now=NOW)
        assert len(readings) <= question.QUESTION_MATCHES / 2, text
