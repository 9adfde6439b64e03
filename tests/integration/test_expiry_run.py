"""The scheduled removal of expired memories: its time limit and its audit row."""

from collections.abc import Iterator
from itertools import count

import pytest

from mnemosyne.adapters.database import retention
from mnemosyne.adapters.database.retention import PostgresRetention
from mnemosyne.app.operator import EXPIRY_SECONDS, expire_memories
from mnemosyne.cli.local import postgres
from mnemosyne.settings import Settings
from tests.fakes import FakeServices
from tests.memories import store_content
from tests.shared_database import SharedDatabase


@pytest.fixture
def settings(cluster: postgres.EmbeddedPostgres, shared_database: SharedDatabase) -> Settings:
    name = shared_database.owner.one("SELECT current_database() AS name")["name"]
    url = cluster.url(postgres.OWNER, name)
    return Settings.from_environment({"MNEMOSYNE_DATABASE_URL": url, "MNEMOSYNE_TOPIC": "projects/p/topics/t"})


def store_expired(services: FakeServices, shared_database: SharedDatabase, number: int) -> None:
    for index in range(number):
        store_content(services.memories, f"oolong {index}")
    shared_database.owner.run("UPDATE memories SET expires_at = now()")


def memories(shared_database: SharedDatabase) -> int:
    counted: int = shared_database.owner.one("SELECT count(*) AS n FROM memories")["n"]
    return counted


def audit_rows(shared_database: SharedDatabase) -> list[tuple[str, str, str, int]]:
    rows = shared_database.owner.run(
        "SELECT principal, action, outcome, count FROM audit_events WHERE action = 'expire' ORDER BY at, id"
    )
    return [(row["principal"], row["action"], row["outcome"], row["count"]) for row in rows]


def clock_past_the_deadline_after(readings: int) -> Iterator[float]:
    """The readings of a clock: the first ones are 0, and all later ones are past the deadline."""
    return (0.0 if number < readings else EXPIRY_SECONDS + 1 for number in count())


def test_a_removal_stops_at_its_deadline_and_the_next_one_continues(
    services: FakeServices, shared_database: SharedDatabase, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "REMOVED_AT_ONCE", 2)
    store_expired(services, shared_database, 5)
    clock = clock_past_the_deadline_after(1)  # the start of the run
    assert expire_memories(settings, lambda: next(clock)) == {"removed": 2}
    assert memories(shared_database) == 3
    assert expire_memories(settings) == {"removed": 3}
    assert memories(shared_database) == 0
    assert audit_rows(shared_database) == [
        ("system:expiry", "expire", "done", 2),
        ("system:expiry", "expire", "done", 3),
    ]


def test_a_removal_pauses_after_each_batch_for_as_long_as_the_batch_took(
    services: FakeServices, shared_database: SharedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "REMOVED_AT_ONCE", 2)
    store_expired(services, shared_database, 5)
    clock = iter([0.0, 3.0, 10.0, 14.0, 20.0, 25.0, 30.0])
    pauses: list[float] = []
    removal = PostgresRetention(shared_database.connect_as_owner)
    batches = list(removal.remove_all_expired(pauses.append, lambda: next(clock)))
    assert (batches, pauses) == ([2, 2, 1], [3.0, 4.0, 5.0])


def test_a_removal_without_expired_memories_has_no_audit_row(
    services: FakeServices, shared_database: SharedDatabase, settings: Settings
) -> None:
    store_content(services.memories, "sencha")
    assert expire_memories(settings) == {"removed": 0}
    assert memories(shared_database) == 1
    assert audit_rows(shared_database) == []
