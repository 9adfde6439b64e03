"""Print untrusted text to a terminal without control characters, and recognise the signals and errors of a command."""

import atexit
import codecs
import errno
import io
import os
import re
import signal
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

from mnemosyne.domain.visible import escape
from mnemosyne.errors import InvalidRequest, ServiceError

INTERRUPTIONS = (KeyboardInterrupt, SystemExit)
"""Exceptions of Ctrl-C and of the signals that end a command."""
FAULTS = (*INTERRUPTIONS, ServiceError)
"""Exceptions that can end a command in the middle of its work: interruptions, and failures of a service. All other
errors of Mnemosyne mean that a request was refused."""
_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded|wrote only \d+ of \d+ bytes")
"""Messages of programs about a full disk. The last one is PostgreSQL's message if it could write only a part of the
data."""
_CODE_POINTS = "mnemosyne.code_points"
"""Name of the error handler that `escape_unencodable` registers."""


def plain(text: object) -> str:
    """Return the text on one line, with control and invisible characters escaped as code points."""
    return escape(str(text))


def column(text: object, width: int) -> str:
    """Return the text as `plain` does, and append spaces until it is `width` columns wide on a terminal.

    Chinese, Japanese and Korean characters and emoji are two columns wide. Combining marks and joiners have no width.
    """
    line = plain(text)
    return line + " " * (width - sum(map(_width, line)))


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def lines_of(text: object) -> str:
    """Return the text with its line breaks, and with the control characters of each line escaped by `plain`."""
    return "\n".join(map(plain, str(text).split("\n")))


def say(text: object, *, err: bool = False) -> None:
    """Print a text with its line breaks, and with its control characters escaped.

    Every command prints with this function, so that callers need not escape names, causes or contents.
    """
    click.echo(lines_of(text), err=err)


@contextmanager
def explained(note: str, on: type[BaseException] | tuple[type[BaseException], ...] = BaseException) -> Iterator[None]:
    """Print a note if an error, Ctrl-C or a signal ends the `with` block.

    The note says what was changed until then, and how to continue. `on` has the exceptions for which it is printed.
    """
    try:
        yield
    except on:
        say(f"Interrupted: {note}", err=True)
        raise


def ask_to_confirm(question: str, otherwise: str) -> None:
    """Ask a question, and end the command if the answer is no.

    Raises InvalidRequest if standard input has no answer, as in a script. The error names the options in `otherwise`,
    with which the command does not ask.
    """
    try:
        click.confirm(question, abort=True)
    except click.Abort as exc:
        if not isinstance(exc.__context__, EOFError):
            raise
        say("", err=True)
        raise InvalidRequest(f"standard input has no answer, so nothing was changed: give {otherwise}") from exc


def open_standard_streams() -> None:
    """Open the null device for each standard stream that the caller has closed (`<&-`).

    Otherwise Python would have no object for this stream, and the next file that is opened would get the stream's
    descriptor. `mnemosyne stdio`, for example, would read its client's messages from its own log.

    If standard output is closed and standard error is open, the null device is opened only for reading. Writing to
    standard output then fails, so that a command such as `export` does not report that it has written something. If
    both are closed, the caller wants no output, as from a daemon, and writing succeeds.
    """
    is_daemon = sys.stderr is None
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDONLY if name == "stdout" and not is_daemon else os.O_RDWR)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
            if name == "stdout" and not is_daemon:  # without this, flushing standard output at exit would fail
                atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 1))
            setattr(sys, name, os.fdopen(descriptor, "r" if name == "stdin" else "w", encoding="utf-8"))


def escape_unencodable() -> None:
    """Make standard output and standard error print the code points of characters that cannot be encoded.

    Otherwise a character that the encoding lacks, such as an emoji in ISO 8859-1, would end the command with an error.
    """
    codecs.register_error(_CODE_POINTS, _code_points)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_CODE_POINTS)


def _code_points(error: UnicodeError) -> tuple[str, int]:
    """Return the code points of the characters that cannot be encoded, as text. This is an error handler for codecs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(f"<U+{ord(character):04X}>" for character in error.object[error.start : error.end]), error.end


def on_termination(handler: Callable[[int, FrameType | None], None]) -> None:
    """Call the handler on SIGTERM and, when the terminal is closed, on SIGHUP.

    A signal that the parent process has set to be ignored stays ignored, for example SIGHUP under `nohup`.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def is_disk_full(error: BaseException) -> bool:
    """Whether an error was caused by a full disk or a full disk quota.

    The cause is found in the error number or, if the error quotes the message of another program, in this message.
    """
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or bool(_DISK_FULL.search(str(error)))
