"""The times that a question names: the expression, the rest of the question and the time windows."""

import pytest

from mnemosyne.domain.time.question import named_times, split_question
from mnemosyne.domain.time.window import resolve
from tests.unit.domain.time_expressions import NOW, window


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("what did I say this morning", "this morning"),
        ("What was this morning's standup about?", "this morning"),
        ("who has changed the router since this morning?", "since this morning"),
        ("what did we agree two Tuesdays ago?", "two Tuesdays ago"),
        ("where were we two weekends ago", "two weekends ago"),
        ("A fortnight ago, what did I buy?", "a fortnight ago"),
        ("what changed in the last fortnight", "in the last fortnight"),
        ("which phones did we own in the last decade?", "in the last decade"),
        ("who rang on Monday afternoon?", "on Monday afternoon"),
        ("notes of 24.11.2026", "24.11.2026"),
        ("Protokoll vom 3.5.2026", "3.5.2026"),
        ("the invoice (24/11/2026)", "24/11/2026"),
        # A period without a start or an end is that of the latest year.
        ("What has changed since spring?", "since spring"),
        ("what did we discuss after Easter", "after Easter"),
        ("who has joined from June onwards?", "from June onwards"),
        ("notes from before June", "before June"),
        ("what did we do until summer?", "until summer"),
        # "last" and a unit
        ("what happened in the last hour", "in the last hour"),
        ("which errors occurred in the last minute?", "in the last minute"),
        ("notes of the last day", "the last day"),
        ("notes from the last day about the trip", "from the last day"),
        ("who called last hour, Anna or Ben?", "last hour"),
        ("who slept in the last hour of the flight last week?", "last week"),
        ("what are last hour's errors?", "last hour"),
        ("errors in last minute", "in last minute"),
        ("the last week of October", "the last week of October"),
        ("on the last day of April", "on the last day of April"),
    ],
)
def test_a_question_names_one_period(question: str, expression: str) -> None:
    assert named_times(question, now=NOW) == (resolve(expression, now=NOW),)


@pytest.mark.parametrize(
    ("question", "expression"),
    [
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
    ("question", "spans"),
    [
        ("Who came last week?", ["2026-05-11/2026-05-18"]),
        ("What broke in March 2025?", ["2025-03"]),
        ("What broke in April?", [f"{year}-04" for year in range(2026, 2016, -1)]),
        ("What was said on Monday?", ["2026-05-18"]),
    ],
)
def test_a_question_may_name_times_of_several_years(question: str, spans: list[str]) -> None:
    assert named_times(question, now=NOW) == tuple(map(window, spans))


@pytest.mark.parametrize(
    "question",
    [
        "What is Priya allergic to?", "May I see the march of the penguins?", "when may I call Ben", "a week's notice",
        "port 2024 refused", "who runs 10 miles", "the $3 plan of 'May's shop'", "Tuesday standup",
        "the release 10.13.2024", "port 24/11", "the ratio 3/4/2026", "the last thing he said",
        "which tickets are answered within 24 hours", "the second half of the book", "first quarter results",
        # Words for parts of any day or week
        "Good morning, how do I sort a list?", "What does Ada drink in the morning?", "What is my morning routine?",
        "Who walks the dog every evening?", "What do we do on Tuesdays?", "When is the club open at weekends?",
        "Does Tom work on Saturdays and Sundays?", "What are Ada's plans for the evening?", "the evening news",
        "What time is the afternoon session?", "Does the newsletter come every fortnight?", "three mornings a week",
        "who is a morning person?", "from morning to evening", "the first weekends of the year",
        "What changes in a fortnight?", "Who calls at 5pm?", "Who called between 9am and 11 am?",
        "What is paid at the end of the month?",
        # "last" at the end of something
        "last minute changes to the plan", "the last minute changes", "interested in last minute deals",
        "who arrived at the last minute?", "Who cancels last minute?", "last hour of the flight",
        "what happened in the last hour of the flight", "on the last day of the trip, who paid?",
        "What did we eat on the last day?", "last year of college", "by the last hour everyone was tired",
        "the last evening of the trip", "on the last afternoon, who paid?", "the last fortnight of August",
    ],
)  # fmt: skip
def test_words_that_also_mean_a_time_are_no_time(question: str) -> None:
    assert named_times(question, now=NOW) == ()


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("what did we decide last week", ("last week", "what did we decide")),
        ("What did Ada say yesterday evening about tea?", ("yesterday evening", "What did Ada say about tea")),
        ("in March 2025 which flat was leased?", ("in March 2025", "which flat was leased")),
        ("what happened between May 1 and May 15?", ("between May 1 and May 15", "what happened")),
        ("who called 3 days ago", ("3 days ago", "who called")),
        ("the meeting two weeks ago with Ben", ("two weeks ago", "the meeting with Ben")),
        ("events of Q1 2025", ("Q1 2025", "events of")),
        ("the second half of 2025 in plans", ("the second half of 2025", "in plans")),
        ("revenue, second quarter of last year", ("second quarter of last year", "revenue")),
        ("what changed from March to May 2025", ("from March to May 2025", "what changed")),
        ("what did we plan several weeks ago", ("several weeks ago", "what did we plan")),
        ("who wrote after May 1 and before May 15?", ("after May 1 and before May 15", "who wrote")),
        ("Who called yesterday at 5pm?", ("yesterday at 5pm", "Who called")),
        ("What was paid at the end of last month?", ("at the end of last month", "What was paid")),
        ("Summarize today's notes", ("today", "Summarize notes")),
        ("what were last month’s expenses", ("last month", "what were expenses")),
        ("the last 3 days' errors", ("the last 3 days", "errors")),
        ("what happened after yesterday's call?", ("yesterday", "what happened after call")),
        ("the music of the 1990's", ("the 1990's", "the music of")),
        ("what is last week's Friday report", ("last week's Friday", "what is report")),
        ("Last week: what did Anna say?", ("Last week", "what did Anna say")),
        ('what did she say about "last week"?', ("last week", "what did she say about")),
        ("what did Ada write (yesterday evening)?", ("yesterday evening", "what did Ada write")),
        ("who called **yesterday**…", ("yesterday", "who called")),
        ("[2026-05-03] who called?", ("2026-05-03", "who called")),
        ("What did we do last week—and why?", ("last week", "What did we do and why")),
        ("what changed from May—June 2025?", ("from May — June 2025", "what changed")),
        ("What happened before 9:30 yesterday?", ("yesterday", "What happened before 9:30")),
        ("who called between 9:30 and 11:30 yesterday", ("yesterday", "who called between 9:30 and 11:30")),
        ("who called 9.30 - 11.30 last Friday", ("last Friday", "who called 9.30 - 11.30")),
        ("who left by 5pm yesterday", ("yesterday", "who left by 5pm")),
        ("What happened at 9:30 yesterday?", ("at 9:30 yesterday", "What happened")),
        ("before 0:30 today", ("before 0:30 today", "")),
    ],
)
def test_a_time_expression_is_found_within_a_question(question: str, parts: tuple[str, str]) -> None:
    assert split_question(question, now=NOW) == parts
