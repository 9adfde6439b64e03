"""Text of others on a terminal: shown, and never obeyed."""

from mnemosyne.domain.visible import escaped


def plain(text: object) -> str:
    """Return the text on one line, with what a terminal would obey or hide written out as its code point."""
    return escaped(str(text))
