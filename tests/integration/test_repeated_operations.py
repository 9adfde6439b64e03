"""Operations that run a second time, because the answer to the first run was lost."""

from collections.abc import Callable
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import Result

from mnemosyne.adapters.database.audit_trail import AuditTrail
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.app.operations import read_operation
from mnemosyne.app.operator import OwnerStores
from mnemosyne.cli.system import LocalSystem
from mnemosyne.domain.forgetting import Selection
from mnemosyne.errors import NotFound, Unavailable
from tests.fakes import FakeServices
from tests.memories import store_content
from tests.shared_database import TABLES, SharedDatabase

HOLD = {"namespace": "ns", "reason": "case 7"}
OPERATIONS: list[tuple[str, dict[str, Any]]] = [
    ("hold_place", HOLD | {"tags": ["case 7"]}),
    ("hold_place", HOLD | {"all": True}),
    ("hold_place", HOLD | {"metadata": [{"path": "case", "values": ["7"]}], "session": "s"}),
    ("key_create", {"id": "abcdefghijkl", "secret_hash": "0" * 64, "namespace": "ns"}),
    ("quota_set", {"namespace": "ns", "limits": {"memories": 7}}),
    ("retention_set", {"namespace": "ns", "default": 86_400}),
    ("feed_set", {"namespace": "ns", "enabled": True}),
    ("lock_out", {"kind": "person", "who": "eve@example.com"}),
    ("lock_out", {"kind": "client", "who": "editor"}),
    ("forget", {"namespace": "ns", "all": True}),
]


@pytest.fixture
def system(shared_database: SharedDatabase, services: FakeServices) -> LocalSystem:
    operator: Any = OwnerStores(shared_database.connect_as_owner)
    operator.memories_of = lambda _: services.memories
    return LocalSystem(operator)


def _rows(owner: Connection) -> dict[str, Any]:
    tables = [row["relname"] for row in owner.run(TABLES) if row["relname"] != "audit_events"]
    return {table: owner.run_file(f"SELECT * FROM {table} ORDER BY 1, 2") for table in [*tables, "quotas"]}


@pytest.mark.parametrize(("action", "arguments"), OPERATIONS)
def test_a_repeated_operation_changes_nothing_more(
    action: str, arguments: dict[str, Any], system: LocalSystem, services: FakeServices, owner: Connection
) -> None:
    """The command sends the same operation again, for example after the function `migrate` was restarted."""
    store_content(services.memories, "oolong")
    if action == "forget":
        arguments = arguments | {"token": services.memories.preview_forgetting(Selection(), 1).token}
    sent = read_operation(action, arguments).model_dump(mode="json", exclude_defaults=True)
    first, rows = system.run(read_operation(action, sent)), _rows(owner)
    assert system.run(read_operation(action, sent)) == first
    assert _rows(owner) == rows


def test_equal_holds_of_two_commands_are_two_holds(system: LocalSystem) -> None:
    """Two lawyers may give the same reason. The release of one hold does not release the other."""
    first, second = (system.run(read_operation("hold_place", HOLD | {"tags": ["case 7"]})) for _ in range(2))
    system.run(read_operation("hold_release", {"namespace": "ns", **first}))
    (hold,) = system.run(read_operation("hold_list", {}))["holds"]
    assert hold["id"] == second["id"]


def test_a_repeated_forgetting_is_in_the_audit_trail_once(
    system: LocalSystem, services: FakeServices, owner: Connection
) -> None:
    store_content(services.memories, "oolong")
    token = services.memories.preview_forgetting(Selection(), 1).token
    forget = read_operation("forget", {"namespace": "ns", "all": True, "token": token})
    assert system.run(forget) == system.run(forget)
    (event,) = owner.run("SELECT action, count FROM audit_events")
    assert (event["action"], event["count"]) == ("forget", 1)


def test_two_people_who_set_one_lifetime_each_at_the_same_time_set_both(
    system: LocalSystem, shared_database: SharedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another connection sets the maximum lifetime before the statement that sets the default lifetime."""
    system.run(read_operation("retention_set", {"default": 86_400, "maximum": 10 * 86_400}))
    retention = OwnerStores(shared_database.connect_as_owner).retention
    other = read_operation("retention_set", {"namespace": "ns", "maximum": 5 * 86_400})
    unpatched = type(retention).set

    def set_after_other(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(type(retention), "set", unpatched)
        system.run(other)
        return unpatched(*arguments, **named)

    monkeypatch.setattr(type(retention), "set", set_after_other)
    answer = system.run(read_operation("retention_set", {"namespace": "ns", "default": 2 * 86_400}))
    assert (answer["default"], answer["maximum"]) == (2 * 86_400, 5 * 86_400)
    assert retention.lifetimes("ns") == (2 * 86_400, 5 * 86_400)


def test_an_interrupted_removal_of_lifetimes_is_completed_by_the_same_command(
    command: Callable[..., Result], services: FakeServices, system: LocalSystem
) -> None:
    system.run(read_operation("retention_set", {"namespace": "ns", "default": 86_400}))
    memory_id = store_content(services.memories, "oolong", timestamp=datetime.now(UTC) - timedelta(hours=1))
    assert services.memories.fetch(memory_id).expires_at is not None  # type: ignore[union-attr]
    system.run(read_operation("retention_clear", {"namespace": "ns"}))  # the command was interrupted after this
    result = command("retention", "clear", "--namespace", "ns")
    assert result.exit_code == 0, result.output
    assert "1 stored memory has another expiry now" in result.stdout
    assert services.memories.fetch(memory_id).expires_at is None  # type: ignore[union-attr]
    assert isinstance(command("retention", "clear", "--namespace", "ns").exception, NotFound)


def test_events_whose_recording_got_no_answer_are_recorded_once(
    shared_database: SharedDatabase, owner: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    trail, answers = AuditTrail(lambda: pool), [False, False, True]

    class LosesAnswers(Connection):
        def __init__(self, connection: Connection) -> None:
            vars(self).update(vars(connection))

        def run(self, *arguments: Any, **parameters: Any) -> Any:
            rows = Connection.run(self, *arguments, **parameters)
            if not answers.pop(0):
                raise Unavailable("the connection was lost")
            return rows

    class Pool:
        @contextmanager
        def connection(self) -> Any:
            with shared_database.pool.connection() as connection:
                yield LosesAnswers(connection)

    pool: Any = Pool()
    monkeypatch.setattr("mnemosyne.adapters.database.audit_trail.FLUSH_SECONDS", 3_600)
    event = {"principal": "key:k", "credential": "", "namespace": "ns", "action": "delete_memory", "ids": ["1"]}
    for _ in range(2):  # two equal calls are two events
        trail.record(event)
    trail.flush()
    trail.record(event | {"ids": ["2"]})
    trail.flush()
    trail.flush()
    rows = owner.run("SELECT ids FROM audit_events ORDER BY id")
    assert [row["ids"] for row in rows] == [["1"], ["1"], ["2"]]
