"""`list_audit`: operators read the events of their own namespace, page by page."""

from typing import Any
from uuid import UUID

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name
from tests.fakes import FakeServices
from tests.memories import store_content
from tests.tools import CALLER, answer_of, error_of

GRANT = "00000000-0000-7000-8000-000000000001"
KEY = "abcdefghijkl"


def _record(owner: Connection, *actions: str, at: str = "2026-05-20T12:00:00Z", **columns: Any) -> None:
    """Record an event for each action, all with the same time."""
    values = {"principal": "oidc:eve", "credential": "", "client": "", "namespace": "ns", "outcome": "done"} | columns
    for action in actions:
        owner.run(
            "INSERT INTO audit_events (at, principal, credential, client, namespace, action, outcome)"
            " VALUES (CAST(:at AS timestamptz), :principal, :credential, :client, :namespace, :action, :outcome)",
            **{**values, "at": at, "action": action},
        )


def _events(services: FakeServices, **arguments: Any) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = answer_of(services, "list_audit", **arguments)["events"]
    return events


def _actions(services: FakeServices, **arguments: Any) -> list[str]:
    return [event["action"] for event in _events(services, **arguments)]


def test_a_deletion_is_listed_with_the_caller_who_deleted(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "tea")
    answer_of(services, "delete_memory", id=str(memory_id))
    (event,) = _events(services)
    assert (event["principal"], event["action"], event["outcome"]) == (CALLER.id, "delete_memory", "done")
    assert (event["ids"], event["memories"], event["count"]) == ([str(memory_id)], [], 1)


def test_only_ids_of_memories_in_this_namespace_are_listed_as_memories(
    services: FakeServices, owner: Connection
) -> None:
    mine, theirs = (store_content(memories, "tea") for memories in (services.memories, services.memories_of("other")))
    ids = [str(mine), str(theirs), str(UUID(int=7)), "7001"]
    _record(owner, "get_memory")
    owner.run("UPDATE audit_events SET ids = CAST(:ids AS text[])", ids=f"{{{','.join(ids)}}}")
    (event,) = _events(services)
    assert (event["ids"], event["memories"]) == (ids, [str(mine)])


def test_events_of_other_namespaces_are_not_listed(services: FakeServices, owner: Connection) -> None:
    _record(owner, "delete_memory", namespace="other")
    _record(owner, "log_in", namespace="")
    assert _events(services) == []
    other = Principal(id="bob", namespace="other", scopes=frozenset({Scope.OPERATE}))
    result = call(by_name()["list_audit"], {}, other, services)
    assert [event["action"] for event in (result.structured_content or {})["events"]] == ["delete_memory"]


def test_pages_neither_repeat_nor_skip_events_with_the_same_time(services: FakeServices, owner: Connection) -> None:
    _record(owner, *map(str, range(7)))
    _record(owner, "older", at="2026-05-20T11:59:59.999999Z")
    read: list[str] = []
    cursor = None
    for _ in range(4):
        page = answer_of(services, "list_audit", limit=2, **({"cursor": cursor} if cursor else {}))
        read += [event["action"] for event in page["events"]]
        cursor = page["next_cursor"]
    assert cursor is None
    assert read == ["6", "5", "4", "3", "2", "1", "0", "older"]


def test_an_event_recorded_between_two_pages_does_not_move_the_next_page(
    services: FakeServices, owner: Connection
) -> None:
    _record(owner, "1", "2", "3")
    first = answer_of(services, "list_audit", limit=2)
    _record(owner, "4")
    assert _actions(services, cursor=first["next_cursor"]) == ["1"]


def test_a_cursor_without_an_id_is_refused(services: FakeServices) -> None:
    error = error_of(services, "list_audit", cursor="AAAAAAAAAAA=")
    assert "cursor must be the next_cursor of an earlier page" in error


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["c", "b", "a"]),
        ({"action": "b"}, ["b"]),
        ({"action": "B"}, []),
        ({"after": "2026-05-21"}, ["c", "b"]),
        ({"after": "2026-05-21T10:00:00.000001Z"}, ["c"]),
        ({"before": "2026-05-21"}, ["b", "a"]),
        ({"after": "2026-05-21", "before": "2026-05-21"}, ["b"]),
        ({"after": "2026-05-23", "timezone": "Pacific/Auckland"}, ["c"]),
    ],
)
def test_filters_by_time_and_action(
    services: FakeServices, owner: Connection, arguments: dict[str, str], expected: list[str]
) -> None:
    for action, at in (("a", "2026-05-20T13:00:00Z"), ("b", "2026-05-21T10:00:00Z"), ("c", "2026-05-22T15:00:00Z")):
        _record(owner, action, at=at)
    assert _actions(services, **arguments) == expected


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        ("Eve@Example.com", ["by_grant"]),
        ("1077", ["by_grant"]),
        ("oauth:1077", ["by_grant"]),
        ("laptop", ["by_key"]),
        (f"key:{KEY}", ["by_key"]),
        ("ada@example.com", ["by_google"]),
        ("mallory@example.com", []),
    ],
)
def test_a_person_is_an_address_a_subject_a_principal_or_the_name_of_a_key(
    services: FakeServices, owner: Connection, person: str, expected: list[str]
) -> None:
    _credentials(owner)
    assert _actions(services, person=person) == expected


def test_events_have_the_names_of_people_keys_and_clients(services: FakeServices, owner: Connection) -> None:
    _credentials(owner)
    named = {event["action"]: (event.get("name"), event.get("client_name")) for event in _events(services)}
    assert named == {"by_grant": ("eve@example.com", "Editor"), "by_key": ("laptop", None), "by_google": (None, None)}


def test_names_of_credentials_of_another_namespace_are_not_listed(services: FakeServices, owner: Connection) -> None:
    _credentials(owner, namespace="other")
    assert [(event.get("name"), event.get("client_name")) for event in _events(services)] == [(None, None)] * 3
    assert _actions(services, person="laptop") == _actions(services, person="eve@example.com") == []


def test_reading_the_trail_is_always_recorded(services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[dict[str, Any]] = []
    monkeypatch.setattr("mnemosyne.observability._listeners", [lambda _, fields: recorded.append(dict(fields))])
    _events(services)
    assert [(event["action"], event["is_read"]) for event in recorded if "is_read" in event] == [("list_audit", False)]


def create_credentials(owner: Connection, namespace: str = "ns") -> None:
    """Create a key and a grant of a namespace."""
    owner.run(
        "INSERT INTO api_keys (id, name, namespace, scopes, secret_hash)"
        " VALUES (:id, 'laptop', :namespace, '{read}', :hash)",
        id=KEY,
        namespace=namespace,
        hash=bytes(32),
    )
    owner.run(
        "INSERT INTO oauth_grants (id, subject, person, namespace, client_id, client_name, scopes, resource,"
        " expires_at) VALUES (CAST(:id AS uuid), '1077', 'eve@example.com', :namespace, 'editor', 'Editor', '{read}',"
        " 'r', now() + interval '1 day')",
        id=GRANT,
        namespace=namespace,
    )


def _credentials(owner: Connection, namespace: str = "ns") -> None:
    """Create a key and a grant of a namespace, and record an event of each and of a Google account in `ns`."""
    create_credentials(owner, namespace)
    _record(owner, "by_grant", principal="oauth:1077", credential=f"grant:{GRANT}", client="editor")
    _record(owner, "by_key", principal=f"key:{KEY}", credential=f"key:{KEY}", client="laptop")
    _record(owner, "by_google", principal="google:ada@example.com")
