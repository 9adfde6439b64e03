"""The times that a question names, as time windows."""

from datetime import UTC, datetime

import pytest

from mnemosyne.domain.time.question import named_times
from mnemosyne.domain.time.window import resolve

NOW = datetime(2026, 11, 25, 18, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("what did I say this morning", "this morning"),
        ("What did we decide this afternoon?", "this afternoon"),
        ("who called this evening", "this evening"),
        ("What was this morning's standup about?", "this morning"),
        ("who has changed the router since this morning?", "since this morning"),
        ("what did we agree two Tuesdays ago?", "two Tuesdays ago"),
        ("Three Mondays ago, who presented?", "three Mondays ago"),
        ("where were we two weekends ago", "two weekends ago"),
        ("A fortnight ago, what did I buy?", "a fortnight ago"),
        ("what changed in the last fortnight", "in the last fortnight"),
        ("what broke over the past fortnight?", "over the past fortnight"),
        ("which phones did we own in the last decade?", "in the last decade"),
        ("who rang on Monday afternoon?", "on Monday afternoon"),
        ("notes of 24.11.2026", "24.11.2026"),
        ("Protokoll vom 3.5.2026", "3.5.2026"),
        ("the invoice (24/11/2026)", "24/11/2026"),
    ],
)
def test_a_question_names_one_period(question: str, expression: str) -> None:
    assert named_times(question, now=NOW) == (resolve(expression, now=NOW),)


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("What has changed since spring?", "since spring"),
        ("what happened since March?", "since March"),
        ("what did we discuss after Easter", "after Easter"),
        ("since 3 May, who has joined?", "since 3 May"),
        ("who has joined from June onwards?", "from June onwards"),
        ("notes from before June", "before June"),
        ("what did we do until summer?", "until summer"),
    ],
)
def test_a_period_without_a_start_or_an_end_is_that_of_the_latest_year(question: str, expression: str) -> None:
    assert named_times(question, now=NOW) == (resolve(expression, now=NOW),)


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("What broke in April?", "in April"),
        ("what did we plan between March and May?", "between March and May"),
        ("who came at Christmas?", "at Christmas"),
        ("what did we cook at Easter?", "Easter"),
        ("where were we at New Year?", "New Year"),
    ],
)
def test_a_period_with_both_ends_and_no_year_is_that_of_ten_years(question: str, expression: str) -> None:
    windows = named_times(question, now=NOW)
    assert windows[0] == resolve(expression, now=NOW)
    assert len(windows) >= 10


@pytest.mark.parametrize(
    "question",
    [
        "Good morning, how do I sort a list?", "What does Ada drink in the morning?", "What is my morning routine?",
        "Who walks the dog every evening?", "What do we do on Tuesdays?", "When is the club open at weekends?",
        "Does Tom work on Saturdays and Sundays?", "What are Ada's plans for the evening?", "the evening news",
        "What time is the afternoon session?", "Does the newsletter come every fortnight?",
        "the last evening of the trip",
        "on the last afternoon, who paid?", "What changes in a fortnight?", "the last fortnight of August",
        "the release 10.13.2024", "port 24/11", "the ratio 3/4/2026", "three mornings a week",
        "who is a morning person?", "from morning to evening", "the first weekends of the year",
    ],
)  # fmt: skip
def test_words_for_parts_of_any_day_or_week_are_no_time(question: str) -> None:
    assert named_times(question, now=NOW) == ()
