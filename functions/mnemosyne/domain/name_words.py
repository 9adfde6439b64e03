"""Compare words without regard to accents and case, for example the names of people in a text and a query."""

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache

# The accents that a comparison of words ignores. The SQL function `without_accents` removes the same accents. All other
# marks, such as vowel signs of Indian scripts, count as letters.
ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0655\u0670]")
_STROKES = str.maketrans("łøđðħŧıς", "loddhtiσ")
_ASCII_WORD = re.compile(r"\w+", re.ASCII)


def names_in(query: str, names: Iterable[str]) -> Collection[str]:
    """Return the names that have a word in common with the query."""
    query_words = name_words(query)
    return {name for name in names if not query_words.isdisjoint(name_words(name))}


def name_words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case without accents, to compare names in any script."""
    if text.isascii():
        return frozenset(_ASCII_WORD.findall(text.lower()))
    plain = ACCENTS.sub("", unicodedata.normalize("NFKD", text)).casefold().translate(_STROKES)
    return frozenset(split_words(unicodedata.normalize("NFC", plain)))


def split_words(text: str) -> list[str]:
    """Return the words of a text. A combining mark is a part of its word, unlike in regular expressions of Python."""
    return "".join(character if is_in_word(character) else " " for character in text).split()


@lru_cache(maxsize=10_000)
def base_letter(character: str) -> str:
    """Return a character in lower case without its accent, as one character.

    Marks that are not accents, such as the Japanese dakuten, are kept. An accent alone is returned unchanged.
    """
    plain = ACCENTS.sub("", unicodedata.normalize("NFKD", character))
    letter = unicodedata.normalize("NFC", plain) or character
    return letter.lower().translate(_STROKES)[0]


def is_in_word(character: str) -> bool:
    """Whether the character is a letter, a digit, an underscore or a combining mark."""
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")
