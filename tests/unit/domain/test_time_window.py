"""Time windows from bounds, from time expressions, and from both."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.time.question import named_times, split_question
from mnemosyne.domain.time.window import TimeWindow, bounds, intersection, resolve
from mnemosyne.errors import InvalidRequest
from tests.unit.domain.time_expressions import NOW, REFUSED, UNDERSTOOD, Case, window


def test_a_date_means_the_whole_day_in_its_time_zone() -> None:
    window = bounds("2024-06-30", "2024-06-30", timezone="America/New_York")
    assert window.after == datetime(2024, 6, 30, 4, tzinfo=UTC)
    assert window.before == datetime(2024, 7, 1, 4, tzinfo=UTC)


def test_a_day_with_a_clock_change_has_23_or_25_hours() -> None:
    window = bounds("2026-03-29", "2026-03-29", timezone="Europe/Berlin")
    assert window.after and window.before
    assert (window.before - window.after).total_seconds() == 23 * 3600


def test_a_window_includes_its_first_and_last_instant() -> None:
    window = bounds("2026-05-20T12:00:00Z", "2026-05-20T12:00:00Z")
    assert window.after and window.before
    assert window.after <= datetime(2026, 5, 20, 12, tzinfo=UTC) < window.before


def test_a_window_without_bounds_is_open() -> None:
    window = bounds(None, None)
    assert window.after is None
    assert window.before is None


@pytest.mark.parametrize(
    ("month", "season"),
    [(1, "winter 2025"), (2, "winter 2025"), (3, "spring 2026"), (5, "spring 2026"), (6, "summer 2026"),
     (8, "summer 2026"), (9, "autumn 2026"), (11, "autumn 2026"), (12, "winter 2026")],
)  # fmt: skip
def test_this_season_contains_today(month: int, season: str) -> None:
    now = datetime(2026, month, 20, 12, tzinfo=UTC)
    assert resolve("this season", now=now) == resolve(season, now=datetime(2028, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("written", ["2026-05-20T14:30", "2026-05-20 14:30:00", "2026-05-20T12:30Z"])
def test_a_bound_without_an_offset_is_a_time_in_the_time_zone(written: str) -> None:
    window = bounds(written, written, timezone="Europe/Berlin")
    assert (window.after, window.last) == (datetime(2026, 5, 20, 12, 30, tzinfo=UTC),) * 2


@pytest.mark.parametrize("bad", ["yesterday", "2026-02-30", "2026-05-20T25:00", "20260520", "", "٢٠٢٦-٠٥-٢٠"])
def test_another_form_is_refused_with_an_example(bad: str) -> None:
    with pytest.raises(InvalidRequest, match=r"before must be YYYY-MM-DD, RFC 3339 .*2026-05-20T14:30:00Z"):
        bounds(None, bad)


def test_an_empty_window_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="after must not be later than before"):
        bounds("2026-05-21", "2026-05-20")


def test_the_earliest_and_latest_dates_do_not_overflow() -> None:
    assert bounds(None, "9999-12-31").before is None
    with pytest.raises(InvalidRequest):
        bounds("0001-01-01T00:00:00+05:00", None)


@pytest.mark.parametrize("timezone", sorted({case.timezone for case in UNDERSTOOD}))
def test_each_expression_has_exactly_the_window_of_the_truth_table(timezone: str) -> None:
    cases = [case for case in UNDERSTOOD if case.timezone == timezone]
    assert {(case.expression, case.now): _resolved(case) for case in cases} == {
        (case.expression, case.now): case.window for case in cases
    }


def _resolved(case: Case) -> TimeWindow | str:
    try:
        return resolve(case.expression, now=case.now, timezone=case.timezone)
    except InvalidRequest as exc:
        return str(exc)


@pytest.mark.parametrize("ellipsis", ["...", "…", " ..."])
def test_an_ellipsis_after_an_expression_does_not_open_its_window(ellipsis: str) -> None:
    assert resolve(f"last week{ellipsis}", now=NOW) == resolve("last week", now=NOW)
    assert resolve("last week..", now=NOW) == resolve("since last week", now=NOW)


def test_an_expression_that_is_not_understood_is_an_error_with_examples() -> None:
    for expression in REFUSED:
        with pytest.raises(InvalidRequest, match=r"time_expr .* is not understood; try: yesterday, last week"):
            pytest.fail(f"{expression!r} was taken for {resolve(expression, now=NOW)}")


def test_an_unknown_time_zone_is_refused() -> None:
    for name in (
        "Mars/Olympus",
        "",
        "../etc/passwd",
        "x" * 300,
        "\x00",
        "localtime",
        "posixrules",
        "posix/UTC",
        "right/UTC",
    ):
        with pytest.raises(InvalidRequest, match="timezone must be an IANA name"):
            resolve("today", now=NOW, timezone=name)


ZONES = st.sampled_from(["UTC", "America/New_York", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia", "Etc/GMT+12"])
NOWS = st.datetimes(timezones=st.just(UTC))
WORDS = st.sampled_from(sorted({word for case in UNDERSTOOD for word in case.expression.split()}))
PHRASES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@given(st.text(max_size=60) | PHRASES, NOWS, ZONES)
def test_any_text_gives_a_non_empty_window_or_invalid_request(expression: str, now: datetime, timezone: str) -> None:
    try:
        window = resolve(expression, now=now, timezone=timezone)
    except InvalidRequest:
        return
    assert window.after or window.before
    assert not (window.after and window.before) or window.after < window.before


@given(st.sampled_from(UNDERSTOOD), NOWS, ZONES)
def test_an_expression_at_any_time_gives_a_non_empty_window_or_invalid_request(
    case: Case, now: datetime, timezone: str
) -> None:
    try:
        window = resolve(case.expression, now=now, timezone=timezone)
    except InvalidRequest:
        return
    assert not (window.after and window.before) or window.after < window.before


def test_windows_intersect() -> None:
    week, since = resolve("last week", now=NOW), resolve("since last Thursday", now=NOW)
    assert intersection(week, since) == TimeWindow(after=since.after, before=week.before)


def test_an_error_about_windows_without_common_time_shows_both() -> None:
    with pytest.raises(InvalidRequest) as refused:
        intersection(resolve("2025", now=NOW), bounds("2026-01-01", None))
    assert "2025-01-01T00:00:00Z to 2025-12-31T23:59:59.999999Z" in str(refused.value)
    assert "2026-01-01T00:00:00Z to any time" in str(refused.value)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("what did we decide last week", ("last week", "what did we decide")),
        ("What did Ada say yesterday evening about tea?", ("yesterday evening", "What did Ada say about tea")),
        ("in March 2025 which flat was leased?", ("in March 2025", "which flat was leased")),
        ("what happened between May 1 and May 15?", ("between May 1 and May 15", "what happened")),
        ("who called 3 days ago", ("3 days ago", "who called")),
        ("the meeting two weeks ago with Ben", ("two weeks ago", "the meeting with Ben")),
        ("Tell me about March 2025", ("March 2025", "Tell me about")),
        ("events of Q1 2025", ("Q1 2025", "events of")),
        ("decisions of May 20, 2026", ("May 20, 2026", "decisions of")),
        ("notes of May 20th", ("May 20th", "notes of")),
        ("the second half of 2025 in plans", ("the second half of 2025", "in plans")),
        ("revenue, second quarter of last year", ("second quarter of last year", "revenue")),
        ("notes from last week", ("from last week", "notes")),
        ("what changed from March to May 2025", ("from March to May 2025", "what changed")),
        ("port 2024 refused", None),
        ("the second half of the book", None),
        ("first quarter results", None),
        ("Tuesday standup", None),
        ("when may I call Ben", None),
        ("march of the penguins", None),
        ("what is the last thing he said", None),
        ("who runs 10 miles", None),
        ("which tickets are answered within 24 hours", None),
        ("what did I take for 3 days", None),
        ("how many times a week does Ada swim", None),
        ("what did we plan several weeks ago", ("several weeks ago", "what did we plan")),
        ("who wrote after May 1 and before May 15?", ("after May 1 and before May 15", "who wrote")),
        ("Who calls at 5pm?", None),
        ("Who called between 9am and 11 am?", None),
        ("What is paid at the end of the month?", None),
        ("Who called yesterday at 5pm?", ("yesterday at 5pm", "Who called")),
        ("What was paid at the end of last month?", ("at the end of last month", "What was paid")),
        ("Summarize today's notes", ("today", "Summarize notes")),
        ("last week's report", ("last week", "report")),
        ("what were last month’s expenses", ("last month", "what were expenses")),
        ("What did Anna say in yesterday’s call?", ("in yesterday", "What did Anna say call")),
        ("the last 3 days' errors", ("the last 3 days", "errors")),
        ("what happened after yesterday's call?", ("yesterday", "what happened after call")),
        ("what was in March 2025's report", ("in March 2025", "what was report")),
        ("the music of the 1990's", ("the 1990's", "the music of")),
        ("what is last week's Friday report", ("last week's Friday", "what is report")),
        ("Last week: what did Anna say?", ("Last week", "what did Anna say")),
        ("What did we do last week; was it good", ("last week", "What did we do was it good")),
        ('what did she say about "last week"?', ("last week", "what did she say about")),
        ("what did she say about “last week”?", ("last week", "what did she say about")),
        ("what did Ada write (yesterday evening)?", ("yesterday evening", "what did Ada write")),
        ("who called **yesterday**…", ("yesterday", "who called")),
        ("what did we discuss on 2026-05-03: pricing?", ("on 2026-05-03", "what did we discuss pricing")),
        ("[2026-05-03] who called?", ("2026-05-03", "who called")),
        ("What did we do last week—and why?", ("last week", "What did we do and why")),
        ("what changed from May—June 2025?", ("from May — June 2025", "what changed")),
        ("What happened before 9:30 yesterday?", ("yesterday", "What happened before 9:30")),
        ("What happened after 9:30 on Monday?", ("on Monday", "What happened after 9:30")),
        ("who called between 9:30 and 11:30 yesterday", ("yesterday", "who called between 9:30 and 11:30")),
        ("who called 9.30 - 11.30 last Friday", ("last Friday", "who called 9.30 - 11.30")),
        ("who left by 5pm yesterday", ("yesterday", "who left by 5pm")),
        ("What happened at 9:30 yesterday?", ("at 9:30 yesterday", "What happened")),
        ("before 0:30 today", ("before 0:30 today", "")),
        ("a week's notice", None),
        ("the $3 plan of 'May's shop'", None),
        ("What is Monday's standup?", None),
    ],
)
def test_a_time_expression_is_found_within_a_question(question: str, parts: tuple[str, str] | None) -> None:
    assert split_question(question, now=NOW) == parts


@pytest.mark.parametrize(
    "question",
    [
        "last minute changes to the plan", "the last minute changes", "list last-minute changes",
        "what do we know about last minute bookings?", "who arrived at the last minute?",
        "who waits until the last minute", "Who cancels last minute?", "last hour of the flight",
        "what happened in the last hour of the flight",
        "the last day of school", "on the last day of the trip, who paid?", "What did we eat on the last day?",
        "the last week of the course", "the last night of the festival", "last year of college",
        "by the last hour everyone was tired", "interested in last minute deals",
    ],
)  # fmt: skip
def test_a_phrase_with_last_that_is_about_the_end_of_something_is_not_a_time(question: str) -> None:
    assert split_question(question, now=NOW) is None


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("what happened in the last hour", "in the last hour"),
        ("which errors occurred in the last minute?", "in the last minute"),
        ("notes of the last day", "the last day"),
        ("notes from the last day about the trip", "from the last day"),
        ("who called last hour, Anna or Ben?", "last hour"),
        ("errors during the last hour prod", "during the last hour"),
        ("who slept in the last hour of the flight last week?", "last week"),
        ("what are last hour's errors?", "last hour"),
        ("show last hour logs", "last hour"),
        ("errors last hour grouped by host", "last hour"),
        ("the last hour errors", "the last hour"),
        ("last day errors", "last day"),
        ("in the last minute please", "in the last minute"),
        ("errors in last minute", "in last minute"),
        ("the last week of October", "the last week of October"),
        ("on the last day of April", "on the last day of April"),
        ("last week changes", "last week"),
        ("the last 24 hours of alerts", "the last 24 hours"),
    ],
)
def test_a_period_with_last_is_a_time(question: str, expression: str) -> None:
    parts = split_question(question, now=NOW)
    assert parts is not None
    assert parts[0] == expression


@pytest.mark.parametrize(
    ("question", "spans"),
    [
        ("What is Priya allergic to?", []),
        ("May I see the march of the penguins?", []),
        ("Who came last week?", ["2026-05-11/2026-05-18"]),
        ("What broke in March 2025?", ["2025-03"]),
        ("What broke in April?", [f"{year}-04" for year in range(2026, 2016, -1)]),
        ("What was said on Monday?", ["2026-05-18"]),
    ],
)
def test_a_question_may_name_times_of_several_years(question: str, spans: list[str]) -> None:
    assert named_times(question, now=NOW) == tuple(map(window, spans))


@pytest.mark.parametrize(
    "words", ["night " * 33, "at 1pm " * 28, "early " * 33, "monday to " * 20, "the 3 of may " * 15, "all back " * 20]
)
def test_a_pile_of_time_words_is_refused(words: str) -> None:
    with pytest.raises(InvalidRequest):
        resolve(words, now=NOW)


def test_the_two_occurrences_of_a_repeated_hour_are_distinguished() -> None:
    second_half_past_two = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    window = resolve("1 hour ago", now=second_half_past_two, timezone="Europe/Berlin")
    assert window == TimeWindow(
        after=datetime(2026, 10, 25, 0, tzinfo=UTC), before=datetime(2026, 10, 25, 1, tzinfo=UTC)
    )
    assert resolve("10 minutes ago", now=second_half_past_two, timezone="Europe/Berlin").after == datetime(
        2026, 10, 25, 1, 20, tzinfo=UTC
    )
