"""Offsets of the parts of a text that match a query. Pure."""

import re
import unicodedata
from collections.abc import Collection

Span = tuple[int, int]
"""A part of a text: the offset of its first character, and the offset after its last character, in code points."""

START, STOP = "\ue000", "\ue001"
"""Private-use characters with which the database marks words. The database first removes these characters from the
text."""
# Thai to Khmer, kana and Han: scripts without spaces between words.
_UNSEPARATED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)
SHORTEST_PART = 2
"""Minimum number of adjacent characters that count as a match in a script without spaces, because a single character
occurs in too many words."""


def marked_spans(marked: str) -> list[Span]:
    """Return the spans between the marks, as offsets in the text without marks."""
    spans, length, start = [], 0, 0
    for character in marked:
        if character == START:
            start = length
        elif character == STOP:
            if length > start:
                spans.append((start, length))
        else:
            length += 1
    return spans


def literal_spans(query: str, text: str) -> list[Span]:
    """Return the spans in which the query occurs in the text, ignoring case."""
    folded_query, searched = _folded(query), _folded(text)
    if not folded_query:
        return []
    return [(match.start(), match.end()) for match in re.finditer(re.escape(folded_query), searched)]


def unseparated_parts(query: str) -> Collection[str]:
    """Return each SHORTEST_PART adjacent characters of a query in scripts without spaces between words."""
    return {
        run[start : start + SHORTEST_PART]
        for run in _UNSEPARATED.findall(unicodedata.normalize("NFC", query))
        for start in range(len(run) - SHORTEST_PART + 1)
    }


def unseparated_spans(parts: Collection[str], text: str) -> list[Span]:
    """Return the spans of the text that consist of these parts of a query (`unseparated_parts`)."""
    if not parts:
        return []
    ends = range(SHORTEST_PART, len(text) + 1)
    return united([(end - SHORTEST_PART, end) for end in ends if text[end - SHORTEST_PART : end] in parts])


def united(spans: list[Span]) -> list[Span]:
    """Sort the spans, and merge spans that touch or overlap."""
    result: list[Span] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((start, end))
    return result


def _folded(text: str) -> str:
    """Return the text in lower case. Each character keeps its position, so that offsets stay valid."""
    return "".join(lower if len(lower := character.lower()) == 1 else character for character in text)
