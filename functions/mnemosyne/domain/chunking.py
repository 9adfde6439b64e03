"""Cut long text into overlapping chunks at sentence ends, so that its end is as findable as its beginning. Pure."""

import re

_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+|\n+|(?<=[。！？])")
_WORD_END = re.compile(r"\s+")


def chunks(text: str, *, limit: int) -> list[str]:
    """Return the text in chunks of at most `limit` characters, each beginning with about the last eighth of the
    one before.

    A text within the limit is one chunk, itself. A sentence longer than the limit is cut between words, and a word
    longer than the limit wherever the limit falls. Nothing but white space is lost.
    """
    if len(text) <= limit:
        return [text]
    overlap = limit // 8
    made: list[str] = []
    current: list[str] = []
    for sentence in _pieces(text, limit):
        if current and sum(map(len, current)) + len(current) + len(sentence) > limit:
            made.append(" ".join(current))
            current = _tail(current, min(overlap, limit - len(sentence) - 1))
        current.append(sentence)
    made.append(" ".join(current))
    return made


def _pieces(text: str, limit: int) -> list[str]:
    pieces: list[str] = []
    for sentence in _SENTENCE_END.split(text):
        if len(sentence) <= limit:
            pieces.append(sentence)
            continue
        line = ""
        for word in _WORD_END.split(sentence):
            if line and len(line) + 1 + len(word) > limit:
                pieces.append(line)
                line = ""
            while len(word) > limit:
                pieces.append(word[:limit])
                word = word[limit:]
            line = f"{line} {word}" if line else word
        pieces.append(line)
    return [piece.strip() for piece in pieces if piece.strip()]


def _tail(sentences: list[str], length: int) -> list[str]:
    """Return the last sentences that together are no longer than that."""
    kept: list[str] = []
    for sentence in reversed(sentences):
        length -= len(sentence) + 1
        if length < 0:
            break
        kept.insert(0, sentence)
    return kept
