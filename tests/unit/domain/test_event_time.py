"""The times that a record may have, and those that are refused."""

from datetime import UTC, datetime

import pytest

from mnemosyne.domain.event_time import event_time, in_zone, zone
from mnemosyne.domain.rfc3339 import rfc3339

AFTERNOON = "2026-05-20T14:30:00Z"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-05-20T14:30:00Z", AFTERNOON),
        ("2026-05-20t16:30:00+02:00", AFTERNOON),
        ("2026-05-20 14:30:00 UTC", AFTERNOON),
        ("2026-05-20 14:30:00.5 UTC", "2026-05-20T14:30:00.500000Z"),
        ("2026-05-20 14:30:00+00", AFTERNOON),
        ("2026-05-20 07:00:00.000 -0730", AFTERNOON),
        ("2026-05-20T14:30Z", AFTERNOON),
        ("2026-05-20T14:30:00.123456789Z", "2026-05-20T14:30:00.123456Z"),
        (1_779_287_400, AFTERNOON),
        (1_779_287_400.5, "2026-05-20T14:30:00.500000Z"),
        (1_779_287_400_000, AFTERNOON),
        (1_779_287_400_000_000, AFTERNOON),
        (315_532_800, "1980-01-01T00:00:00Z"),
        (4_102_444_799, "2099-12-31T23:59:59Z"),
    ],
)
def test_an_unambiguous_time_is_read(written: object, meant: str) -> None:
    assert rfc3339(event_time(written)) == meant


@pytest.mark.parametrize(
    ("written", "zone_name", "meant"),
    [
        ("2026-05-20", "UTC", "2026-05-20T00:00:00Z"),
        ("2026-05-20", "Europe/Berlin", "2026-05-19T22:00:00Z"),
        ("2026-05-20 14:30", "Asia/Tokyo", "2026-05-20T05:30:00Z"),
        ("2026-10-25T02:30:00", "Europe/Berlin", "2026-10-25T00:30:00Z"),
        ("2026-05-20T14:30:00+02:00", "Asia/Tokyo", "2026-05-20T12:30:00Z"),
    ],
)
def test_a_time_without_an_offset_is_local(written: str, zone_name: str, meant: str) -> None:
    assert rfc3339(in_zone(event_time(written), zone(zone_name))) == meant


@pytest.mark.parametrize(
    "number",
    [
        20260711, 2026, 202607, 260711, 20260711.0, 202607111430, 20260711143000, 0, 1, -1, 46_000, 1e18, float("nan"),
        float("inf"), 10**400, 315_532_799, 4_102_444_800,
    ],
)  # fmt: skip
def test_a_number_that_may_be_a_date_is_refused_and_the_error_says_how_to_write_one(number: float) -> None:
    with pytest.raises(ValueError, match=r"seconds, milliseconds or microseconds since 1970.*send a date as text"):
        event_time(number)


@pytest.mark.parametrize(
    "written",
    [
        "", "yesterday", "20260520", "1779287400", "2026-W20", "2026-05-20T", "2026-05-20T24:00", "2026-05-20T14", True,
        None, [], "2026-13-01", "2026-02-30", "0000-01-01", "٢٠٢٦-05-20", " 2026-05-20", "2026-05-20T12:00:00+24:00",
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="must be "):
        event_time(written)


@pytest.mark.parametrize(("written", "zone_name"), [("0001-01-01", "Asia/Tokyo"), ("9999-12-31", "America/Lima")])
def test_a_local_time_outside_of_all_years_is_refused(written: str, zone_name: str) -> None:
    with pytest.raises(ValueError, match="between the years 1 and 9999"):
        in_zone(event_time(written).replace(hour=23 if written > "1" else 0), zone(zone_name))


def test_a_time_with_an_offset_is_in_utc() -> None:
    assert event_time("2026-05-20T14:30:00-05:00") == datetime(2026, 5, 20, 19, 30, tzinfo=UTC)
