"""Previews: the beginning of a content on one line, for lists of memories. Pure."""

import re

from mnemosyne.domain import graphemes
from mnemosyne.domain.chronicle import TITLE_LENGTH
from mnemosyne.domain.name_words import is_in_word
from mnemosyne.domain.visible import one_line

PREVIEW_CHARACTERS = 200
READ_CHARACTERS = 1_000
"""Number of characters of a content that are read to make a preview. More characters are read than shown, because a
preview leaves out titles, marks and white space."""
_FRAME = re.compile(r"\[\[\[CHRONICLE_(?:START|END)\]\]\]|^[ \t]*(?:TS|TITLE|TAGS):.*$|^[ \t]*BODY:", re.MULTILINE)
_AFTER_TITLE = " .:;,-–—：；，。、،؛"
"""Characters that may separate a title from the rest of a content. A preview leaves out the title and these characters
after it."""
_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+|>[ \t]?|```.*$)", re.MULTILINE)


def is_given(title: str, beginning: str) -> bool:
    """Whether the publisher chose the title, as a field or in a `TITLE:` line of the content.

    False if the title is just the beginning of the content.
    """
    return title.strip() != one_line(beginning[:TITLE_LENGTH]).strip()


def label(title: str, beginning: str) -> str:
    """Return the title if it was chosen (see `is_given`), else the beginning of the content, cut after a whole word."""
    return title if is_given(title, beginning) else preview(title, beginning, TITLE_LENGTH)


def preview(title: str, beginning: str, characters: int = PREVIEW_CHARACTERS) -> str:
    """Return the beginning of a content as one line, of at most `characters` characters plus an ellipsis.

    `beginning` is the content, or its first READ_CHARACTERS. The preview leaves out a chosen title (see `is_given`),
    header lines such as `TITLE: …`, and Markdown marks at the beginning of lines. The line ends with a whole word, if
    the text has spaces.
    """
    text = " ".join(one_line(_MARKS.sub("", _FRAME.sub("", beginning))).split())
    rest = text[len(title) :]
    begins_with_title = text[: len(title)].casefold() == title.casefold() and not is_in_word(rest[:1] or " ")
    if is_given(title, beginning) and begins_with_title:
        text = rest.lstrip(_AFTER_TITLE) or text
    if len(text) <= characters and len(beginning) < READ_CHARACTERS:
        return text
    if len(text) <= characters:
        return f"{text}…"
    cut = text[: characters + 1]
    end = cut.rfind(" ", characters // 2)
    return f"{cut[:end] if end > 0 else graphemes.beginning(text, characters)}…"
