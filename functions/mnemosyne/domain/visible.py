"""Find invisible characters in texts that are displayed on one line. Pure.

Letters, marks, numbers, punctuation, symbols and spaces are visible, except characters with Unicode's property
Default_Ignorable_Code_Point. All other characters are invisible. As an exception, joiners, variation selectors and
tags count as visible next to characters whose appearance they change.
"""

import re
import unicodedata
from collections.abc import Callable

_VISIBLE_CATEGORIES = frozenset("LMNPS")
# The characters with Unicode's property Default_Ignorable_Code_Point, from DerivedCoreProperties.txt:
# https://www.unicode.org/reports/tr44/.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Symbols and letters that have no visible shape: the empty Braille cell, a null note head, a filler.
_BLANK = re.compile("[\u2800\U0001d159\U00016fe4]")
INVISIBLE = f"(?:{_IGNORABLE.pattern}|{_BLANK.pattern})"
"""Pattern of characters that are invisible on their own: characters with Default_Ignorable_Code_Point, and characters
without a visible shape. Control characters are not included."""
_NOT_PLAIN = re.compile(INVISIBLE)
# Format characters that are visible: signs that span a number (Unicode's property Prepended_Concatenation_Mark,
# https://www.unicode.org/reports/tr44/), and the joiners of hieroglyphs.
_SHAPED_FORMAT = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f]")
_VIRAMA = 9
_JOINING = re.compile(
    "[\u0620-\u06ff\u0710-\u077f\u07ca-\u07ea\u0840-\u08ff\u1807\u1820-\u18aa\ufb50-\ufdff\ufe70-\ufefc]"
)
"""Scripts with connected letters: Arabic, Syriac, N'Ko, Mandaic and Mongolian."""
_MONGOLIAN = re.compile("[\u1820-\u18aa]")
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_VARIED = re.compile("[\u1000-\u109f\ua840-\ua877\U00010ac0-\U00010af2]")
"""Scripts in which a variation selector can follow a letter (standardized variants): Myanmar, Phags-pa, Manichaean."""
_PICTOGRAPH = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d"
    "\u3297\u3299\U0001f000-\U0001faff]"
)
_SKIN = re.compile("[\U0001f3fb-\U0001f3ff]")
_FLAG_TAGS = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_MOST_TAGS = 7
"""Maximum number of tag characters that follow the flag U+1F3F4 in a match of _FLAG_TAGS."""
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def is_visible(text: str, at: int) -> bool:
    """Whether the character at this index is visible or changes the appearance of the characters next to it."""
    character = text[at]
    if not _NOT_PLAIN.match(character):
        category = unicodedata.category(character)
        if category[0] in _VISIBLE_CATEGORIES or category == "Zs" or _SHAPED_FORMAT.match(character):
            return True
        # Unassigned characters in the block of emoji are visible: they are probably emoji that are newer than Python's
        # Unicode version.
        return category == "Cn" and "\U0001f000" <= character <= "\U0001faff"
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    match character:
        case "\u200d":
            return _is_joined(text, at, after)
        case "\u200c":
            return _combining_class(before) == _VIRAMA or bool(
                _JOINING.match(_base_character(text, at)) and _JOINING.match(after)
            )
        case "\ufe0e" | "\ufe0f":
            return bool(_PICTOGRAPH.match(before)) or (before in set("#*0123456789") and after == "\u20e3" and at > 0)
        case "\ufe00" | "\ufe01" | "\ufe02":
            math = before != "" and unicodedata.category(before) == "Sm"
            return bool(_IDEOGRAPH.match(before)) or (character == "\ufe00" and (math or bool(_VARIED.match(before))))
        case "\u180b" | "\u180c" | "\u180d" | "\u180e" | "\u180f":
            return bool(_MONGOLIAN.match(before))
    if "\U000e0100" <= character <= "\U000e01ef":
        return bool(_IDEOGRAPH.match(before))
    if "\U000e0020" <= character <= "\U000e007f":
        start = text.rfind("\U0001f3f4", max(0, at - _MOST_TAGS), at)
        flag = _FLAG_TAGS.match(text, start) if start >= 0 else None
        return flag is not None and at < flag.end()
    return False


def one_line(text: str) -> str:
    """Return the text on one line. Line breaks and control characters become spaces. Invisible characters are
    removed."""
    if _is_plain(text):
        return text
    return _replace_invisible(text, lambda character: " " if _BREAKS.match(character) or character == "\u2800" else "")


def escape(text: str) -> str:
    """Return the text on one line, with each invisible character replaced by its code point, such as <U+200B>."""
    return text if _is_plain(text) else _replace_invisible(text, lambda character: f"<U+{ord(character):04X}>")


def first_invisible(text: str) -> str:
    """Return the first invisible character, as `U+200B at character 3`; empty if there is none."""
    if _is_plain(text):
        return ""
    at = next((at for at in range(len(text)) if not is_visible(text, at)), None)
    return "" if at is None else f"U+{ord(text[at]):04X} at character {at}"


def _is_plain(text: str) -> bool:
    return text.isprintable() and (text.isascii() or not _NOT_PLAIN.search(text))


def _replace_invisible(text: str, replacement: Callable[[str], str]) -> str:
    return "".join(character if is_visible(text, at) else replacement(character) for at, character in enumerate(text))


def _is_joined(text: str, at: int, after: str) -> bool:
    """Whether the joiner at this index is between emoji, next to a virama, or after a connected letter."""
    before = text[at - 1 : at] if at else ""
    if _combining_class(before) == _VIRAMA or (before.isalpha() and _combining_class(after) == _VIRAMA):
        return True
    if _PICTOGRAPH.match(after):
        end = at
        while end and text[end - 1] in "\ufe0f\u20e3":
            end -= 1
        pictured = text[end - 1 : end] if end else ""
        return bool(_PICTOGRAPH.match(pictured) or _SKIN.match(pictured))
    return bool(_JOINING.match(_base_character(text, at)))


def _base_character(text: str, at: int) -> str:
    """Return the last character before this index that is not a combining mark."""
    while at and unicodedata.category(text[at - 1]) == "Mn" and not _IGNORABLE.match(text[at - 1]):
        at -= 1
    return text[at - 1 : at] if at else ""


def _combining_class(character: str) -> int:
    return unicodedata.combining(character) if character else 0
