"""Text of others on a terminal: shown, and never obeyed."""

import click

from mnemosyne.domain.visible import escaped


def plain(text: object) -> str:
    """Return the text on one line, with what a terminal would obey or hide written out as its code point."""
    return escaped(str(text))


def lines_of(text: object) -> str:
    """Return the text with its line ends, and each line as `plain` has it."""
    return "\n".join(map(plain, str(text).split("\n")))


def say(text: object, *, err: bool = False) -> None:
    """Print a text with its line ends. Whatever is in it, the terminal obeys nothing.

    Every command prints by this function, so that no name, cause or content has to be escaped by itself.
    """
    click.echo(lines_of(text), err=err)
