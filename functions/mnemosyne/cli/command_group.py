"""Groups of click commands. A command's module is imported when the command is first used.

The `--help` of a group does not shorten the descriptions of the commands.
"""

from collections import UserDict
from pkgutil import resolve_name
from typing import Any

import click

LONGEST = 1_000
"""Maximum number of characters of a description in `--help`. All descriptions are shorter, so click shortens none."""


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

    Importing all modules takes half a second. The dictionary therefore stores, for each command, the name of a module
    in this package and the name of the variable in this module that holds the command, as `module:variable`.
    """

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = resolve_name(f"mnemosyne.cli.{self.data[name]}")
        return command
