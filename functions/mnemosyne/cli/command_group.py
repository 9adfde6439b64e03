"""Groups of commands whose modules are imported on first use, and whose `--help` does not shorten descriptions."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module

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


class ImportedCommands(MutableMapping[str, click.Command]):
    """The commands of a group.

    A command's module is imported when the command is first used, because importing all modules takes half a second.

    `places` has the module of each command, and the command's name in the module.
    """

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        self._entries: dict[str, click.Command | tuple[str, str]] = {**places}

    def __getitem__(self, name: str) -> click.Command:
        entry = self._entries[name]
        if isinstance(entry, tuple):
            module, attribute = entry
            self._entries[name] = entry = getattr(import_module(module), attribute)
        return entry

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._entries[name] = command

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
