"""Times and time zones on the command line."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import click
import pytest

from mnemosyne.cli import keys
from mnemosyne.cli.times import age, duration, local_date, machine_zone

ZONES = ["UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Kiritimati"]


@pytest.mark.parametrize("zone", ZONES)
def test_the_machine_s_time_zone_comes_from_tz_the_localtime_link_or_its_name(
    zone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = tmp_path / "nothing"
    for name in (zone, f":{zone}", f"/usr/share/zoneinfo/{zone}"):
        monkeypatch.setenv("TZ", name)
        assert machine_zone(nothing, nothing) == zone
    file = tmp_path / "zoneinfo" / zone
    file.parent.mkdir(parents=True)
    file.touch()
    (tmp_path / "localtime").symlink_to(file)
    monkeypatch.setenv("TZ", f":{tmp_path}/localtime")
    assert machine_zone(nothing, nothing) == zone
    monkeypatch.delenv("TZ")
    assert machine_zone(tmp_path / "localtime", nothing) == zone
    (tmp_path / "timezone").write_text(f"{zone}\n")
    assert machine_zone(nothing, tmp_path / "timezone") == zone


@pytest.mark.parametrize("name", ["CET-1CEST,M3.5.0", "Mars/Phobos", "../../etc/passwd"])
def test_a_zone_without_an_iana_name_is_utc_with_a_message(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TZ", name)
    assert machine_zone(tmp_path / "nothing", tmp_path / "nothing") == "UTC"
    message = f"TZ has no IANA name, got {name!r}: times are in UTC; --timezone names a zone.\n"
    assert capsys.readouterr().err == message


@pytest.mark.parametrize("name", ["", "UTC0"])
def test_a_machine_in_utc_gets_no_message(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TZ", name)
    assert machine_zone(tmp_path / "nothing", tmp_path / "nothing") == "UTC"
    assert capsys.readouterr().err == ""


def test_the_time_zone_is_found_in_a_deleted_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "deleted"
    directory.mkdir()
    monkeypatch.chdir(directory)
    directory.rmdir()
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    assert machine_zone() == "Asia/Kolkata"


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("words", ["yesterday", "since yesterday"])
def test_since_yesterday_starts_at_the_beginning_of_that_local_day(words: str, zone: str) -> None:
    now = datetime.now(UTC)
    midnight = datetime.combine(now.astimezone(ZoneInfo(zone)).date() - timedelta(days=1), datetime.min.time())
    began = midnight.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    assert abs(now - age(words, zone) - began) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("timestamp", "zone", "date"),
    [
        ("2026-11-25T16:19:34Z", "UTC", "2026-11-25"),
        ("2026-11-25T16:19:34Z", "Pacific/Kiritimati", "2026-11-26"),
        ("2026-03-01T02:00:00+00:00", "America/St_Johns", "2026-02-28"),
        ("9999-12-31T23:59:59Z", "Asia/Tokyo", "9999-12-31"),
        ("0001-01-01T00:00:00Z", "America/New_York", "0001-01-01"),
    ],
)
def test_a_date_starts_at_midnight_in_the_time_zone(timestamp: str, zone: str, date: str) -> None:
    assert local_date(timestamp, zone) == date


@pytest.mark.parametrize(
    ("value", "days"),
    [
        ("90m", 1 / 16),
        ("12h", 0.5),
        ("7d", 7),
        ("2w", 14),
        ("999999d", 999_999),
        ("999999w", 999_999),  # PostgreSQL cannot subtract 999,999 weeks from a time
    ],
)
def test_a_duration_is_the_same_for_each_option(value: str, days: float) -> None:
    assert timedelta(seconds=duration(value)) == age(value, "UTC") == timedelta(days=days)


@pytest.mark.parametrize("value", ["", "w", "2", "2 w", "1.5h", "-1d", "2y", "1234567m", "２d", "2W"])
def test_another_text_is_no_duration(value: str) -> None:
    with pytest.raises(click.BadParameter, match="m, h, d or w, such as 90m, 12h, 7d or 2w; got"):
        duration(value)


@pytest.mark.parametrize(
    ("value", "seconds"), [("1s", 1), ("30s", 30), ("30 s", 30), ("90S", 90), ("1800s", 1_800), ("604800s", 604_800)]
)
def test_an_age_in_seconds_is_not_a_decade(value: str, seconds: int) -> None:
    assert age(value, "UTC") == timedelta(seconds=seconds)


def test_a_decade_with_an_article_is_still_a_decade() -> None:
    assert age("the 90s", "UTC") > timedelta(days=12_000)


@pytest.mark.parametrize(("value", "days"), [("90", 90), ("36500", 36_500), ("90d", 90), ("12h", 0.5), ("4w", 28)])
def test_a_key_expires_after_days_or_a_duration(value: str, days: float) -> None:
    context = keys.create.make_context("create", ["--name", "agent", "--expires-in", value])
    assert context.params["expires_in"] == timedelta(days=days)


@pytest.mark.parametrize("value", ["0", "0d", "-1", "36501", "36501d", "9999w", "1y", "30s", "soon", "", "9" * 5_000])
def test_another_expiry_of_a_key_is_refused_with_its_value(value: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        keys.create.make_context("create", ["--name", "agent", "--expires-in", value])
    form = "must be a number of days from 1 to 36500, or a duration such as 12h, 90d or 4w; got "
    assert refused.value.message == form + repr(value[:60])


@pytest.mark.parametrize("words", ["soonish", "before May", "", "7q", "yesterday at 5", "2999-01-01"])
def test_a_future_or_unknown_time_is_refused_with_its_value(words: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        age(words, "UTC")
    assert repr(words) in str(refused.value)
