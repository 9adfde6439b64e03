"""The audit trail: who did what, recorded by database users that cannot change it."""

import json
from collections.abc import Callable
from contextlib import closing, nullcontext
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from click.testing import Result

from mnemosyne.adapters.database.audit import AuditLog
from mnemosyne.adapters.database.audit_trail import BATCH, AuditTrail
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.app import operations
from mnemosyne.app.operations.dead_letters import RedriveDeadLetters, ShowDeadLetter
from mnemosyne.app.operations.forgetting import BeginForgetting, ContinueForgetting, IssueReceipt
from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli.local import postgres
from mnemosyne.domain.audit import ACCESS, ids_of
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.errors import MnemosyneError, Unavailable
from mnemosyne.ids import new_id
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from tests.database_errors import is_denied
from tests.fakes import NOW, FakeServices
from tests.integration.test_audit_page import GRANT, KEY, create_credentials
from tests.memories import store_content

ADA = Principal(
    id=f"key:{KEY}", namespace="ns", scopes=frozenset(Scope), name="lost", credential=f"key:{KEY}", client="lost"
)
EVE = Principal(id="oauth:1077", namespace="ns", scopes=frozenset(Scope), credential=f"grant:{GRANT}", client="editor")


@pytest.fixture
def owner(owner: Connection) -> Connection:
    """The owner's connection to a database with a key and a grant."""
    create_credentials(owner)
    return owner


class Audited:
    """Tools whose calls are recorded, and the audit trail of this process."""

    def __init__(self, store: MemoryStore, pool: Pool, owner: Connection) -> None:
        self.services = FakeServices(store)
        self.trail = AuditTrail(lambda: pool)
        self.trail.start()
        self._owner = owner

    def call(self, name: str, principal: Principal = ADA, **arguments: Any) -> Any:
        return call(by_name()[name], arguments, principal, self.services)

    def events(self) -> list[dict[str, Any]]:
        """Flush the trail, and return all events."""
        self.trail.flush()
        return _events(self._owner)


@pytest.fixture
def audited(store: MemoryStore, pool: Pool, owner: Connection, monkeypatch: pytest.MonkeyPatch) -> Audited:
    monkeypatch.setattr("mnemosyne.observability._listeners", [])
    monkeypatch.setattr("mnemosyne.observability._flushes", [])
    return Audited(store, pool, owner)


def _events(owner: Connection) -> list[dict[str, Any]]:
    rows = owner.run(
        "SELECT principal, credential, client, namespace, action, outcome, ids, count FROM audit_events ORDER BY id"
    )
    return [row.by_name for row in rows]


def _logged(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    return [record.fields for record in caplog.records if record.msg == event]  # type: ignore[attr-defined]


def test_a_read_is_recorded_with_the_ids_that_it_returned(audited: Audited, store: MemoryStore) -> None:
    memory_id = store_content(store, "the tea is green")
    audited.call("memory_search", query="tea")
    (event,) = audited.events()
    assert (event["principal"], event["credential"], event["client"]) == (f"key:{KEY}", f"key:{KEY}", "lost")
    assert (event["namespace"], event["action"], event["outcome"]) == ("ns", "memory_search", "done")
    assert (event["ids"], event["count"]) == ([str(memory_id)], 1)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("delete_memory", {}),
        ("update_memory", {"title": "other"}),
        ("rate_memory", {"rating": 1}),
    ],
)
def test_a_change_is_recorded_once_in_its_transaction(
    owner: Connection, audited: Audited, store: MemoryStore, name: str, arguments: Any
) -> None:
    memory_id = store_content(store, "tea")
    result = audited.call(name, id=str(memory_id), **arguments)
    assert not result.is_error, result
    (event,) = _events(owner)  # before the trail is flushed
    assert (event["action"], event["ids"], event["outcome"]) == (name, [str(memory_id)], "done")
    assert len(audited.events()) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "outcome"),
    [
        ("forget_memories", {"all": True}, "dry_run"),
        ("drop_dead_letters", {"all": True, "dry_run": True}, "dry_run"),
        ("list_audit", {}, "done"),
    ],
)
def test_a_dry_run_or_a_read_of_the_trail_is_recorded_and_is_not_logged_as_a_change(
    audited: Audited, store: MemoryStore, caplog: pytest.LogCaptureFixture, name: str, arguments: Any, outcome: str
) -> None:
    store_content(store, "tea")
    with caplog.at_level("INFO"):
        audited.call(name, **arguments)
    assert [(event["action"], event["outcome"]) for event in audited.events()] == [(name, outcome)]
    assert _logged(caplog, "audit") == []
    (called,) = _logged(caplog, "tool_called")
    assert (called["principal"], called["client"], called["outcome"]) == (ADA.id, "lost", outcome)


def test_a_dry_run_of_redrive_is_not_recorded_as_a_redrive(owner: Connection, store: MemoryStore) -> None:
    store.store_dead_letter(DeadLetter(message_id="7", data=b"x", attributes={}, cause="no", dead_lettered_at=NOW))
    operator: Any = SimpleNamespace(
        memories_of=lambda _: store, queue=FakeServices().queue, audit=AuditLog(lambda: nullcontext(owner))
    )
    operation = RedriveDeadLetters(namespace="ns", message_ids=["7"], now=True, dry_run=True)
    operations.run(operation, operator, "google:ada@example.com")
    assert [(event["action"], event["outcome"]) for event in _events(owner)] == [("redrive", "dry_run")]


def test_the_log_of_a_forgetting_names_the_forgetting(
    audited: Audited, store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    store_content(store, "tea")
    token = audited.call("forget_memories", all=True).structured_content["token"]
    with caplog.at_level("INFO"):
        answer = audited.call("forget_memories", all=True, token=token).structured_content
    audited.trail.flush()  # otherwise the trail's thread could write into the database of a later test
    (event,) = _logged(caplog, "audit")
    assert (event["action"], event["outcome"]) == ("forget_memories", "done")
    assert event["forgetting"] == answer["forgetting_id"]


def test_contents_and_queries_are_not_recorded(audited: Audited, store: MemoryStore) -> None:
    store_content(store, "the canary sings", tags=("canary",), title="canary")
    audited.call("memory_search", query="canary")
    audited.call("list_memories")
    audited.call("memory_search", query="canary", when="canary")
    published = audited.call("ingest_memory", content="the canary sings", timestamp="2026-05-20T12:00:00Z")
    events = audited.events()
    assert len(events) == 4
    assert events[-1]["ids"] == [published.structured_content["request_id"]]
    assert "canary" not in json.dumps(events)


def test_the_functions_database_users_cannot_read_or_change_the_trail(
    cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    for user in ("mcp", postgres.RUNTIME_USER, "ingest", "dead_letter", "import_object", "auth"):
        with closing(connection_factory(cluster.url(user, database))()) as session:
            for statement in (
                "SELECT id FROM audit_events",
                "UPDATE audit_events SET outcome = 'x'",
                "DELETE FROM audit_events",
                "TRUNCATE audit_events",
                "UPDATE audit_retention SET days = 1",
            ):
                assert is_denied(session, statement), (user, statement)


def test_a_function_records_an_action_in_its_own_namespace_only(
    cluster: postgres.EmbeddedPostgres, database: str, owner: Connection
) -> None:
    session = connection_factory(cluster.url("mcp", database))()
    insert = (
        "INSERT INTO audit_events (principal, credential, client, namespace, action, outcome)"
        " VALUES ('p', '', '', 'other', 'a', 'done')"
    )
    with pytest.raises(MnemosyneError), session.transaction():
        session.run("SELECT set_config('mnemosyne.namespace', 'ns', true)")
        session.run_file(insert)
    session.close()
    assert _events(owner) == []


def test_the_last_use_of_a_key_and_a_grant_is_kept_to_the_minute(owner: Connection, audited: Audited) -> None:
    def used(*callers: Principal) -> list[Any]:
        for caller in callers:
            audited.call("list_memories", caller)
        audited.trail.flush()
        ((key, grant),) = owner.run("SELECT k.last_used_at, g.last_used_at FROM api_keys k, oauth_grants g")
        return [key, grant]

    assert used() == [None, None]
    first = used(ADA, EVE)
    assert all(first)
    assert used(ADA) == first
    owner.run("UPDATE api_keys SET last_used_at = last_used_at - interval '61 seconds'")
    assert used(ADA)[0] >= first[0]


def test_recording_of_reads_can_be_turned_off_and_of_changes_cannot(owner: Connection, pool: Pool) -> None:
    trail = AuditTrail(lambda: pool, reads=0.0)
    fields = {"principal": "p", "credential": f"key:{KEY}", "client": "", "namespace": "ns", "outcome": "done"}
    trail.on_event(ACCESS, {**fields, "action": "read", "is_read": True})
    trail.on_event(ACCESS, {**fields, "action": "write", "is_read": False})
    trail.flush()
    assert [event["action"] for event in _events(owner)] == ["write"]
    assert owner.run("SELECT last_used_at FROM api_keys")[0][0]


def test_events_wait_while_the_database_is_unavailable_and_dropped_events_are_reported(
    owner: Connection, pool: Pool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = BATCH + 1
    monkeypatch.setattr("mnemosyne.adapters.database.audit_trail.WAITING", waiting)
    away = True

    class Sometimes:
        def connection(self) -> Any:
            if away:
                raise Unavailable("away")
            return pool.connection()

    trail = AuditTrail(lambda: Sometimes())  # type: ignore[arg-type,return-value]
    trail._thread = object()  # type: ignore[assignment]
    fields = {"principal": "p", "credential": "", "client": "", "namespace": "ns", "outcome": "done", "action": "a"}
    for _ in range(waiting + 1):
        trail.record(fields)
    assert [record.msg for record in caplog.records] == ["audit_lost"]
    trail.flush()
    assert _events(owner) == []
    away = False
    trail.flush()
    assert len(_events(owner)) == waiting


def test_only_events_older_than_the_retention_are_deleted(owner: Connection, pool: Pool) -> None:
    for days in (401, 399):
        owner.run(
            "INSERT INTO audit_events (at, principal, credential, client, namespace, action, outcome)"
            " VALUES (now() - make_interval(days => :days), 'p', '', '', 'ns', CAST(:days AS text), 'done')",
            days=days,
        )
    trail = AuditTrail(lambda: pool)
    trail.record({"principal": "p", "credential": "", "client": "", "namespace": "ns", "action": "new"})
    trail.flush()
    assert [event["action"] for event in _events(owner)] == ["399", "new"]


LISTED = {
    ("--key", KEY): 2,
    ("--key", "another"): 0,
    ("--client", "lost"): 2,
    ("--client", "editor"): 1,
    ("--person", "Eve@example.com"): 1,
    ("--person", "1077"): 1,
    ("--person", "ada@example.com"): 0,
    ("--grant", GRANT): 1,
    ("--namespace", "ns"): 3,
    ("--namespace", "ns", "--since", "1d"): 3,
    ("--namespace", "ns", "--since", "999999d"): 3,
    ("--namespace", "ns", "--action", "delete_memory"): 1,
}
"""Options of the command `mnemosyne access`, and the number of events that it lists. The event that records the command
itself is not counted."""


def test_the_access_command_lists_what_a_credential_did(
    audited: Audited, store: MemoryStore, command: Callable[..., Result]
) -> None:
    memory_id = store_content(store, "tea")
    audited.call("memory_search", query="tea")
    audited.call("delete_memory", id=str(memory_id))
    audited.call("list_memories", EVE)
    audited.trail.flush()

    def count(*arguments: str) -> int:
        result = command("access", *arguments)
        assert result.exit_code == 0, result.output
        return len([line for line in result.stdout.splitlines() if "audit_list" not in line])

    assert {option: count(*option, "--json") for option in LISTED} == LISTED
    assert count("--client", "lost") == 2


def test_the_trail_is_read_page_by_page_and_shows_who_read_it(
    owner: Connection, command: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemosyne.app.operations.access.PAGE", 10)
    owner.run(
        "INSERT INTO audit_events (at, principal, credential, client, namespace, action, outcome)"
        " SELECT now() - interval '1 hour', 'p', '', '', 'ns', CAST(n AS text), 'done' FROM generate_series(1, 35) AS n"
    )
    result = command("audit", "--namespace", "ns", "--json")
    actions = [json.loads(line)["action"] for line in result.stdout.splitlines()]
    assert actions[:35] == [str(n) for n in range(1, 36)]
    assert "audit_list" in {event["action"] for event in _events(owner)}


def test_the_ids_of_a_result_are_its_own_id_and_the_ids_in_its_lists() -> None:
    result = {
        "id": "a",
        "request_ids": ["b", "c"],
        "memories": [{"id": "d", "content": "x"}, {"title": "no id"}],
        "memory_id": None,
        "count": 3,
        "tags": ["e"],
    }
    assert ids_of(result) == ["a", "b", "c", "d"]


def test_log_ins_and_grants_are_recorded_and_attempts_of_unknown_people_are_not(
    cluster: postgres.EmbeddedPostgres, database: str, owner: Connection
) -> None:
    pool = Pool(connection_factory(cluster.url("auth", database)), 1)
    trail = AuditTrail(lambda: pool)
    trail.on_event("audit", {"action": "log_in", "outcome": "refused", "subject": "1077", "reason": "blocked"})
    trail.on_event("audit", {"action": "give_token", "outcome": "done", "grant": GRANT, "client": "editor"})
    trail.on_event("audit", {"action": "register_client", "outcome": "done", "client": "stranger", "name": "x"})
    trail.on_event("push_crashed", {})
    trail.flush()
    pool.close()
    recorded = [
        (event["action"], event["principal"], event["credential"], event["outcome"]) for event in _events(owner)
    ]
    assert recorded == [
        ("log_in", "oauth:1077", "", "refused"),
        ("give_token", "", f"grant:{GRANT}", "done"),
    ]


NAMED = str(new_id())
REFUSED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("get_memory", {"id": NAMED}, [NAMED]),
    ("update_memory", {"id": NAMED, "title": "t"}, [NAMED]),
    ("forget_memories", {"forgetting_id": NAMED}, [NAMED]),
    ("redrive", {"message_id": "4711"}, ["4711"]),
    ("get_memory", {"id": "the canary sings"}, []),
    ("update_memory", {"id": NAMED, "content": "the canary sings"}, []),
]


@pytest.mark.parametrize(("name", "arguments", "ids"), REFUSED)
def test_a_refused_call_is_recorded_with_the_ids_in_its_valid_arguments(
    audited: Audited, name: str, arguments: dict[str, Any], ids: list[str]
) -> None:
    assert audited.call(name, **arguments).is_error
    (event,) = audited.events()
    assert (event["action"], event["outcome"], event["ids"], event["count"]) == (name, "refused", ids, len(ids))


def test_a_forgetting_that_fails_after_its_beginning_is_recorded_with_its_id(
    audited: Audited, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_id = store_content(store, "tea")
    token = audited.call("forget_memories", ids=[str(memory_id)]).structured_content["token"]
    audited.trail.flush()

    def fail(*arguments: Any) -> None:
        raise Unavailable("the database is not responding")

    monkeypatch.setattr(MemoryStore, "forget_some", fail)
    assert audited.call("forget_memories", ids=[str(memory_id)], token=token).is_error
    _, began, failed = audited.events()
    assert [event["outcome"] for event in (began, failed)] == ["done", "uncertain"]
    assert began["ids"] == failed["ids"] and len(began["ids"]) == 1


@pytest.mark.parametrize(
    ("operation", "ids"),
    [
        (ContinueForgetting(namespace="ns", id=UUID(NAMED)), [NAMED]),
        (IssueReceipt(namespace="ns", id=UUID(NAMED)), [NAMED]),
        (ShowDeadLetter(namespace="ns", message_id="4711"), ["4711"]),
        (BeginForgetting(namespace="ns", ids=[UUID(NAMED)], token="t"), [NAMED]),
    ],
)
def test_an_operation_that_fails_is_recorded_with_the_ids_in_its_arguments(
    owner: Connection, store: MemoryStore, operation: Operation, ids: list[str]
) -> None:
    operator: Any = SimpleNamespace(memories_of=lambda _: store, audit=AuditLog(lambda: nullcontext(owner)))
    with pytest.raises(MnemosyneError):
        operations.run(operation, operator, "google:ada@example.com")
    (event,) = _events(owner)
    assert (event["principal"], event["namespace"], event["action"]) == (
        "google:ada@example.com", "ns", operation.action
    )  # fmt: skip
    assert event["outcome"] == "refused" and event["ids"] == ids
