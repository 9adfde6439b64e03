"""A group whose `--help` shows the first sentence of each command whole."""

import click

LONGEST = 1_000
"""Characters of a sentence, so that click shortens none."""


class WholeSentences(click.Group):
    """A group of commands that does not shorten their descriptions."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with the first sentence of its help."""
        names = self.list_commands(ctx)
        rows = [(name, self.commands[name].get_short_help_str(LONGEST)) for name in names]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
