"""Offsets of the parts of a text that match a query. Pure."""

import re
import unicodedata

Span = tuple[int, int]
"""First character and the one after the last, in code points."""

START, STOP = "\ue000", "\ue001"
"""Characters that the database puts around words: private ones, which it removes from the text before."""
# Thai to Khmer, kana and Han: scripts that separate no words.
_UNSEPARATED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)
SHORTEST_PART = 2
"""Characters of a text without separated words that must occur together: one alone occurs in too many words."""


def marked_spans(marked: str) -> list[Span]:
    """Return the spans between the marks, in the text without them."""
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
    """Return where the query occurs in the text, in any case."""
    wanted, searched = _folded(query), _folded(text)
    if not wanted:
        return []
    return [(match.start(), match.end()) for match in re.finditer(re.escape(wanted), searched)]


def unseparated_spans(query: str, text: str) -> list[Span]:
    """Return the parts of the query in scripts without spaces that occur in the text, the longest at each place."""
    parts = {
        run[start : start + SHORTEST_PART]
        for run in _UNSEPARATED.findall(unicodedata.normalize("NFC", query))
        for start in range(len(run) - SHORTEST_PART + 1)
    }
    return united([span for part in parts for span in literal_spans(part, text)])


def united(spans: list[Span]) -> list[Span]:
    """Return the spans in order, those that touch or overlap as one."""
    result: list[Span] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((start, end))
    return result


def _folded(text: str) -> str:
    """Return the text in lower case. Each character keeps its place."""
    return "".join(lower if len(lower := character.lower()) == 1 else character for character in text)
