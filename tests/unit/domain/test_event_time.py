"""The times that a record may have, and those that are refused."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.event_time import event_time, in_zone, zone
from mnemosyne.domain.rfc3339 import instant, rfc3339
from tests.examples import many_at_night

AFTERNOON = "2026-05-20T14:30:00Z"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-05-20T14:30:00Z", AFTERNOON),
        ("2026-05-20t16:30:00+02:00", AFTERNOON),
        ("2026-05-20 14:30:00 UTC", AFTERNOON),
        ("2026-05-20 14:30:00+00", AFTERNOON),
        ("2026-05-20 07:00:00.000 -0730", AFTERNOON),
        ("2026-05-20T14:30Z", AFTERNOON),
        ("2026-05-20T14:30:00.123456789Z", "2026-05-20T14:30:00.123456Z"),
        (1_779_287_400, AFTERNOON),
        (1_779_287_400.5, "2026-05-20T14:30:00.500000Z"),
        (1_779_287_400_000, AFTERNOON),
        (1_779_287_400_000_000, AFTERNOON),
        ("1779287400", AFTERNOON),
        ("1779287400.5", "2026-05-20T14:30:00.500000Z"),
        ("1779287400000000", AFTERNOON),
        ("4102444799.999999999", "2099-12-31T23:59:59.999999Z"),
        (315_532_800, "1980-01-01T00:00:00Z"),
        (4_102_444_799, "2099-12-31T23:59:59Z"),
        ("20260520T143000Z", AFTERNOON),
        ("20260520T1630+0200", AFTERNOON),
        ("1990-12-31T23:59:60Z", "1991-01-01T00:00:00Z"),
        ("2016-12-31t23:59:60.25z", "2017-01-01T00:00:00.250000Z"),
        ("2015-06-30 23:59:60 UTC", "2015-07-01T00:00:00Z"),
    ],
)
def test_an_unambiguous_time_is_read(written: object, meant: str) -> None:
    assert rfc3339(event_time(written)) == meant


@pytest.mark.parametrize(
    ("written", "zone_name", "meant"),
    [
        ("2026-05-20", "UTC", "2026-05-20T00:00:00Z"),
        ("2026-05-20", "Europe/Berlin", "2026-05-19T22:00:00Z"),
        (20260520, "Europe/Berlin", "2026-05-19T22:00:00Z"),
        (20260520.0, "UTC", "2026-05-20T00:00:00Z"),
        (202605201430, "UTC", AFTERNOON),
        (20260520143005, "Asia/Tokyo", "2026-05-20T05:30:05Z"),
        (19450508, "UTC", "1945-05-08T00:00:00Z"),
        ("2026-10-25T02:30:00", "Europe/Berlin", "2026-10-25T00:30:00Z"),
        ("2026-05-20T14:30:00+02:00", "Asia/Tokyo", "2026-05-20T12:30:00Z"),
    ],
)
def test_a_time_without_an_offset_is_local(written: object, zone_name: str, meant: str) -> None:
    assert rfc3339(in_zone(event_time(written), zone(zone_name))) == meant


@pytest.mark.parametrize(
    "number",
    [
        "1779287400000000000", "2026",
        2026, 202607, 260711, 20260230, 20261301, 20260711.5, 202607112460, 20260711143099, 18991231, 21000101, 0, 1,
        -1, 46_000, 1e18, float("nan"), float("inf"), 10**400, 315_532_799, 4_102_444_800,
    ],
)  # fmt: skip
def test_a_number_that_is_not_a_date_is_refused_with_its_value(number: float | str) -> None:
    with pytest.raises(ValueError, match=r"must be a date.*got "):
        event_time(number)


@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)),  # noqa: DTZ001
    st.sampled_from(["%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S"]),
)
def test_a_date_means_the_same_as_a_number_or_as_text_and_with_or_without_hyphens(moment: datetime, form: str) -> None:
    written = moment.strftime(form)
    meant = datetime.strptime(written, form)  # noqa: DTZ007
    assert event_time(int(written)) == event_time(written) == event_time(meant.isoformat()) == meant


def _is_plausible(number: int) -> bool:
    """Whether a number can be a date or time: a stamp of digits such as 20260520, or an epoch from 1980 to 2099."""
    if any(
        datetime(1980, 1, 1, tzinfo=UTC).timestamp() * unit <= number < 4_102_444_800 * unit
        for unit in (1, 1000, 10**6)
    ):
        return True
    for form, length in (("%Y%m%d", 8), ("%Y%m%d%H%M", 12), ("%Y%m%d%H%M%S", 14)):
        text = str(number)
        if len(text) == length and text[:2] in ("19", "20"):
            try:
                datetime.strptime(text, form)  # noqa: DTZ007
            except ValueError:
                return False
            return not text[8:].endswith("60") and int(text[12:14] or 0) < 60
    return False


NUMBERS = st.one_of(
    st.integers(0, 10**18),
    st.integers(1, 18).flatmap(lambda digits: st.integers(10 ** (digits - 1), 10**digits - 1)),
    st.integers(1_900, 2_200),
    st.integers(19_000_000, 21_000_000),
    st.integers(190_000_000_000, 210_000_000_000),
    st.integers(19_000_000_000_000, 21_000_000_000_000),
)


@many_at_night
@given(NUMBERS)
def test_a_number_is_accepted_only_if_it_is_a_plausible_time(number: int) -> None:
    if not _is_plausible(number):
        for written in (number, str(number)):
            with pytest.raises(ValueError, match="got "):
                event_time(written)
        return
    moment = event_time(number)
    naive = moment.replace(tzinfo=None)
    stamps = {moment.strftime(form) for form in ("%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S")}
    epochs = {(naive - datetime(1970, 1, 1)) // timedelta(microseconds=10**6 // unit) for unit in (1, 1000, 10**6)}  # noqa: DTZ001
    assert str(number) in stamps or number in epochs
    assert event_time(str(number)) == moment


@pytest.mark.parametrize(
    "written",
    [
        "", "yesterday", "2026", "20260230", "315532799", "4102444800", "1779287400.", "-1779287400",
        "1.7792874e9", "٢٧٧٩٢٨٧٤٠٠", "202605", "20260520T", "20260520 1430",
        "2026-W20", "2026-05-20T", "2026-05-20T24:00", "2026-05-20T14", True,
        "2016-12-31T23:59:60", "2016-12-31T23:58:60Z", "2016-12-31T22:59:60Z", "2026-05-20T23:59:60Z",
        "2016-12-31T23:59:61Z", "9999-12-31T23:59:60Z", "2016-12-31T23:59:60+01:00",
        None, [], "2026-13-01", "2026-02-30", "0000-01-01", "٢٠٢٦-05-20", " 2026-05-20", "2026-05-20T12:00:00+24:00",
    ],
)  # fmt: skip
def test_a_value_that_is_not_a_time_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="must be "):
        event_time(written)


@pytest.mark.parametrize(("written", "zone_name"), [("0001-01-01", "Asia/Tokyo"), ("9999-12-31", "America/Lima")])
def test_a_local_time_outside_the_years_1_to_9999_is_refused(written: str, zone_name: str) -> None:
    with pytest.raises(ValueError, match="between the years 1 and 9999"):
        in_zone(event_time(written).replace(hour=23 if written > "1" else 0), zone(zone_name))


@pytest.mark.parametrize("written", ["1990-12-31T23:59:60Z", "1990-12-31t23:59:60.000-00:00"])
def test_a_leap_second_of_rfc_3339_is_the_following_second(written: str) -> None:
    assert instant(written) == datetime(1991, 1, 1, tzinfo=UTC)
