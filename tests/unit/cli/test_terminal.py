"""Output and signals of a command. Control characters in stored text or file names have no effect on a terminal."""

import errno
import io
import json
import re
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest
from click.testing import CliRunner

import mnemosyne.cli
from mnemosyne.app.operations.access import CreateKey, RevokeKey
from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import export, keys, main
from mnemosyne.cli.terminal import column, lines_of, on_termination, say
from mnemosyne.errors import InvalidRequest
from tests.forks import REAL

ATTACK = "\x1b[2J\u202e"


Run = Callable[..., tuple[object, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Function that runs `mnemosyne` in this process, and returns its exit code and what it has printed."""
    monkeypatch.setattr(main, "on_termination", lambda leave: None)

    def run(*arguments: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["mnemosyne", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.main()
        return ended.value.code, *capsys.readouterr()

    return run


def test_commands_print_only_with_the_function_that_escapes_control_characters() -> None:
    sources = [path for path in Path(mnemosyne.cli.__file__).parent.rglob("*.py") if path.name != "terminal.py"]
    pattern = r"click\.(?:secho|echo)|(?<![.\w])print\("
    assert [path.name for path in sources if re.search(pattern, path.read_text())] == []


@pytest.mark.parametrize(
    ("text", "spaces"),
    [
        ("team", 6), ("田中家", 4), ("ｱﾊﾟｰﾄ", 5), ("ＡＢ", 6), ("한국", 6), ("मेरा", 7), ("น้ำ", 8),
        (unicodedata.normalize("NFD", "Zoë"), 7), ("👍", 8), ("می\u200cخواهم", 3), ("a\x1bb", 0),
        ("a name of many characters", 0),
    ],
)  # fmt: skip
def test_a_column_has_its_width_in_every_script(text: str, spaces: int) -> None:
    assert column(text, 10) == lines_of(text) + " " * spaces


TEXT = "Größe – 東京 😀"


@pytest.mark.parametrize(
    ("encoding", "printed"),
    [
        ("utf-8", TEXT),
        ("latin-1", "Größe <U+2013> <U+6771><U+4EAC> <U+1F600>"),
        ("cp1252", "Größe – <U+6771><U+4EAC> <U+1F600>"),
        ("koi8-r", "Gr<U+00F6><U+00DF>e <U+2013> <U+6771><U+4EAC> <U+1F600>"),
        ("shift-jis", "Gr<U+00F6><U+00DF>e <U+2013> 東京 <U+1F600>"),
    ],
)
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_characters_that_a_terminal_lacks_are_printed_as_code_points(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, encoding: str, printed: str
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(main, "cli", lambda **_: say(TEXT, err=name == "stderr"))
    assert run()[0] == 0
    stream.flush()
    assert stream.buffer.getvalue().decode(encoding) == f"{printed}\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "koi8-r", "utf-16", "utf-8"])
def test_an_export_to_a_file_or_pipe_is_in_utf_8(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(export, "memory_system", lambda **_: nullcontext())
    monkeypatch.setattr(export, "pages", lambda system, operation: [{"memories": [{"content": TEXT}], "lines": []}])
    export._export("jsonl", None, "default", {})
    assert [json.loads(line) for line in stream.buffer.getvalue().decode().splitlines()] == [{"content": TEXT}]


@pytest.mark.parametrize("arguments", [["import", "{}"], ["{}"], ["export", "--{}"], ["doctor", "{}"]])
def test_a_usage_error_escapes_control_characters_of_the_argument(run: Run, arguments: list[str]) -> None:
    """A file name can become an argument, because the shell expands patterns: `mnemosyne import *`."""
    code, _, printed = run(*(argument.format(ATTACK) for argument in arguments))
    assert (code, re.findall("[\x1b\u202e]", printed)) == (2, [])


def test_an_error_escapes_control_characters_of_the_value(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise InvalidRequest(f"{ATTACK} is no\nformat")

    monkeypatch.setattr(main, "cli", fail)
    assert run() == (1, "", "mnemosyne: <U+001B>[2J<U+202E> is no\nformat\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["outcomes", "--data-dir", "a" * 300], "File name too long"),
        (["outcomes", "--data-dir", "~nobody-here/x"], "~nobody-here/x has no home directory"),
        (["search", "tea", "--url", "http://[::1"], "http://[::1 cannot be reached"),
        (["search", "tea", "--url", "http://127.0.0.1:port/mcp"], "http://127.0.0.1:port/mcp cannot be reached"),
    ],
)
def test_a_target_that_cannot_exist_is_one_line_and_no_traceback(run: Run, arguments: list[str], problem: str) -> None:
    code, _, printed = run(*arguments)
    (error,) = printed.splitlines()
    assert code == 1
    assert error.startswith("mnemosyne: ") and problem in error


def test_the_error_about_a_deleted_working_directory_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    problem = "the working directory no longer exists: change to another, or name data by its full path"
    assert run("outcomes", "--data-dir", "data") == (1, "", f"mnemosyne: {problem}\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["remember", "-5 degrees"], "'-5'. If it belongs to the TEXT, write `--` before the TEXT."),
        (["search", "-5"], "'-5'. If it belongs to the QUERY, write `--` before the QUERY."),
        (["doctor", "--everything"], "'--everything'."),
    ],
)
def test_a_text_that_was_read_as_an_option_gets_advice(run: Run, arguments: list[str], error: str) -> None:
    code, _, printed = run(*arguments)
    assert code == 2
    assert printed.endswith(f"Error: No such option {error}\n")


@pytest.mark.parametrize("arguments", [[], ["keys"], ["dead-letters"], ["forget", "--help"]])
def test_a_group_without_a_command_prints_its_help_once_and_no_error(run: Run, arguments: list[str]) -> None:
    code, *streams = run(*arguments)
    printed = "".join(streams)
    assert code == (0 if "--help" in arguments else 2)
    assert printed.startswith("Usage: ") and printed.count("Usage: ") == 1 and "Error: " not in printed


def test_no_file_gets_the_descriptor_of_a_closed_standard_stream(tmp_path: Path) -> None:
    program = (
        "import os, sys; from mnemosyne.cli.terminal import open_standard_streams; open_standard_streams(); "
        "opened = open('file', 'w'); os.write(opened.fileno(), repr((opened.fileno() > 2, sys.stdin.read())).encode())"
    )
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", program]
    subprocess.run(closed, check=True, cwd=tmp_path)
    assert (tmp_path / "file").read_text() == "(True, '')"


@pytest.mark.parametrize(("streams", "code"), [(">&-", 1), ("<&- >&-", 1), (">&- 2>&-", 0)])
def test_a_command_whose_standard_output_alone_is_closed_fails(streams: str, code: int) -> None:
    closed: list[str | Path] = ["sh", "-c", f'exec "$@" {streams}', "sh", REAL, "--version"]
    ended = subprocess.run(closed, capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert ended.stderr == ("mnemosyne: Bad file descriptor for standard output\n" if code else "")


def test_a_key_whose_token_cannot_be_printed_is_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Operation] = []
    system = SimpleNamespace(run=ran.append)

    def fail(text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(keys, "owners_system", lambda **_: nullcontext(system))
    monkeypatch.setattr(keys, "say", fail)
    ended = CliRunner().invoke(main.cli, ["keys", "create", "--name", "me", "--data-dir", "here"])
    created, revoked = ran
    assert isinstance(created, CreateKey) and revoked == RevokeKey(id=created.id)
    assert f"(No space left on device), so the key {created.id} is revoked" in str(ended.exception)


def test_the_terminal_shows_no_names_of_logged_events() -> None:
    program = """
from mnemosyne.cli import main
from mnemosyne.observability import EventLog
main.cli = lambda **_: EventLog("mnemosyne.delivery").warning("delivery_postponed")
main.main()
"""
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert completed.stderr == ""


def _handler(number: int, frame: FrameType | None) -> None:
    """Signal handler that does nothing. Tests check whether it is installed."""


@pytest.fixture
def _restored() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup may have set it to SIG_IGN
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_restored")
def test_a_closed_terminal_ends_a_command() -> None:
    on_termination(_handler)
    assert signal.getsignal(signal.SIGHUP) is signal.getsignal(signal.SIGTERM) is _handler


@pytest.mark.usefixtures("_restored")
def test_a_hangup_signal_ignored_by_nohup_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    on_termination(_handler)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is _handler
