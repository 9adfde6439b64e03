"""`mnemosyne`: the command and its errors. Exit codes: 0 success, 1 failure, 2 wrong usage."""

import errno
import fcntl
import logging
import os
import sys
from types import FrameType

import click

import mnemosyne
from mnemosyne.cli.command_group import FullHelpGroup, ImportedCommands
from mnemosyne.cli.terminal import escape_unencodable, is_disk_full, on_termination, open_standard_streams, say
from mnemosyne.errors import MnemosyneError
from mnemosyne.extras import extra_of, how_to_install

_COMMANDS = ImportedCommands({
    "access": "access:access", "audit": "access:audit", "change-feed": "changes:change_feed",
    "changes": "changes:changes", "dead-letters": "dead_letters:dead_letters", "dev": "dev:dev",
    "doctor": "doctor:doctor", "export": "export:export", "forget": "forget:forget", "grants": "grants:grants",
    "holds": "holds:holds", "import": "import_:import_", "keys": "keys:keys", "lockouts": "lockouts:lockouts",
    "migrate": "migrate:migrate", "outcomes": "outcomes:outcomes", "quota": "quota:quota", "receipt": "receipt:receipt",
    "redrive": "redrive:redrive", "reembed": "reembed:reembed", "remember": "remember:remember",
    "retention": "retention:retention", "search": "remember:search", "stdio": "stdio:stdio",
})  # fmt: skip


@click.group(cls=FullHelpGroup, commands=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(mnemosyne.__version__, prog_name="mnemosyne")
def cli() -> None:
    """Mnemosyne: a remote semantic memory for AI agents."""


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    """Raise SystemExit, so that all clean-up code runs, such as stopping a database that the command has started."""
    sys.exit(128 + number)


def _how_to_begin_with_a_hyphen(error: click.ClickException) -> str:
    """Return advice if the error can come from a text or file name that begins with a hyphen; else an empty text."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return ""
    names = [parameter.human_readable_name for parameter in error.ctx.command.params if parameter.nargs == -1]
    return "".join(f" If it belongs to the {name}, write `--` before the {name}." for name in names)


def main() -> None:
    """Run the command. A MnemosyneError is printed as one line on standard error."""
    on_termination(_exit_on_signal)
    open_standard_streams()
    escape_unencodable()
    # Without a log handler, `logging` would print the names of warning events to the terminal, without their fields.
    logging.getLogger("mnemosyne").addHandler(logging.NullHandler())
    try:
        code = cli(prog_name="mnemosyne", standalone_mode=False)
    except MnemosyneError as exc:
        say(f"mnemosyne: {exc}", err=True)
        sys.exit(1)
    except ModuleNotFoundError as exc:
        extra = extra_of(exc.name or "")
        if extra is None:
            raise
        package = (exc.name or "").partition(".")[0]
        say(
            f"mnemosyne: this needs the package {package}, which the extra `{extra}` installs: "
            f"{how_to_install(extra, extra)}",
            err=True,
        )
        sys.exit(1)
    except click.exceptions.NoArgsIsHelpError as exc:
        say(exc.format_message(), err=True)
        sys.exit(exc.exit_code)
    except (
        click.ClickException
    ) as exc:  # printed by `say`, because the message may contain control characters of a file name
        if isinstance(exc, click.UsageError) and exc.ctx is not None:
            say(f"{exc.ctx.get_usage()}\nTry '{exc.ctx.command_path} --help' for help.\n", err=True)
        say(f"Error: {exc.format_message()}{_how_to_begin_with_a_hyphen(exc)}", err=True)
        sys.exit(exc.exit_code)
    except OSError as exc:
        is_full = is_disk_full(exc)
        is_output = exc.errno == errno.EBADF and fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        if not (is_full or exc.filename or is_output):
            raise
        where = f" for {exc.filename}" if exc.filename else " for standard output" if is_output else ""
        advice = ": free some space, then run the command again" if is_full else ""
        say(f"mnemosyne: {exc.strerror}{where}{advice}", err=True)
        sys.exit(1)
    except click.Abort:
        say("Aborted!", err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)
