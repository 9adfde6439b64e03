"""Each command in a code block of a document is run by a test, or has a reason why it is not."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.documented_commands import DOCUMENTS, NOT_RUN, ON_THE_PATH, ROOT, RUN, commands

COMMANDS = [command for document in DOCUMENTS for command in commands(document)]


def test_each_documented_command_is_run_by_a_test_or_has_a_reason() -> None:
    assert [str(command) for command in COMMANDS if not command.is_run and not command.reason] == []


def test_no_documented_command_has_a_comment_because_a_terminal_with_zsh_takes_it_for_arguments() -> None:
    assert [str(command) for command in COMMANDS if re.search(r"(^|\s)#", command.text)] == []


@pytest.mark.parametrize("pattern", [*RUN, *NOT_RUN])
def test_each_entry_of_the_tables_matches_a_documented_command(pattern: str) -> None:
    assert any(re.match(pattern, command.text) for command in COMMANDS)


@pytest.mark.parametrize(
    "words", sorted({words for c in COMMANDS for words in re.findall(r"(?:^|\s)make ([^|&]*)", c.text)})
)
def test_make_can_resolve_each_documented_target(words: str) -> None:
    command = ["bash", "-c", f"MAKEFLAGS= make --dry-run {words}"]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 0 and completed.stdout, completed.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_explains_once_how_to_run_commands_in_a_clone(document: Path) -> None:
    text = document.read_text()
    ours = [c for c in commands(document) if re.match(r"(\w+=\S+ )?(mnemosyne|python) ", c.text)]
    assert text.count(ON_THE_PATH) == bool(ours)
    if ours:
        assert text[: text.index(ON_THE_PATH)].count("\n") < ours[0].line
    assert re.findall(r"(?<![-\w.]/)\.venv/bin/(?:mnemosyne|python)\b", text) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_shows_how_to_create_an_api_key_before_a_command_that_uses_one(document: Path) -> None:
    text = document.read_text()
    (first, *_) = [c.line for c in commands(document) if "mnk_…" in c.text] or [0]
    before = "\n".join(text.splitlines()[: max(0, first - 1)])
    assert not first or re.search(r"make key |mnemosyne keys create|#use-an-api-key", before)
