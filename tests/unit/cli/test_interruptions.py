"""A command that ends after it has changed something says what was changed, and how to continue."""

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mnemosyne.app.operations.dead_letters import RedriveDeadLetters
from mnemosyne.app.operations.export import LINES, ExportMemories, RestoreLines
from mnemosyne.app.operations.forgetting import IssueReceipt
from mnemosyne.app.operations.holds import SuspendExpiry
from mnemosyne.app.operations.operation import Operation
from mnemosyne.app.operations.retention import ApplyRetention
from mnemosyne.app.operations.system import FillMove, Migrate, ShowSchema
from mnemosyne.cli import import_, redrive, restore
from mnemosyne.cli.system import SLICE
from mnemosyne.errors import Conflict, InvalidRequest, NotFound, Unavailable
from tests.unit.cli.conftest import UseServer, UseSystem, invoke

ID = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"
PROJECT = "--project ours"
REMEMBER = "remember tea --url http://127.0.0.1:9/mcp"
AWAY = Unavailable("the database is not available")


class FakeSystem:
    """A system in which each operation of the type `stops_at` raises `fault`. All other operations return `answer`."""

    def __init__(self, fault: BaseException, stops_at: type[Operation], **answer: Any) -> None:
        self._fault, self._stops_at, self._answer = fault, stops_at, answer
        self.operations: list[type[Operation]] = []

    def run(self, operation: Operation) -> dict[str, Any]:
        self.operations.append(type(operation))
        if isinstance(operation, self._stops_at):
            raise self._fault
        return self._answer


def _raise(fault: BaseException) -> Any:
    raise fault


def test_a_queued_memory_with_an_unreadable_state_does_not_fail_the_command(use_server: UseServer) -> None:
    queued = {"status": "queued", "request_id": ID}
    use_server(lambda tool, arguments: queued if tool == "ingest_memory" else _raise(AWAY))
    result = invoke(REMEMBER)
    assert result.exit_code == 0
    assert result.stdout == f"Queued as request {ID}: the server stores it as soon as it can.\n"
    assert result.stderr == "Its state cannot be read now: the database is not available\n"


def test_an_interrupted_remember_says_that_the_memory_may_be_stored(use_server: UseServer) -> None:
    use_server(lambda tool, arguments: _raise(KeyboardInterrupt()))
    result = invoke(REMEMBER)
    assert result.exit_code == 1
    assert "the memory may be stored. Run the same command again, which stores nothing twice." in result.stderr


def test_migrations_that_cannot_be_listed_do_not_fail_the_command(use_system: UseSystem) -> None:
    system = FakeSystem(AWAY, ShowSchema, applied=["0001 memories"])
    use_system(system.run)
    result = invoke(f"migrate {PROJECT}")
    assert (result.exit_code, system.operations) == (0, [Migrate, ShowSchema])
    assert "The migrations are applied, but cannot be listed now" in result.stderr
    assert invoke(f"migrate --status {PROJECT}").exception is AWAY
    as_json = invoke(f"migrate --json {PROJECT}")
    assert (as_json.exit_code, json.loads(as_json.stdout)) == (0, {"applied": ["0001 memories"]})


@pytest.mark.parametrize("fault", [AWAY, KeyboardInterrupt()])
@pytest.mark.parametrize(
    ("command", "stops_at", "note"),
    [
        ("retention set --default 9d --namespace n", ApplyRetention, "not all stored memories"),
        ("retention clear --namespace n", ApplyRetention, "Run the same command again"),
        (f"holds release {ID}", ApplyRetention, "the hold may be released. Run the same command again"),
        ("holds place --all --namespace n --reason case", SuspendExpiry, f"the hold {ID} is in force"),
        (
            f"forget --id {ID} --yes --receipt receipt.json",
            IssueReceipt,
            "the memories are forgotten, but the receipt was not written. `mnemosyne receipt show --namespace default",
        ),
        ("redrive", RedriveDeadLetters, "may have been published again. Run the same command"),
    ],
)
def test_a_change_that_was_made_in_part_is_reported(
    use_system: UseSystem, fault: BaseException, command: str, stops_at: type[Operation], note: str
) -> None:
    answer = {"expired": 0, "id": ID, "token": "t", "memories": 1, "holds": [], "page": [], "message_ids": ["7"]}
    use_system(FakeSystem(fault, stops_at, **answer).run)
    result = invoke(f"{command} {PROJECT}")
    assert result.exit_code == 1
    assert note in result.stderr


@pytest.mark.parametrize(("option", "fault"), [("--dry-run", KeyboardInterrupt()), ("", NotFound("no dead letter 7"))])
def test_a_redrive_that_published_nothing_says_nothing_of_published_letters(
    use_system: UseSystem, option: str, fault: BaseException
) -> None:
    use_system(FakeSystem(fault, RedriveDeadLetters, message_ids=["7"]).run)
    assert "published" not in invoke(f"redrive {option} {PROJECT}").output


def test_a_redrive_refused_after_its_first_slice_says_that_letters_were_published(use_system: UseSystem) -> None:
    answers: list[Any] = [{"letters": [], "problems": [], "untried": [], "stopped": False}]

    def run(operation: Operation) -> Any:
        if not isinstance(operation, RedriveDeadLetters):
            return {"message_ids": [str(number) for number in range(SLICE + 1)]}
        if not answers:
            raise NotFound("no dead letter")
        return answers.pop()

    use_system(run)
    assert redrive.INTERRUPTED in invoke(f"redrive {PROJECT}").stderr


def test_an_interrupted_move_says_how_to_continue_or_abandon_it(use_system: UseSystem) -> None:
    use_system(FakeSystem(KeyboardInterrupt(), FillMove, missing=9).run)
    result = invoke(f"reembed --model m --dimension 256 {PROJECT}")
    abandon = "`mnemosyne reembed --project ours --region europe-west1 --deployment mnemosyne --abandon`"
    assert f"Run the same command again to continue, or {abandon}" in result.stderr


def test_a_redrive_names_the_command_that_lists_the_letters_that_back_off(use_system: UseSystem) -> None:
    def run(operation: Any) -> Any:
        return {"message_ids": [] if operation.redrivable else ["7"]}

    use_system(run)
    result = invoke(f"redrive --namespace 'my team' {PROJECT}")
    options = "--namespace 'my team' --project ours --region europe-west1 --deployment mnemosyne"
    assert f"backing off: 1. `mnemosyne dead-letters list {options}` says until when." in result.stderr


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), SystemExit(143)])
def test_an_interrupted_import_says_that_the_same_command_continues(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: BaseException
) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text(json.dumps({"content": "tea", "timestamp": "2026-05-20T12:00:00Z"}))
    monkeypatch.setattr(import_, "_destination", lambda *_: nullcontext(SimpleNamespace(name="here", namespace="n")))
    monkeypatch.setattr("mnemosyne.cli.importer.send", lambda *_: _raise(fault))
    result = invoke(f"import {file} --data-dir {tmp_path}")
    assert result.exit_code == (143 if isinstance(fault, SystemExit) else 1)
    assert import_.INTERRUPTED in result.stderr


def test_an_interrupted_restore_says_how_many_are_restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    file.write_text("{}\n" * (LINES + 1))
    answers: list[Any] = [{"memories": 7, "stored": 7, "rows": 0, "changed": False}]

    def run(operation: Operation) -> Any:
        if not answers:
            raise KeyboardInterrupt
        return answers.pop()

    monkeypatch.setattr(restore, "_owners_system", lambda _: nullcontext(SimpleNamespace(run=run)))
    result = invoke(f"import {file} --restore --data-dir {tmp_path}")
    assert result.exit_code == 1
    assert "7 memories restored so far; the same command continues and skips these." in result.stderr


@pytest.mark.parametrize(
    ("lines", "note"), [(LINES + 1, f"{LINES} memories restored before this error.\n"), (0, "")], ids=["some", "none"]
)
@pytest.mark.parametrize("fault", ["a line", "a conflict", "a missing file"])
def test_a_refused_restore_is_not_reported_as_an_interruption(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    lines: int,
    note: str,
    fault: str,
) -> None:
    (tmp_path / "export.jsonl").write_text("{}\n" * lines + {"a line": "[]", "a conflict": "{}"}.get(fault, ""))
    missing = [str(tmp_path / "missing.jsonl")] if fault == "a missing file" else []

    def run(operation: RestoreLines) -> Any:
        if fault == "a conflict" and len(operation.lines) < LINES:
            raise Conflict("another memory has this id")
        return {"memories": LINES, "stored": LINES, "rows": 0, "changed": False}

    monkeypatch.setattr(restore, "_owners_system", lambda _: nullcontext(SimpleNamespace(run=run)))
    with pytest.raises(Conflict if fault == "a conflict" else InvalidRequest):
        restore.restore_files([tmp_path / "export.jsonl", *map(Path, missing)], "n", None, as_json=False)
    assert capsys.readouterr().err == note


@pytest.mark.parametrize(
    ("options", "note"), [("--output x.jsonl", "nothing was written to x.jsonl"), ("", "the output is incomplete")]
)
def test_an_interrupted_export_says_whether_something_was_written(
    use_system: UseSystem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: str, note: str
) -> None:
    monkeypatch.chdir(tmp_path)
    use_system(FakeSystem(KeyboardInterrupt(), ExportMemories).run)
    result = invoke(f"export {options} {PROJECT}")
    assert result.exit_code == 1
    assert note in result.stderr
    assert not list(tmp_path.iterdir())
