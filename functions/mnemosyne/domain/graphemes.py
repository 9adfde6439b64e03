"""Cut texts between graphemes: letters with their marks, and emoji with their modifiers. Pure.

The rules are some of the rules of https://www.unicode.org/reports/tr29/. A cut within a grapheme would change the text:
the first part would end with a letter that has lost its mark, and the rest would begin with this mark.
"""

import re
import unicodedata

# Characters that continue a grapheme and are not combining marks: joiners, skin tones, tags of flags, the vowel AM of
# Thai and Lao, half-width voicing marks, and the vowels and final consonants of decomposed Korean syllables.
_CONTINUES = re.compile("[\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\u0e33\u0eb3\uff9e\uff9f\u1160-\u11ff]")
_PICTOGRAPH = re.compile("[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]")
_REGIONAL = re.compile("[\U0001f1e6-\U0001f1ff]")
LONGEST = 200
"""Maximum characters of a grapheme. This is enough, because a text has at most 100 combining marks in a row."""


def is_mark(character: str) -> bool:
    """Whether the character is a combining mark, such as an accent, a vowel sign or a tone mark."""
    return unicodedata.category(character)[0] == "M"


def grapheme_start(text: str, at: int) -> int:
    """Return the index of the first character of the grapheme to which the character at the index `at` belongs."""
    start = at
    while 0 < start < len(text) and at - start < LONGEST and _continues(text, start):
        start -= 1
    return start


def beginning(text: str, characters: int) -> str:
    """Return the longest beginning of a text that has at most `characters` characters and ends with a whole grapheme.

    If the first grapheme is longer than that, it is cut.
    """
    return text[: grapheme_start(text, characters) or characters]


def without_leading_marks(text: str) -> str:
    """Remove the marks at the beginning of a text. They belong to a letter that was cut off before the text."""
    start = next((at for at, character in enumerate(text) if not is_mark(character)), 0)
    return text[start:]


def _continues(text: str, at: int) -> bool:
    """Whether the character at this index belongs to the same grapheme as the character before it."""
    character, before = text[at], text[at - 1]
    if character.isascii():
        return False
    if is_mark(character) or _CONTINUES.match(character):
        return not before.isspace()
    if before == "\u200d":
        return bool(_PICTOGRAPH.match(character))
    if not _REGIONAL.match(character):
        return False
    start = at
    while start and _REGIONAL.match(text[start - 1]):
        start -= 1
    return (at - start) % 2 == 1  # two of these letters form a flag
