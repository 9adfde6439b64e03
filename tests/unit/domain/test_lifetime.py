"""Lifetimes of memories: `ttl`, `expires_at` and `pinned` in each accepted form."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from mnemosyne.domain.lifetime import LONGEST, lifetime
from mnemosyne.domain.memory import FailedRequest, IngestRequest, Reading
from mnemosyne.domain.memory_input import Defaults, read
from mnemosyne.ids import new_id

PUBLISHED = datetime(2026, 5, 20, 12, tzinfo=UTC)
DEFAULTS = Defaults(new_id=new_id, published=PUBLISHED)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, timedelta(seconds=1)),
        ("3600", timedelta(hours=1)),
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


def _read(**fields: object) -> Reading:
    return read({"content": "x", "timestamp": "2026-05-20", **fields}, DEFAULTS)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # A redelivery does not extend a ttl, because it is counted from the publication.
        ({"ttl": "1h"}, PUBLISHED + timedelta(hours=1)),
        ({"expires_at": "2027-01-01"}, datetime(2027, 1, 1, tzinfo=UTC)),
        ({"expires_at": "2027-01-01T00:00:00+02:00"}, datetime(2026, 12, 31, 22, tzinfo=UTC)),
        ({"expires_at": 1_800_000_000}, datetime(2027, 1, 15, 8, tzinfo=UTC)),
        ({"expires_at": "2027-01-01", "timezone": "Europe/Berlin"}, datetime(2026, 12, 31, 23, tzinfo=UTC)),
    ],
)
def test_a_memory_expires_after_its_ttl_or_at_a_time_in_each_form_of_a_timestamp(
    fields: dict[str, object], expected: datetime
) -> None:
    reading = _read(**fields)
    assert isinstance(reading, IngestRequest)
    assert reading.expires_at == expected


@pytest.mark.parametrize("value", [True, "true", "T", 1, 1.0, "1"])
def test_pinned_is_accepted_in_each_form_of_a_boolean_in_data_warehouses(value: object) -> None:
    reading = _read(pinned=value)
    assert isinstance(reading, IngestRequest)
    assert reading.pinned is True


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
    refused = _read(**fields)
    assert isinstance(refused, FailedRequest)
    assert error in refused.error
