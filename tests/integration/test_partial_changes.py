"""A change that needs several transactions reports what it has changed, if a later transaction fails."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace

import mcp_types
import pytest
from click.testing import CliRunner

from mnemosyne.adapters.database import dead_letters
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.owner_store import Holds
from mnemosyne.cli import dead_letters as commands
from mnemosyne.cli.system import LocalSystem
from mnemosyne.domain.dead_letter import ALL_DEAD_LETTERS, DeadLetter
from mnemosyne.errors import Broken, Misconfigured, PartialChange, ServiceError, Unavailable
from mnemosyne.mcp.tool_errors import ERROR_META
from mnemosyne.service import forgetting
from tests.fakes import NOW, FakeServices
from tests.integration.test_forgetting import TEA, titles
from tests.memories import store, store_content
from tests.records import version
from tests.shared_database import SharedDatabase
from tests.tools import answer_of, call_tool, error_of, text_of

FULL_DISK = """
CREATE FUNCTION fail_five() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN IF OLD.message_id = '5' THEN RAISE SQLSTATE '53100'; END IF; RETURN OLD; END $$;
CREATE TRIGGER fail_five BEFORE DELETE ON dead_letters FOR EACH ROW EXECUTE FUNCTION fail_five()
"""


def _code(result: mcp_types.CallToolResult) -> dict[str, object]:
    assert result.meta
    return dict(result.meta[ERROR_META])


@pytest.fixture
def letters(services: FakeServices, owner: Connection, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Five dead letters, which are deleted two at a time. The database refuses to delete the last one."""
    monkeypatch.setattr(dead_letters, "DROPPED_AT_ONCE", 2)
    ids = [f"{number}" for number in range(1, 6)]
    for message_id in ids:
        letter = DeadLetter(message_id=message_id, data=b"x", attributes={}, cause="broken", dead_lettered_at=NOW)
        services.memories.store_dead_letter(letter)
    owner.run_file(FULL_DISK)
    yield ids
    owner.script("DROP FUNCTION fail_five CASCADE")


@pytest.mark.parametrize("choice", [{"cause": "broken"}, {"all": True}, {"message_ids": ["1", "2", "3", "4", "5"]}])
def test_a_drop_that_fails_later_reports_the_number_of_deleted_dead_letters(
    services: FakeServices, letters: list[str], choice: dict[str, object]
) -> None:
    result = call_tool(services, "drop_dead_letters", **choice)
    assert "only 4 of 5 dead letters were deleted (the database's disk is full)" in text_of(result)
    assert "nothing was changed" not in text_of(result)
    assert _code(result) == {"code": "uncertain", "retryable": False}
    assert list(services.memories.dead_letter_ids(ALL_DEAD_LETTERS)) == ["5"]


def test_a_drop_that_fails_at_once_reports_that_nothing_was_changed(services: FakeServices, letters: list[str]) -> None:
    assert "nothing was changed" in error_of(services, "drop_dead_letters", message_ids=["5"])
    assert len(services.memories.dead_letter_ids(ALL_DEAD_LETTERS)) == 5


def test_the_command_prints_the_number_of_dead_letters_that_it_deleted_before_a_failure(
    services: FakeServices, letters: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = SimpleNamespace(memories_of=services.memories_of, audit=SimpleNamespace(record=lambda fields: None))
    monkeypatch.setattr(commands, "slices", lambda ids: [ids[:2], ids[2:]])
    monkeypatch.setattr(commands, "memory_system", lambda **_: nullcontext(LocalSystem(operator)))
    result = CliRunner().invoke(commands.drop, ["--all", "--yes", "--namespace", "ns", "--data-dir", "x"])
    assert "Dropped 2 dead letters before this step failed" in result.output
    assert "only 2 of 3 dead letters were deleted (the database's disk is full)" in str(result.exception)


def test_a_redrive_whose_message_and_mark_both_fail_reports_that_the_dead_letter_stays_in_flight(
    services: FakeServices, letters: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise Unavailable("the database is not available")

    services.queue.away = True
    monkeypatch.setattr(type(services.memories), "unmark_redriven", fail)
    result = call_tool(services, "redrive", message_id="1")
    assert "the dead letter 1 was marked as in flight, but perhaps not published" in text_of(result)
    assert "nothing was changed" not in text_of(result)
    (problem,) = answer_of(services, "redrive", message_ids=["2"])["problems"]
    assert "redrive it again after 24 hours" in problem


@pytest.mark.parametrize("published", [0, 5])
def test_a_redrive_after_which_the_database_fails_reports_the_number_of_published_dead_letters(
    services: FakeServices, letters: list[str], monkeypatch: pytest.MonkeyPatch, published: int
) -> None:
    ids = iter([letters[:published]])

    def answer_once(self: object, choice: object) -> list[str]:
        for answer in ids:
            return answer
        raise Unavailable("the database is not available")

    monkeypatch.setattr(type(services.memories), "dead_letter_ids", answer_once)
    result = call_tool(services, "redrive", cause="broken")
    assert len(services.queue.messages) == published
    assert ("nothing was changed" in text_of(result)) == (published == 0)
    assert ("5 dead letters were published again (the database is not available)" in text_of(result)) == (
        published == 5
    )


@pytest.fixture
def holds(shared_database: SharedDatabase) -> Holds:
    return Holds(shared_database.connect_as_owner)


@pytest.fixture
def tea(services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a dry run of a forgetting that selects five memories, and return its token.

    The memories would be forgotten two at a time.
    """
    monkeypatch.setattr("mnemosyne.adapters.database.forgetting.FORGOTTEN_AT_ONCE", 2)
    for number in range(5):
        store_content(services.memories, f"tea {number}", tags=("tea",))
    token: str = answer_of(services, "forget_memories", tags=["tea"])["token"]
    return token


def test_a_forgetting_that_fails_later_names_the_call_that_continues_it(
    services: FakeServices, tea: str, fails: Callable[..., None]
) -> None:
    fails("count(*) = 1", "53100", "DELETE", "OLD")
    result = call_tool(services, "forget_memories", tags=["tea"], token=tea)
    (begun,) = services.memories.forgettings(10)
    assert f"call again with forgetting_id {begun.id}" in text_of(result)
    assert "nothing was changed" not in text_of(result)
    assert _code(result) == {"code": "uncertain", "retryable": False}
    assert len(titles(services)) == 1


@pytest.mark.parametrize(
    ("failure", "text", "needs_operator"),
    [
        (Unavailable("it is down", next_step="wait", detail="x1"), "2 were deleted (it is down)", False),
        (Broken("the disk is full", next_step="enlarge it", detail="x1"), "2 were deleted (the disk is full)", True),
        (Misconfigured("the schema is old", next_step="run migrate", detail="x1"), "2 were deleted", True),
    ],
)
def test_a_partial_change_shows_agents_no_next_step_of_the_operator(
    failure: ServiceError, text: str, needs_operator: bool
) -> None:
    error = PartialChange("2 were deleted", failure)
    assert (error.cause, error.needs_operator) == (text, needs_operator)
    assert (error.next_step, error.detail) == (failure.next_step, "x1")


@pytest.mark.parametrize(("limit", "deleted"), [(2, 4), (5, 0)])
def test_a_deletion_of_a_record_that_fails_later_reports_the_number_of_deleted_memories(
    services: FakeServices, fails: Callable[..., None], monkeypatch: pytest.MonkeyPatch, limit: int, deleted: int
) -> None:
    monkeypatch.setattr("mnemosyne.adapters.database.ingest_requests.DELETED_AT_ONCE", limit)
    for number in range(5):
        store(services.memories, version("1", f"tea {number}", number - 10))
    fails("count(*) IN (1, 5)", "53100", "DELETE", "OLD")
    result = call_tool(services, "delete_memory", source="crm", key="1")
    assert len(titles(services)) == 5 - deleted
    assert ("nothing was changed" in text_of(result)) == (deleted == 0)
    assert _code(result)["code"] == ("uncertain" if deleted else "operator_needed")
    if deleted:
        assert "4 memories were deleted before this error (the database's disk is full)" in text_of(result)


@pytest.mark.parametrize("deleted", [0, 2, 4])
def test_a_hold_during_a_forgetting_reports_the_number_of_deleted_memories(
    services: FakeServices, tea: str, deleted: int, holds: Holds
) -> None:
    forgetting_id = forgetting.begin(TEA, tea, "", memories=services.memories)
    for _ in range(deleted // 2):
        services.memories.forget_some(forgetting_id)
    hold = holds.place("ns", TEA, "case 7", "somebody")
    text = error_of(services, "forget_memories", forgetting_id=str(forgetting_id))
    assert f"is under the legal hold {hold} (case 7) and must be kept; {deleted} of the 5 memories are deleted" in text
    assert f"continue the forgetting {forgetting_id}" in text
    assert len(titles(services)) == 5 - deleted


def test_a_hold_that_prevents_a_deletion_reports_that_nothing_was_changed(services: FakeServices, holds: Holds) -> None:
    memory_id = store_content(services.memories, "tea", tags=("tea",))
    holds.place("ns", TEA, "case 7", "somebody")
    assert "must be kept; nothing was changed" in error_of(services, "delete_memory", ids=[str(memory_id)])
