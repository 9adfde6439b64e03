"""Time windows from bounds, from time expressions, and from both."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemosyne.domain.time.window import TimeWindow, bounds, intersection, resolve
from mnemosyne.errors import InvalidRequest
from tests.unit.domain.time_expressions import NOW, REFUSED, UNDERSTOOD, Case


def test_a_date_means_the_whole_day_in_its_time_zone() -> None:
    window = bounds("2026-03-29", "2026-03-29", timezone="Europe/Berlin")  # a day of 23 hours
    assert window.after == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert window.before == datetime(2026, 3, 29, 22, tzinfo=UTC)


def test_a_window_without_bounds_is_open() -> None:
    window = bounds(None, None)
    assert window.after is None
    assert window.before is None


@pytest.mark.parametrize(
    ("month", "season"),
    [(1, "winter 2025"), (2, "winter 2025"), (3, "spring 2026"), (8, "summer 2026"), (12, "winter 2026")],
)
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


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "x" * 300, "\x00", "localtime", "posix/UTC"])
def test_an_unknown_time_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="timezone must be an IANA name"):
        resolve("today", now=NOW, timezone=name)


ZONES = st.sampled_from(["UTC", "America/New_York", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia", "Etc/GMT+12"])
# A day from the ends of the calendar, so that the local time of each zone exists.
NOWS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
EXPRESSIONS = sorted({case.expression for case in UNDERSTOOD})
WORDS = st.sampled_from(sorted({word for expression in EXPRESSIONS for word in expression.split()}))
PHRASES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@settings(max_examples=2 * settings().max_examples)  # the texts are of three kinds
@given(st.text(max_size=60) | PHRASES | st.sampled_from(EXPRESSIONS), NOWS, ZONES)
def test_any_text_gives_a_non_empty_window_or_invalid_request(expression: str, now: datetime, timezone: str) -> None:
    try:
        window = resolve(expression, now=now, timezone=timezone)
    except InvalidRequest:
        return
    assert window.after or window.before
    assert not (window.after and window.before) or window.after < window.before


def test_windows_intersect() -> None:
    week, since = resolve("last week", now=NOW), resolve("since last Thursday", now=NOW)
    assert intersection(week, since) == TimeWindow(after=since.after, before=week.before)


def test_an_error_about_windows_without_common_time_shows_both() -> None:
    with pytest.raises(InvalidRequest) as refused:
        intersection(resolve("2025", now=NOW), bounds("2026-01-01", None))
    assert "2025-01-01T00:00:00Z to 2025-12-31T23:59:59.999999Z" in str(refused.value)
    assert "2026-01-01T00:00:00Z to any time" in str(refused.value)
