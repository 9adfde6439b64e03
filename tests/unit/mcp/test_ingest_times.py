"""Times of memories, as agents write them."""

from typing import Any

import pytest

from tests.fakes import NOW, FakeServices
from tests.tools import answer_of, error_of


def _accepted(services: FakeServices, tool: str, **arguments: Any) -> list[str]:
    answer_of(services, tool, **arguments)
    return [request.timestamp.isoformat() for _, requests in services.queue.published for request in requests]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({}, NOW.isoformat()),
        ({"timestamp": ""}, NOW.isoformat()),
        ({"timestamp": "2026-05-20T14:30:00+02:00", "timezone": "America/New_York"}, "2026-05-20T12:30:00+00:00"),
        ({"timestamp": "2026-05-20"}, "2026-05-20T00:00:00+00:00"),
        ({"timestamp": "2026-05-20", "timezone": "Europe/Berlin"}, "2026-05-19T22:00:00+00:00"),
        ({"timestamp": "2026-05-20T14:30", "timezone": "Europe/Berlin"}, "2026-05-20T12:30:00+00:00"),
        ({"timestamp": "2026-05-20 14:30:05.5"}, "2026-05-20T14:30:05.500000+00:00"),
        ({"timestamp": 1_779_280_200}, "2026-05-20T12:30:00+00:00"),
        ({"timestamp": "2026-10-25T02:30", "timezone": "Europe/Berlin"}, "2026-10-25T00:30:00+00:00"),
    ],
)
def test_a_time_is_read_in_each_common_form_and_defaults_to_now(arguments: dict[str, Any], meant: str) -> None:
    assert _accepted(FakeServices(), "ingest_memory", content="tea", **arguments) == [meant]


def test_each_memory_of_a_batch_has_its_own_time() -> None:
    memories = [{"content": "a"}, {"content": "b", "timestamp": "2026-05-20", "timezone": "Asia/Tokyo"}]
    assert _accepted(FakeServices(), "ingest_memories", memories=memories) == [
        NOW.isoformat(),
        "2026-05-19T15:00:00+00:00",
    ]


@pytest.mark.parametrize("time_text", ["yesterday", "20.5.2026", "2026-02-30", "2026-05-20T25:00", "14:30", "2026"])
def test_an_invalid_time_is_refused_with_the_accepted_forms(time_text: str) -> None:
    assert error_of(FakeServices(), "ingest_memory", content="tea", timestamp=time_text).startswith("timestamp must be")
