"""Groups of click commands. A command's module is imported when the command is first used.

The `--help` of a group does not shorten the descriptions of the commands.
"""

from collections import UserDict
from pkgutil import resolve_name
from typing import Any

import click

LONGEST = 1_000
"""Maximum characters of a command's description in the `--help` of its group. All descriptions are shorter, so click
cuts none of them."""


class FullHelpGroup(click.Group):
    """A group whose `--help` shows the whole first sentence of each command's help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command's name with the first sentence of its help."""
        names = self.list_commands(ctx)
        rows = [(name, self.commands[name].get_short_help_str(LONGEST)) for name in names]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class ImportedCommands(UserDict[str, Any]):
    """The commands of a group, by name. A command's module is imported when the command is first used.

    Importing the modules of all commands takes half a second. Therefore the dictionary stores each command as a text
    `module:variable`: the name of a module in this package, and of the variable in it that has the command.
    """

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = resolve_name(f"mnemosyne.cli.{self.data[name]}")
        return command
