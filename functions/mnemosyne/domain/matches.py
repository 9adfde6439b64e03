"""Find the parts of a text that match a query, as offsets. Pure."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

from mnemosyne.domain.graphemes import is_mark
from mnemosyne.domain.name_words import ACCENTS

Span = tuple[int, int]
"""A part of a text: the offset of its first character, and the offset after its last character, in code points."""

START, STOP, SPLIT = "\ue000", "\ue001", "\ue002"
"""Private-use characters that the database inserts into a text: START and STOP around words that match the query, and
SPLIT between the parts of a word. Before this, the database removes these characters from the text."""
# Matches runs of characters in scripts without spaces between words: the scripts from Thai to Khmer, kana, and Han with
# its marks for repetition and zero.
_UNSEPARATED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U000323af]+"
)
SHORTEST_PART = 2
"""Minimum number of adjacent characters that count as a match in a script without spaces. A single character would
match too often, because it occurs in many words."""

# The characters that a search by words removes, or replaces by others. The SQL functions split_characters and
# without_accents must treat them in the same way.
_IN_WORDS = (
    str.maketrans({"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE"})
    | str.maketrans("\u2010\u2011\u2212٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९٬٫یک", "---" + "0123456789" * 3 + ",.يك")
    | dict.fromkeys(
        map(ord, "\u00ad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"), ""
    )
)
# The characters that `of_words` removes or replaces: accents, separators of thousands (see the SQL function
# plain_numbers), and the keys of _IN_WORDS.
_NOT_IN_WORDS = re.compile(
    rf"(?P<accents>{ACCENTS.pattern}+)"
    r"|(?P<thousands>(?<=\d)(?:[,'’٬](?=\d{3}(?!\d))|[,٬](?=(?:\d\d[,٬])+\d{3}(?!\d))"
    r"|\.(?=\d{3}(?:\.\d{3}){0,4},\d{1,2}(?!\d))))"
    rf"|[{re.escape(''.join(map(chr, _IN_WORDS)))}]"
)
_DECIMAL_COMMA = re.compile(r"(?<![\d,.])(\d+),(?=\d{1,2}(?![\d,]|\.\d))")
_NO_BREAK_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u202f](?=\d{3}(?!\d))")
LONGEST_FORM = 4
"""Maximum factor by which NFKC may lengthen a part of a text. A part that would become longer is left unchanged, so a
query in NFKC does not find it."""


@dataclass(frozen=True)
class NormalText:
    """A text in the Unicode normal form NFKC, in which searches compare texts."""

    text: str
    changed_places: Sequence[Span] | None = None
    """For each character of `text`, its span in the original text. None if the offsets are the same in both."""

    @cached_property
    def places(self) -> Sequence[Span]:
        """For each character of `text`, its span in the original text."""
        return self.changed_places or [(place, place + 1) for place in range(len(self.text))]

    @classmethod
    def of(cls, original: str) -> Self:
        """Normalize a text to NFKC, and find the place of each resulting character in the original text.

        NFKC combines some adjacent characters into one, such as a letter and an accent.
        """
        if unicodedata.is_normalized("NFKC", original):
            return cls(original)
        starts: list[int] = []
        last = ""
        for place, character in enumerate(original):
            normal = unicodedata.normalize("NFKC", character)
            pair = unicodedata.normalize("NFKC", last + normal)
            if not place or (pair == last + normal and not unicodedata.combining(normal[0])):
                starts.append(place)
            last = pair[-1]
        spans = list(pairwise([*starts, len(original)]))
        parts = [_normalize(original[start:end]) for start, end in spans]
        return cls("".join(parts), [span for span, part in zip(spans, parts, strict=True) for _ in part])

    @classmethod
    def of_words(cls, original: str) -> Self:
        """Normalize a text in the same way as a search by words.

        Ligatures such as ß become two letters, all hyphens and digits become those of ASCII, and a decimal comma
        becomes a point. Invisible characters and separators of thousands are removed, and so are accents that Unicode
        cannot combine with their letter into one character.
        """
        # A no-break space can separate thousands. NFKC would turn it into a space, which separates two numbers. So
        # first replace it by an invisible character, which `_normalize_for_words` removes.
        return cls.of(_NO_BREAK_THOUSANDS.sub("\u2060", original))._normalize_for_words()

    def _normalize_for_words(self) -> Self:
        texts: list[str] = []
        places: list[Span] = []
        end = 0
        for match in _NOT_IN_WORDS.finditer(self.text):
            texts.append(self.text[end : match.start()])
            places += self.places[end : match.start()]
            end = match.end()
            if not match["accents"]:
                letters = "" if match["thousands"] else match[0].translate(_IN_WORDS)
                texts.append(letters)
                places += [self.places[match.start()]] * len(letters)
            elif places:  # the accents belong to the letter before them
                places[-1] = (places[-1][0], self.places[end - 1][1])
        text = _DECIMAL_COMMA.sub(r"\1.", "".join([*texts, self.text[end:]]))
        return type(self)(text, [*places, *self.places[end:]] if end else self.changed_places)

    def original(self, spans: Iterable[Span]) -> list[Span]:
        """Convert spans of the normalized `text` to spans of the original text."""
        return [(self.places[start][0], self.places[end - 1][1]) for start, end in spans]


def _normalize(text: str) -> str:
    """Convert a text to NFKC. Return the text unchanged if the result would be more than LONGEST_FORM times as long.

    For example, the single character U+FDFA has 18 characters in NFKC.
    """
    normal = unicodedata.normalize("NFKC", text)
    return normal if len(normal) <= LONGEST_FORM * len(text) else text


def marked_spans(marked: str) -> list[Span]:
    """Return the spans between the marks START and STOP, which the database has inserted into the text.

    The offsets do not count the inserted characters START, STOP and SPLIT.
    """
    spans, length, start = [], 0, 0
    for character in marked:
        if character == START:
            start = length
        elif character == STOP:
            if length > start:
                spans.append((start, length))
        elif character != SPLIT:
            length += 1
    return spans


def literal_spans(query: str, text: str) -> list[Span]:
    """Return the spans in which the query occurs in the text, ignoring case. The text is in NFKC."""
    folded_query, searched_text = _lower_case(unicodedata.normalize("NFKC", query)), _lower_case(text)
    if not folded_query:
        return []
    return [(match.start(), match.end()) for match in re.finditer(re.escape(folded_query), searched_text)]


def unseparated_parts(query: str, length: int = SHORTEST_PART) -> Collection[str]:
    """Return the parts of a query to search for in scripts without spaces between words.

    The parts are all substrings of `length` letters, in their order in the query. A letter can have vowel signs and
    tone marks, for example in Thai.
    """
    return dict.fromkeys(
        run[start:end]
        for run in _UNSEPARATED.findall(unicodedata.normalize("NFKC", query))
        for start, end in _letter_spans(run, length)
    )


def unseparated_spans(parts: Collection[str], text: str) -> list[Span]:
    """Return the spans of a text in which the parts of a query occur (see `unseparated_parts`)."""
    if not parts:
        return []
    return merge_spans([(start, end) for start, end in _letter_spans(text, SHORTEST_PART) if text[start:end] in parts])


def _letter_spans(text: str, length: int) -> Iterable[Span]:
    """Return the span of each sequence of `length` adjacent letters, including the marks on these letters."""
    starts = [at for at, character in enumerate(text) if character.isascii() or not is_mark(character)]
    return zip(starts, [*starts, len(text)][length:], strict=False)


def add_adjacent_characters(spans: Iterable[Span], query: str, text: str) -> list[Span]:
    """Lengthen each span by adjacent characters of scripts without spaces that are also adjacent in the query.

    A span gets at most one character on each side. For example, the query "11月3日" matches the numbers 11 and 3 in a
    text, but not the single characters 月 and 日 (see SHORTEST_PART). This function adds these characters to the spans
    of the numbers.
    """
    if query.isascii():
        return list(spans)
    folded_query = _lower_case(query)
    longer: list[Span] = []
    for start, end in spans:
        has_before = (
            start > 0 and _UNSEPARATED.match(text[start - 1]) and _lower_case(text[start - 1 : end]) in folded_query
        )
        has_after = _UNSEPARATED.match(text[end : end + 1]) and _lower_case(text[start : end + 1]) in folded_query
        longer.append((start - bool(has_before), end + bool(has_after)))
    return longer


def merge_spans(spans: list[Span]) -> list[Span]:
    """Sort the spans, and merge spans that touch or overlap."""
    result: list[Span] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((start, end))
    return result


def _lower_case(text: str) -> str:
    """Return the text in lower case, with σ instead of ς. Each character keeps its position, so offsets stay valid.

    In lower case, only the letter İ would become two characters. It is replaced by the first of them, as in PostgreSQL.
    """
    return "".join(character.lower()[0] for character in text).replace("ς", "σ")
