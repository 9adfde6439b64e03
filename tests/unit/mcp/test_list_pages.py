"""Pages of lists: the text names outdated memories and the searched time, and a cursor belongs to one list."""

import base64
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.fakes import NOW, FakeServices
from tests.memories import store_contents
from tests.tools import answer_of, error_of

OTHER_LIST = "cursor belongs to a list with other filters or another order"


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize(
    "others", [{}, {"tags": ["ben"]}, {"tags": ["carla"], "session": "s"}, {"tags": ["carla"], "after": "2020-01-01"}]
)
def test_a_cursor_with_other_filters_is_refused(services: FakeServices, order: str, others: Mapping[str, Any]) -> None:
    store_contents(services.memories, *(f"memory {n}" for n in range(3)), tags=("carla",))
    arguments = {"tags": "carla", "limit": 2, "order": order}
    cursor = answer_of(services, "list_memories", **arguments)["next_cursor"]
    error = error_of(services, "list_memories", **others, order=order, cursor=cursor)
    assert OTHER_LIST in error and "omit cursor" in error
    other_order = "newest" if order == "oldest" else "oldest"
    assert OTHER_LIST in error_of(services, "list_memories", **arguments | {"order": other_order}, cursor=cursor)
    rest = answer_of(services, "list_memories", **arguments | {"limit": 50, "preview": True}, cursor=cursor)
    assert len(rest["memories"]) == 1


def test_a_list_within_a_time_in_words_can_be_continued_later(services: FakeServices) -> None:
    store_contents(services.memories, *(f"memory {n}" for n in range(3)), timestamp=NOW - timedelta(minutes=5))
    arguments = {"time_expr": "the past hour", "limit": 2}
    cursor = answer_of(services, "list_memories", **arguments)["next_cursor"]
    services.now = NOW + timedelta(minutes=1)
    assert len(answer_of(services, "list_memories", **arguments, cursor=cursor)["memories"]) == 1


def test_each_list_with_filters_refuses_a_cursor_with_other_filters(services: FakeServices) -> None:
    store_contents(services.memories, *(f"memory {n}" for n in range(300)), tags=("carla",))
    cursor = answer_of(services, "export_memories", tags="carla")["next_cursor"]
    assert OTHER_LIST in error_of(services, "export_memories", cursor=cursor)
    assert answer_of(services, "export_memories", tags=["carla"], cursor=cursor)["memories"] == 100
    cursor = answer_of(services, "list_requests", state="stored", limit=1)["next_cursor"]
    assert OTHER_LIST in error_of(services, "list_requests", cursor=cursor)
    dry = answer_of(services, "forget_memories", tags="carla", limit=1)
    assert OTHER_LIST in error_of(services, "forget_memories", all=True, cursor=dry["next_cursor"])
    answer_of(services, "forget_memories", tags="carla", cursor=dry["next_cursor"], token=dry["token"])


def test_a_cursor_of_an_earlier_release_has_no_hash_and_is_accepted(services: FakeServices) -> None:
    store_contents(services.memories, *(f"memory {n}" for n in range(3)), tags=("carla",))
    cursor = answer_of(services, "list_memories", limit=2, tags="carla")["next_cursor"]
    without_hash = base64.urlsafe_b64encode(base64.urlsafe_b64decode(cursor)[:24]).decode()
    assert len(answer_of(services, "list_memories", tags="carla", cursor=without_hash)["memories"]) == 1
