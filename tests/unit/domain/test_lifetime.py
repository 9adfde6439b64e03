"""Lifetimes of memories: `ttl`, `expires_at` and `pinned` in each accepted form."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from mnemosyne.domain.lifetime import LONGEST, lifetime
from mnemosyne.domain.memory import FailedRequest, IngestRequest
from mnemosyne.domain.memory_input import Defaults, read
from mnemosyne.ids import new_id

PUBLISHED = datetime(2026, 5, 20, 12, tzinfo=UTC)
DEFAULTS = Defaults(new_id=new_id, published=PUBLISHED)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, timedelta(seconds=1)),
        (3600.5, timedelta(seconds=3600.5)),
        ("3600", timedelta(hours=1)),
        ("3600s", timedelta(hours=1)),
        ("3.5s", timedelta(seconds=3.5)),
        ("90m", timedelta(minutes=90)),
        ("12 H", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        ("2w", timedelta(weeks=2)),
        ("P30D", timedelta(days=30)),
        ("P2W", timedelta(weeks=2)),
        ("PT36H", timedelta(hours=36)),
        ("p1dt12h", timedelta(hours=36)),
    ],
)
def test_a_lifetime_is_read(value: object, expected: timedelta) -> None:
    assert lifetime(value) == expected


@pytest.mark.parametrize(
    "value",
    [0, -1, 0.5, True, None, "", "soon", "30 days ago", "P1Y", "P1M", "P", "PT", "1e9", "٣d", float("nan"),
     float("inf"), LONGEST.total_seconds() + 1, "99999w", [], {}],
)  # fmt: skip
def test_another_value_is_refused_with_its_name(value: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        lifetime(value)


def _request(**fields: object) -> IngestRequest | FailedRequest:
    reading = read({"content": "x", "timestamp": "2026-05-20", **fields}, DEFAULTS)
    assert isinstance(reading, IngestRequest | FailedRequest)
    return reading


def test_a_ttl_is_counted_from_publication_so_that_redelivery_does_not_extend_it() -> None:
    request = _request(ttl="1h")
    assert isinstance(request, IngestRequest)
    assert request.expires_at == PUBLISHED + timedelta(hours=1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2027-01-01", datetime(2027, 1, 1, tzinfo=UTC)),
        ("2027-01-01T00:00:00+02:00", datetime(2026, 12, 31, 22, tzinfo=UTC)),
        (1_800_000_000, datetime(2027, 1, 15, 8, tzinfo=UTC)),
    ],
)
def test_an_expiry_is_accepted_in_each_form_of_a_timestamp(value: object, expected: datetime) -> None:
    request = _request(expires_at=value)
    assert isinstance(request, IngestRequest)
    assert request.expires_at == expected


def test_an_expiry_without_an_offset_is_in_the_time_zone_of_the_record() -> None:
    request = _request(expires_at="2027-01-01", timezone="Europe/Berlin")
    assert isinstance(request, IngestRequest)
    assert request.expires_at == datetime(2026, 12, 31, 23, tzinfo=UTC)


@pytest.mark.parametrize("value", [True, "true", "T", 1, 1.0, "1"])
def test_pinned_is_accepted_in_each_form_of_a_boolean_in_data_warehouses(value: object) -> None:
    request = _request(pinned=value)
    assert isinstance(request, IngestRequest)
    assert request.pinned is True


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"ttl": "1h", "expires_at": "2027-01-01"}, "give either expires_at or ttl, and not both"),
        ({"ttl": "soon"}, "ttl must be a number of seconds"),
        ({"expires_at": "soon"}, "expires_at must be"),
        *(({"pinned": value}, "pinned must be") for value in ("maybe", 2, 0.5, math.nan, math.inf)),
    ],
)
def test_a_wrong_lifetime_is_refused_with_its_name(fields: dict[str, object], error: str) -> None:
    refused = _request(**fields)
    assert isinstance(refused, FailedRequest)
    assert error in refused.error
