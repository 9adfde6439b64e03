"""New ids are UUIDs of version 7 in order of creation; a request id shows which namespace it was issued for."""

import time
from datetime import UTC, datetime
from uuid import RFC_4122, UUID, uuid4, uuid5

import pytest

from mnemosyne.ids import issue_request_id, issued_at, new_id

NAMESPACES = ("default", "", "a" * 200, "Ünïcode 名前", "\ud800")


def _time(uuid: UUID) -> datetime:
    return datetime.fromtimestamp((uuid.int >> 80) / 1000, UTC)


def test_ids_of_the_same_moment_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_764_100_000_123_456_789)
    assert len({new_id() for _ in range(2_000)}) == 2_000


@pytest.mark.parametrize("nanoseconds", [0, 999_999, 1_000_000, 1_764_100_000_123_456_789, 2**48 * 10**6 - 1])
def test_ids_are_uuids_of_version_7_that_sort_by_their_time(monkeypatch: pytest.MonkeyPatch, nanoseconds: int) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: nanoseconds)
    for uuid in (new_id(), issue_request_id("default")):
        assert (uuid.version, uuid.variant) == (7, RFC_4122)
        assert uuid.int >> 80 == nanoseconds // 1_000_000
    assert new_id().int >> 64 & 0xFFF == (nanoseconds % 1_000_000) * 4096 // 1_000_000


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_the_time_of_issue_of_a_request_id_can_be_read_back(namespace: str) -> None:
    issued = issue_request_id(namespace)
    assert issued_at(issued, namespace) == _time(issued)


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_an_id_of_another_system_is_not_recognized_as_issued(namespace: str) -> None:
    assert issued_at(uuid4(), namespace) is None
    assert issued_at(uuid5(uuid4(), "a name"), namespace) is None
    # The check has 12 bits, so that one id in 4,096 passes by chance.
    other_times = [issued_at(issue_request_id(namespace + " of others"), namespace) for _ in range(100)]
    assert sum(other is not None for other in other_times) <= 2
