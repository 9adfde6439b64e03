"""Changes of several memories, ratings of each principal, and the description of the caller."""

import json
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from mnemosyne.domain.chronicle import TAG_COUNT
from mnemosyne.domain.principal import ApiKey, Principal, Scope
from mnemosyne.domain.rate_limit import MEMORY
from mnemosyne.domain.search import Filters
from mnemosyne.ids import new_id
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name, update
from tests.fakes import NOW, FakeServices
from tests.memories import list_memories, store_content, store_contents
from tests.tools import CALLER, answer_of, error_of


def _as(caller: Principal, services: FakeServices, name: str, **arguments: Any) -> dict[str, Any]:
    return dict(call(by_name()[name], arguments, caller, services).structured_content or {})


def _tags(services: FakeServices, memory_id: UUID) -> tuple[str, ...]:
    memory = services.memories.fetch(memory_id)
    assert memory
    return memory.tags


def test_several_memories_are_deleted_at_once(services: FakeServices) -> None:
    tea, cake, bread = store_contents(services.memories, "tea", "cake", "bread")
    unknown = new_id()
    answer = answer_of(services, "delete_memory", ids=[str(tea), str(unknown), str(cake)])
    assert answer["deleted"] == 2
    assert set(answer["ids"]) == {str(tea), str(cake)}
    assert answer["missing"] == [str(unknown)]
    assert [memory.id for memory in list_memories(services.memories)] == [bread]


@pytest.mark.parametrize("deleted", [[1], [2], [1, 2], [2, 1], [0, 2]])
def test_an_older_version_stays_hidden_when_newer_ones_are_deleted(services: FakeServices, deleted: list[int]) -> None:
    versions = store_contents(services.memories, "red", "green", "blue", "white")
    for older, newer in pairwise(versions):
        answer_of(services, "update_memory", id=str(older), superseded_by=str(newer))
    answer_of(services, "delete_memory", ids=[str(versions[index]) for index in deleted])
    current = services.memories.list(Filters(), 10)
    assert [memory.id for memory in current] == [versions[3]]
    remaining = [memory for memory in list_memories(services.memories) if memory.id != versions[3]]
    assert {memory.superseded_by for memory in remaining} <= set(versions)


@pytest.mark.parametrize(
    "arguments", [{}, {"id": "ID", "ids": ["ID"]}, {"ids": ["ID"], "source": "s", "key": "k"}, {"ids": []}]
)
def test_a_deletion_needs_exactly_one_of_id_ids_and_source_with_key(
    services: FakeServices, arguments: dict[str, Any]
) -> None:
    memory_id = str(store_content(services.memories, "tea"))
    filled = {
        name: [memory_id] if value == ["ID"] else memory_id if value == "ID" else value
        for name, value in arguments.items()
    }
    assert "id" in error_of(services, "delete_memory", **filled)
    assert len(list_memories(services.memories)) == 1


def test_tags_of_several_memories_are_added_and_removed(services: FakeServices) -> None:
    tea, cake = store_contents(services.memories, "tea", "cake", tags=("Food", "old"))
    unknown = str(new_id())
    ids = [str(tea), str(cake), unknown]
    answer = answer_of(services, "update_memory", ids=ids, add_tags=["new", "FOOD"], remove_tags=["OLD"])
    assert answer == {"changed": 2, "ids": [str(tea), str(cake)], "missing": [unknown]}
    assert _tags(services, tea) == _tags(services, cake) == ("Food", "new")
    assert answer_of(services, "update_memory", ids=ids, add_tags=["new"])["changed"] == 0


def test_an_id_that_is_given_repeatedly_counts_once(services: FakeServices) -> None:
    memory_ids = [str(memory_id) for memory_id in store_contents(services.memories, "tea", "cake")]
    unknown = str(new_id())
    repeated = [id_ for id_ in [*memory_ids, unknown] for _ in range(7)]
    answer = answer_of(services, "update_memory", ids=repeated, add_tags=["new"])
    assert answer == {"changed": 2, "ids": sorted(memory_ids), "missing": [unknown]}
    answer = answer_of(services, "delete_memory", ids=repeated)
    assert (answer["deleted"], answer["missing"]) == (2, [unknown])


def test_a_memory_does_not_get_more_tags_than_the_limit(services: FakeServices) -> None:
    full = store_content(services.memories, "full", tags=tuple(f"tag {n}" for n in range(TAG_COUNT)))
    other = store_content(services.memories, "other")
    why = error_of(services, "update_memory", ids=[str(other), str(full)], add_tags=["one more"])
    assert f"at most {TAG_COUNT}" in why and str(full) in why
    assert _tags(services, other) == ()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"add_tags": ["x"], "title": "t"}, "add_tags and remove_tags cannot be combined with other changes"),
        ({"ids": True, "title": "t"}, "ids works only with add_tags and remove_tags"),
        ({"ids": True, "id": True, "add_tags": ["x"]}, "either id or ids"),
    ],
)
def test_adding_tags_to_several_memories_excludes_other_changes(
    services: FakeServices, arguments: dict[str, Any], why: str
) -> None:
    memory_id = str(store_content(services.memories, "tea"))
    named: dict[str, Any] = {"ids": [memory_id]} if "ids" in arguments else {}
    named |= {} if "ids" in arguments and "id" not in arguments else {"id": memory_id}
    rest = {name: value for name, value in arguments.items() if name not in ("id", "ids")}
    assert why in error_of(services, "update_memory", **named, **rest)


def test_a_tag_is_renamed_in_all_memories_over_several_calls(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "TAGGED_AT_ONCE", 2)
    both = store_content(services.memories, "both", tags=("tea", "Getränke"))
    ids = store_contents(services.memories, "a", "b", "c", tags=("Tea", "x"))
    answer = answer_of(services, "change_tag", tag="TEA", to="Getränke")
    assert answer == {"changed": 2, "remaining": 2}
    while answer["remaining"]:
        answer = answer_of(services, "change_tag", tag="TEA", to="Getränke")
    assert _tags(services, both) == ("Getränke",)
    assert {_tags(services, memory_id) for memory_id in ids} == {("x", "Getränke")}


@pytest.mark.parametrize("label", ["\u200b", "\u2800", "\u2066\u2069", "\ufeff \u00ad"])
@pytest.mark.parametrize(
    ("tool", "argument"),
    [
        ("update_memory", "title"),
        ("update_memory", "tags"),
        ("update_memory", "add_tags"),
        ("update_memory", "remove_tags"),
        ("change_tag", "to"),
    ],
)
def test_a_label_without_a_visible_character_is_refused_and_changes_nothing(
    tool: str, argument: str, label: str, services: FakeServices
) -> None:
    memory_id = store_content(services.memories, "a", title="Tea", tags=("tea",))
    before = services.memories.fetch(memory_id)
    named = {"id": str(memory_id)} if tool == "update_memory" else {"tag": "tea"}
    value = [label] if argument.endswith("tags") else label
    place = f"{argument}[0]" if argument.endswith("tags") else argument
    message = error_of(services, tool, **named, **{argument: value})
    assert message == f"{place} must contain at least one visible character, got {json.dumps(label)}"
    assert services.memories.fetch(memory_id) == before


def test_the_case_of_a_tag_can_be_changed(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "a", tags=("tea", "x"))
    assert answer_of(services, "change_tag", tag="tea", to="Tea") == {"changed": 1, "remaining": 0}
    assert set(_tags(services, memory_id)) == {"Tea", "x"}
    assert answer_of(services, "change_tag", tag="tea", to="Tea") == {"changed": 0, "remaining": 0}


def test_a_tag_is_deleted_in_all_memories(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "a", tags=("tea", "x"))
    assert answer_of(services, "change_tag", tag="TEA", delete=True) == {"changed": 1, "remaining": 0}
    assert _tags(services, memory_id) == ("x",)


def test_a_changed_tag_is_found_by_a_search(services: FakeServices) -> None:
    memory_id = store_content(services.memories, "a", tags=("tea",))
    answer_of(services, "change_tag", tag="tea", to="beverages")
    (hit,) = answer_of(services, "memory_search", tags=["Beverages"])["memories"]
    assert hit["id"] == str(memory_id)


def test_tags_of_other_namespaces_are_not_changed(services: FakeServices) -> None:
    other = store_content(services.memories_of("other"), "a", tags=("tea",))
    assert answer_of(services, "change_tag", tag="tea", delete=True) == {"changed": 0, "remaining": 0}
    memory = services.memories_of("other").fetch(other)
    assert memory and memory.tags == ("tea",)


def test_the_latest_rating_of_a_principal_counts(services: FakeServices) -> None:
    memory_id = str(store_content(services.memories, "tea"))
    answer_of(services, "rate_memory", id=memory_id, rating=1)
    second = answer_of(services, "rate_memory", id=memory_id, rating=-1, reason="outdated")
    assert (second["helped"], second["misled"], second["rating"]) == (0, 1, -1)
    bob = replace(CALLER, id="key:bob", name="Bob's key")
    assert _as(bob, services, "rate_memory", id=memory_id, rating=-1)["misled"] == 2
    ratings = answer_of(services, "memory_history", id=memory_id)["ratings"]
    assert [(rating["by"], rating["mine"], rating["reason"]) for rating in ratings] == [
        ("Bob's key", False, None),
        ("test", True, "outdated"),
    ]


@pytest.mark.parametrize("word", ["none", "None", " NONE "])
def test_a_rating_can_be_withdrawn(services: FakeServices, word: str) -> None:
    memory_id = str(store_content(services.memories, "tea"))
    before = answer_of(services, "rate_memory", id=memory_id, rating=1)["quality_before"]
    withdrawn = answer_of(services, "rate_memory", id=memory_id, rating=word)
    assert (withdrawn["quality_after"], withdrawn["helped"], withdrawn["rating"]) == (before, 0, None)
    again = answer_of(services, "rate_memory", id=memory_id, rating="none")
    assert again["quality_after"] == before


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        (
            ApiKey(
                id="7", name="laptop", namespace="ns", scopes=frozenset({Scope.ADMIN}), secret_hash=b"", created_at=NOW,
                expires_at=NOW + timedelta(days=1),
            ).principal,
            {"name": "laptop", "kind": "key", "scopes": ["read", "write", "operate", "admin"],
             "expires_at": "2026-05-21T12:00:00Z"},
        ),
        (
            Principal(id="oauth:ada", namespace="ns", scopes=frozenset({Scope.READ}), name="Claude"),
            {"name": "Claude", "kind": "oauth", "scopes": ["read"], "expires_at": None},
        ),
    ],
)  # fmt: skip
def test_a_caller_is_described(services: FakeServices, principal: Principal, expected: dict[str, Any]) -> None:
    assert _as(principal, services, "who_am_i") == {"namespace": "ns", **expected}


@pytest.mark.parametrize("tool", ["delete_memory", "update_memory"])
def test_a_change_of_several_memories_costs_as_much_as_storing_them(tool: str) -> None:
    units_of = by_name()[tool].units_of
    assert units_of({"ids": ["x"] * 100}) == pytest.approx(100 * MEMORY)
    assert units_of({"ids": "x"}) == pytest.approx(MEMORY)
    assert units_of({"id": "x"}) == 0


def test_the_audit_log_names_every_deleted_memory(services: FakeServices, caplog: pytest.LogCaptureFixture) -> None:
    ids = [str(memory_id) for memory_id in store_contents(services.memories_of("ns"), "secret tea", "secret cake")]
    with caplog.at_level("INFO"):
        answer_of(services, "delete_memory", ids=ids)
    (line,) = [record.fields for record in caplog.records if record.msg == "audit"]  # type: ignore[attr-defined]
    assert set(line["ids"]) == set(ids)
    assert "secret" not in str(line)


def test_a_person_confirms_the_number_of_memories_to_delete(services: FakeServices) -> None:
    ask = by_name()["delete_memory"].asks_first
    assert ask
    ids = [str(new_id()) for _ in range(12)]
    question = (call(ask, {"ids": ids}, CALLER, services).structured_content or {})["question"]
    assert question == "Delete 12 memories for good?"
