"""`mnemosyne`: the command's entry point. Exit codes: 0 success, 1 failure, 2 wrong usage."""

import re
import sys
from importlib.metadata import requires
from types import FrameType

import click

import mnemosyne
from mnemosyne.cli.access import access, audit
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.dead_letters import dead_letters
from mnemosyne.cli.dev import dev
from mnemosyne.cli.doctor import doctor
from mnemosyne.cli.export import export
from mnemosyne.cli.grants import grants
from mnemosyne.cli.import_ import import_
from mnemosyne.cli.keys import keys
from mnemosyne.cli.lockouts import lockouts
from mnemosyne.cli.migrate import migrate
from mnemosyne.cli.outcomes import outcomes
from mnemosyne.cli.quota import quota
from mnemosyne.cli.redrive import redrive
from mnemosyne.cli.reembed import reembed
from mnemosyne.cli.remember import remember, search
from mnemosyne.cli.retention import retention
from mnemosyne.cli.stdio import stdio
from mnemosyne.cli.terminal import say
from mnemosyne.cli.termination import on_termination
from mnemosyne.errors import MnemosyneError

DISTRIBUTION = "mnemosyne-serverless"


@click.group(cls=FullHelpGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(mnemosyne.__version__, prog_name="mnemosyne")
def cli() -> None:
    """Mnemosyne: a remote semantic memory for AI agents."""


cli.add_command(access)
cli.add_command(audit)
cli.add_command(dead_letters)
cli.add_command(dev)
cli.add_command(doctor)
cli.add_command(export)
cli.add_command(grants)
cli.add_command(lockouts)
cli.add_command(import_)
cli.add_command(keys)
cli.add_command(migrate)
cli.add_command(outcomes)
cli.add_command(quota)
cli.add_command(redrive)
cli.add_command(reembed)
cli.add_command(remember)
cli.add_command(retention)
cli.add_command(search)
cli.add_command(stdio)


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    """Exit by SystemExit, so that all clean-up runs: a database started for the command must be stopped."""
    sys.exit(128 + number)


def main() -> None:
    """Run the command. A MnemosyneError is printed as one line on standard error."""
    on_termination(_exit_on_signal)
    try:
        code = cli(prog_name="mnemosyne", standalone_mode=False)
    except MnemosyneError as exc:
        say(f"mnemosyne: {exc}", err=True)
        sys.exit(1)
    except ModuleNotFoundError as exc:
        package = (exc.name or "").partition(".")[0]
        if package not in _local_packages():
            raise
        say(
            f"mnemosyne: this needs the package {package}, which the extra `local` installs: "
            f"pip install '{DISTRIBUTION}[local]', or the wheel's file name followed by [local]",
            err=True,
        )
        sys.exit(1)
    except (
        click.ClickException
    ) as exc:  # by `say`, not by click: the message may quote a file name with control characters
        if isinstance(exc, click.UsageError) and exc.ctx is not None:
            say(f"{exc.ctx.get_usage()}\nTry '{exc.ctx.command_path} --help' for help.\n", err=True)
        say(f"Error: {exc.format_message()}", err=True)
        sys.exit(exc.exit_code)
    except click.Abort:
        say("Aborted!", err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _local_packages() -> set[str]:
    """Return the import names of the packages in the extra `local`."""
    requirements = (line for line in requires(DISTRIBUTION) or () if re.search(r"extra == ['\"]local['\"]", line))
    return {re.split(r"[^\w-]", line, maxsplit=1)[0].replace("-", "_") for line in requirements}
