"""A click group that does not shorten the commands' descriptions in `--help`."""

import click

LONGEST = 1_000
"""Maximum characters of a description: more than any has, so that click shortens none."""


class FullHelpGroup(click.Group):
    """A group whose `--help` shows the whole first sentence of each command's help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with the first sentence of its help."""
        names = self.list_commands(ctx)
        rows = [(name, self.commands[name].get_short_help_str(LONGEST)) for name in names]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
