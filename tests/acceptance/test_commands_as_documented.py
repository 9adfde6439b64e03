"""Run the commands of each document in order, in a terminal while `mnemosyne dev` runs."""

import gzip
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from mnemosyne.cli.main import cli
from tests.dev import COMMAND, DevServer
from tests.documented_commands import DOCUMENTS, ROOT, blocks, commands
from tests.publisher import Publisher
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

TYPED = [document for document in DOCUMENTS if any(command.is_run for command in commands(document))]
BY_DAY = ("README.md",)
"""The document whose commands are run by day. By day, the commands of the other documents are only parsed."""
FILES = {
    "notes/tea.md": "---\ntags: [drink]\n---\nAda prefers green tea.\n",
    "export.jsonl": '{"content": "The kiln is fired on Thursdays.", "timestamp": "2026-05-20"}\n',
    "memories.jsonl": '{"content": "The heron nests by the weir.", "timestamp": "2026-05-20"}\n',
}
"""Files that the documented commands read. A reader of the documents has such files."""


@dataclass(frozen=True)
class Terminal:
    """A terminal in a clone, while `mnemosyne dev` serves the user's data directory."""

    publisher: Publisher
    values: dict[str, str]
    """Replacements for placeholders in documented commands, by pattern."""

    def type(self, lines: list[str], directory: Path) -> str:
        """Run the lines in one shell that ends at the first failure; return their output."""
        for pattern, value in self.values.items():
            lines = [re.sub(pattern, value, line) for line in lines]
        # Answer "yes" to each question whether to delete something.
        completed = subprocess.run(
            ["bash", "-e", "-x", "-c", "\n".join(lines)],
            cwd=directory,
            env=self._environment(),
            input="y\n" * 10,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert completed.returncode == 0, completed.stdout + completed.stderr
        return completed.stdout

    def _environment(self) -> dict[str, str]:
        """Return the variables of a new terminal, whose PATH does not contain the clone."""
        ours = ("MNEMOSYNE_", "PYTHON", "VIRTUAL_ENV")
        inherited = {name: value for name, value in self.publisher.environment.items() if not name.startswith(ours)}
        return inherited | {"PATH": f"{sys.base_prefix}/bin:/usr/bin:/bin"}


@pytest.fixture(scope="module")
def terminal(emulator: str) -> Iterator[Terminal]:
    with tempfile.TemporaryDirectory(prefix="mnemosyne-dev-") as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PUBSUB_EMULATOR_HOST", emulator)
        patch.setenv("XDG_DATA_HOME", home)
        (Path(home) / "data").mkdir()
        (Path(home) / "mnemosyne").symlink_to("data")  # the user's data directory is the one of the server
        server = DevServer(Path(home))
        try:
            server.start()
            publisher = Publisher(server, emulator)
            yield Terminal(publisher, _values(publisher, emulator))
        finally:
            server.close()


def _values(publisher: Publisher, emulator: str) -> dict[str, str]:
    message_id = publisher.publish(b"no JSON", namespace="default")
    wait_until(lambda: message_id in publisher.run("dead-letters", "list"), "the message is a dead letter")
    (key,) = publisher.rows("keys", "create", "--name", "reader")
    url = publisher.dev.url
    return {
        r"127\.0\.0\.1:8085": emulator,
        r"mnk_…": key["token"],
        r'https://…/mcp|"\$\(terraform -chdir=terraform output -raw mcp_url\)"': url,
        r"^mnemosyne (remember|search) .*$": rf"\g<0> --url {url}",  # another program may use port 8080
        r"--data-dir (DIR|NEW)\b": f"--data-dir {publisher.dev.directory}/data",
        r"\b8412\b": message_id,
    }


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A directory with the files of a clone that the commands need, and a reader's own files."""
    for name in ("docs", "infra"):
        (tmp_path / name).symlink_to(ROOT / name)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for link in (*Path(sys.prefix).iterdir(), *(Path(sys.prefix) / "bin").iterdir()):
        if link.name not in ("bin", "mnemosyne"):
            (tmp_path / ".venv" / link.relative_to(sys.prefix)).symlink_to(link)
    (programs / "mnemosyne").symlink_to(COMMAND)
    (tmp_path / "terraform").mkdir()
    shutil.copy(ROOT / "terraform" / "terraform.tfvars.example", tmp_path / "terraform")
    (tmp_path / "notes").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "log.txt.gz").write_bytes(gzip.compress(b"The oolong is in the red tin.\n"))
    return tmp_path


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(path, id=str(path.relative_to(ROOT)), marks=[] if path.name in BY_DAY else [pytest.mark.nightly])
        for path in TYPED
    ],
)
def test_each_command_succeeds_and_prints_the_documented_memories(
    terminal: Terminal, clone: Path, document: Path
) -> None:
    documented = commands(document)
    # Some documents have the line that sets PATH in a sentence and not in a code block. Then it is run first.
    path = [] if any(c.text.startswith("export PATH=") for c in documented) else ['export PATH="$PWD/.venv/bin:$PATH"']
    printed = terminal.type([*path, *(c.text for c in documented if c.is_run)], clone).splitlines()
    assert [line for line in _documented_memories(document) if line not in printed] == []


def _documented_memories(document: Path) -> list[str]:
    """Return the contents of memories in the outputs that a document shows."""
    lines = [line for _, language, block in blocks(document.read_text()) if language == "text" for line in block]
    return [line for line in lines if line.startswith("    ") and not line.startswith("    (replaces ")]


def test_each_documented_command_can_be_parsed() -> None:
    typed = [command.text for document in TYPED for command in commands(document) if command.is_run]
    parsed = [line for text in typed for line in re.findall(r"(?:^|; |\S+=\S+ )mnemosyne ([^|<>&;]*)", text)]
    for line in parsed:
        command: click.Command = cli
        words = shlex.split(line)
        while words and isinstance(command, click.Group):
            command = command.commands[words.pop(0)]
        try:
            command.make_context(line, words)
        except click.BadParameter as exc:  # a value that is a placeholder
            assert not isinstance(exc, click.MissingParameter), line
    assert len(parsed) > 40


def test_the_rows_that_the_guide_publishes_are_stored(terminal: Terminal, clone: Path) -> None:
    lines = [c.text for c in commands(ROOT / "docs" / "ingestion.md") if re.match(r"export |echo |python ", c.text)]
    assert len(lines) == 5
    terminal.type(lines, clone)

    def states() -> list[str]:
        return [row["state"] for row in terminal.publisher.rows("outcomes", "--source", "rows.jsonl")]

    # The outcome is `duplicate` if a command of README.md has stored the same content before.
    wait_until(lambda: states() in (["stored"], ["duplicate"]), "the row is stored")


def test_a_command_that_fails_in_the_middle_of_a_block_fails_the_test(terminal: Terminal, clone: Path) -> None:
    with pytest.raises(AssertionError, match="No such command"):
        terminal.type(['export PATH="$PWD/.venv/bin:$PATH"', "mnemosyne remind tea", "echo done"], clone)
