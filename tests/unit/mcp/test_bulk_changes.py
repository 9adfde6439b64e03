"""Changes of several memories, ratings of each principal, and the description of the caller."""

from dataclasses import replace
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from mnemosyne.domain.chronicle import TAG_COUNT
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.domain.search import Filters
from mnemosyne.ids import new_id
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import by_name, update
from mnemosyne.service.api_keys import new_key
from tests.fakes import NOW, FakeServices
from tests.memories import list_memories, store_content, store_contents
from tests.tools import CALLER, answer_of, error_of


def _as(caller: Principal, services: FakeServices, name: str, **arguments: Any) -> dict[str, Any]:
    return dict(call(by_name()[name], arguments, caller, services).structured_content or {})


def _tags(services: FakeServices, memory_id: UUID) -> tuple[str, ...]:
    memory = services.memories.fetch(memory_id)
    assert memory
    return memory.tags


def test_several_memories_are_deleted_at_once_and_a_repeated_id_counts_once(services: FakeServices) -> None:
    tea, cake, bread = store_contents(services.memories, "tea", "cake", "bread")
    unknown = str(new_id())
    answer = answer_of(services, "delete_memory", ids=[str(tea), unknown, str(cake), unknown, str(tea)])
    assert (answer["deleted"], {*answer["ids"]}, answer["missing"]) == (2, {str(tea), str(cake)}, [unknown])
    assert [memory.id for memory in list_memories(services.memories)] == [bread]


@pytest.mark.parametrize("deleted", [[1], [2, 1], [0, 2]])
def test_an_older_version_stays_hidden_when_newer_ones_are_deleted(services: FakeServices, deleted: list[int]) -> None:
    versions = store_contents(services.memories, "red", "green", "blue", "white")
    for older, newer in pairwise(versions):
        answer_of(services, "update_memory", id=str(older), superseded_by=str(newer))
    answer_of(services, "delete_memory", ids=[str(versions[index]) for index in deleted])
    current = services.memories.list(Filters(), 10)
    assert [memory.id for memory in current] == [versions[3]]
    remaining = [memory for memory in list_memories(services.memories) if memory.id != versions[3]]
    assert {memory.superseded_by for memory in remaining} <= set(versions)


def test_tags_of_several_memories_are_added_and_removed(services: FakeServices) -> None:
    tea, cake = store_contents(services.memories, "tea", "cake", tags=("Food", "old"))
    unknown = str(new_id())
    ids = [str(tea), str(cake), unknown] * 7  # a repeated id counts once
    answer = answer_of(services, "update_memory", ids=ids, add_tags=["new", "FOOD"], remove_tags=["OLD"])
    assert answer == {"changed": 2, "ids": sorted([str(tea), str(cake)]), "missing": [unknown]}
    assert _tags(services, tea) == _tags(services, cake) == ("Food", "new")
    assert answer_of(services, "update_memory", ids=ids, add_tags=["new"])["changed"] == 0


def test_a_memory_does_not_get_more_tags_than_the_limit(services: FakeServices) -> None:
    full = store_content(services.memories, "full", tags=tuple(f"tag {n}" for n in range(TAG_COUNT)))
    other = store_content(services.memories, "other")
    why = error_of(services, "update_memory", ids=[str(other), str(full)], add_tags=["one more"])
    assert f"at most {TAG_COUNT}" in why and str(full) in why
    assert _tags(services, other) == ()


def test_a_tag_is_renamed_everywhere_in_two_calls(services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "TAGGED_AT_ONCE", 2)
    both = store_content(services.memories, "both", tags=("tea", "Getränke"))
    ids = store_contents(services.memories, "a", "b", "c", tags=("Tea", "x"))
    answer = answer_of(services, "change_tag", tag="TEA", to="Getränke")
    assert answer == {"changed": 2, "remaining": 2}
    while answer["remaining"]:
        answer = answer_of(services, "change_tag", tag="TEA", to="Getränke")
    assert _tags(services, both) == ("Getränke",)
    assert {_tags(services, memory_id) for memory_id in ids} == {("x", "Getränke")}


@pytest.mark.parametrize(("change", "tags"), [({"to": "Tea"}, {"Tea", "x"}), ({"delete": True}, {"x"})])
def test_a_tag_changes_its_case_or_is_deleted(services: FakeServices, change: dict[str, Any], tags: set[str]) -> None:
    memory_id = store_content(services.memories, "a", tags=("tea", "x"))
    for changed in (1, 0):
        assert answer_of(services, "change_tag", tag="tea", **change) == {"changed": changed, "remaining": 0}
        assert set(_tags(services, memory_id)) == tags


def test_the_latest_rating_of_a_principal_counts(services: FakeServices) -> None:
    memory_id = str(store_content(services.memories, "tea"))
    answer_of(services, "rate_memory", id=memory_id, rating=1)
    second = answer_of(services, "rate_memory", id=memory_id, rating=-1, reason="outdated")
    assert (second["helped"], second["misled"], second["rating"]) == (0, 1, -1)
    bob = replace(CALLER, id="key:bob", name="Bob's key")
    assert _as(bob, services, "rate_memory", id=memory_id, rating=-1)["misled"] == 2
    ratings = answer_of(services, "memory_history", id=memory_id)["ratings"]
    shown = [(rating["by"], rating["mine"], rating["reason"]) for rating in ratings]
    assert shown == [("Bob's key", False, None), ("test", True, "outdated")]


@pytest.mark.parametrize("word", ["none", " NONE "])
def test_a_rating_can_be_withdrawn(services: FakeServices, word: str) -> None:
    memory_id = str(store_content(services.memories, "tea"))
    before = answer_of(services, "rate_memory", id=memory_id, rating=1)["quality_before"]
    withdrawn = answer_of(services, "rate_memory", id=memory_id, rating=word)
    assert (withdrawn["quality_after"], withdrawn["helped"], withdrawn["rating"]) == (before, 0, None)
    assert answer_of(services, "rate_memory", id=memory_id, rating=word)["quality_after"] == before


LAPTOP, _ = new_key(name="laptop", namespace="ns", scopes=frozenset({Scope.ADMIN}), created_at=NOW, expires_at=NOW)
CLAUDE = Principal(id="oauth:ada", namespace="ns", scopes=frozenset({Scope.READ}), name="Claude")


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        (LAPTOP.principal, {"name": "laptop", "kind": "key", "scopes": [*Scope], "expires_at": "2026-05-20T12:00:00Z"}),
        (CLAUDE, {"name": "Claude", "kind": "oauth", "scopes": ["read"], "expires_at": None}),
    ],
)
def test_a_caller_is_described(services: FakeServices, principal: Principal, expected: dict[str, Any]) -> None:
    assert _as(principal, services, "who_am_i") == {"namespace": "ns", **expected}


def test_a_person_confirms_the_number_of_memories_to_delete(services: FakeServices) -> None:
    ask = by_name()["delete_memory"].asks_first
    assert ask
    ids = [str(new_id()) for _ in range(12)]
    question = (call(ask, {"ids": ids}, CALLER, services).structured_content or {})["question"]
    assert question == "Delete 12 memories for good?"
