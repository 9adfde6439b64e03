"""Bounds of a time filter."""

from datetime import UTC, datetime

import pytest
from mnemosyne.domain.time_window import bounds
from mnemosyne.errors import InvalidRequest


def test_a_date_means_the_whole_day_in_its_time_zone() -> None:
    window = bounds("2024-06-30", "2024-06-30", timezone="America/New_York")
    assert window.after == datetime(2024, 6, 30, 4, tzinfo=UTC)
    assert window.before == datetime(2024, 7, 1, 4, tzinfo=UTC)


def test_a_day_of_a_clock_change_is_as_long_as_it_is() -> None:
    window = bounds("2026-03-29", "2026-03-29", timezone="Europe/Berlin")
    assert window.after and window.before
    assert (window.before - window.after).total_seconds() == 23 * 3600


def test_an_instant_is_included_on_both_sides() -> None:
    window = bounds("2026-05-20T12:00:00Z", "2026-05-20T12:00:00Z")
    assert window.after and window.before
    assert window.after <= datetime(2026, 5, 20, 12, tzinfo=UTC) < window.before


def test_no_bound_is_open() -> None:
    window = bounds(None, None)
    assert window.after is None
    assert window.before is None


@pytest.mark.parametrize("bad", ["yesterday", "2026-02-30", "2026-05-20T12:00:00", "20260520", "", "٢٠٢٦-٠٥-٢٠"])
def test_another_form_is_refused_with_an_example(bad: str) -> None:
    with pytest.raises(InvalidRequest, match=r"before must be YYYY-MM-DD or RFC 3339 .*2026-05-20T14:30:00Z"):
        bounds(None, bad)


def test_an_empty_window_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="after must not be later than before"):
        bounds("2026-05-21", "2026-05-20")


def test_the_ends_of_time_do_not_overflow() -> None:
    assert bounds(None, "9999-12-31").before is None
    with pytest.raises(InvalidRequest):
        bounds("0001-01-01T00:00:00+05:00", None)
