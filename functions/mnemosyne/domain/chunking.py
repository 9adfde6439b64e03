"""Cut a long text into overlapping chunks that an embedding model reads whole. Pure.

An embedding model cuts a text that is longer than its input, often silently. In chunks, the end of a long memory is as
findable as its beginning.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Final, TypeVar

from mnemosyne.domain.tokens import most_tokens
from mnemosyne.errors import TextTooLong

_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+|\n+|(?<=[。！？])")
_WORD_END = re.compile(r"\s+")
OVERLAP: Final = 1 / 8
"""Share of a chunk that repeats the end of the one before."""
SMALLEST_CHARACTERS: Final = 100
"""Chunks are not made smaller than this, even if the model calls them too long: no model reads so little."""

_V = TypeVar("_V")


@dataclass(frozen=True, kw_only=True)
class ChunkLimit:
    """Most that an embedder embeds as one chunk."""

    characters: int
    tokens: int | None = None
    """None if the model reads texts of any length."""

    def share(self, text: str) -> float:
        """Return the share of a chunk that the text fills; more than 1 if it does not fit."""
        share = len(text) / self.characters
        return share if self.tokens is None else max(share, most_tokens(text) / self.tokens)

    @property
    def half(self) -> "ChunkLimit":
        """The limit of chunks half as long."""
        return ChunkLimit(characters=self.characters // 2, tokens=self.tokens and self.tokens // 2)


@dataclass(frozen=True)
class _Piece:
    """Part of a text that is not cut further, with the white space before it."""

    start: int
    end: int
    share: float


def chunks(text: str, limit: ChunkLimit) -> list[str]:
    """Return the text in chunks that fit the limit.

    A text that fits is one chunk, unchanged. A longer one is cut between sentences, a sentence that does not fit
    between words, and a word that does not fit between characters. Each chunk is a part of the text as written. Up to
    an eighth of it repeats the end of the chunk before. Only white space between chunks is left out.
    """
    if limit.share(text) <= 1:
        return [text]
    made: list[str] = []
    current: list[_Piece] = []
    filled = 0.0
    for piece in _pieces(text, limit):
        if current and filled + piece.share > 1:
            made.append(text[current[0].start : current[-1].end])
            current = _tail(current, min(OVERLAP, 1 - piece.share))
            filled = sum(one.share for one in current)
        current.append(piece)
        filled += piece.share
    made.append(text[current[0].start : current[-1].end])
    return [chunk for chunk in map(str.strip, made) if chunk]


def embed_whole(texts: Sequence[str], limit: ChunkLimit, embed: Callable[[list[str]], Sequence[_V]]) -> list[list[_V]]:
    """Return the vectors of each text's chunks, all made by one call of `embed` if no chunk is too long for the model.

    If the model calls a chunk too long, in spite of the estimate, the text that it belongs to is cut into chunks half
    as long. The others are embedded again. Raises what `embed` raises, TextTooLong if even the smallest chunks are
    refused.
    """
    cut = [chunks(text, limit) for text in texts]
    try:
        vectors = iter(embed(list(chain.from_iterable(cut))))
    except TextTooLong:
        if len(texts) > 1:
            middle = len(texts) // 2
            return [*embed_whole(texts[:middle], limit, embed), *embed_whole(texts[middle:], limit, embed)]
        if limit.half.characters < SMALLEST_CHARACTERS:
            raise
        return embed_whole(texts, limit.half, embed)
    return [list(islice(vectors, len(parts))) for parts in cut]


def _pieces(text: str, limit: ChunkLimit) -> Iterator[_Piece]:
    """Yield the sentences, with long ones as words, and long words as runs of characters that fit."""
    for sentence in _between(_SENTENCE_END, text, 0, len(text), limit):
        if sentence.share <= 1:
            yield sentence
            continue
        for word in _between(_WORD_END, text, sentence.start, sentence.end, limit):
            if word.share <= 1:
                yield word
            else:
                yield from _runs(text, word, limit)


def _between(ends: re.Pattern[str], text: str, start: int, end: int, limit: ChunkLimit) -> Iterator[_Piece]:
    cuts = [match.start() for match in ends.finditer(text, start, end) if match.start() > start]
    for one, other in pairwise([start, *cuts, end]):
        yield _Piece(one, other, limit.share(text[one:other]))


def _runs(text: str, word: _Piece, limit: ChunkLimit) -> Iterator[_Piece]:
    shares = {character: limit.share(character) for character in set(text[word.start : word.end])}
    start, filled = word.start, 0.0
    for position in range(word.start, word.end):
        share = shares[text[position]]
        if filled + share > 1 and position > start:
            yield _Piece(start, position, filled)
            start, filled = position, 0.0
        filled += share
    yield _Piece(start, word.end, filled)


def _tail(pieces: Sequence[_Piece], share: float) -> list[_Piece]:
    """Return the last pieces that together fill no more than that share of a chunk."""
    kept = len(pieces)
    while kept and (share := share - pieces[kept - 1].share) >= 0:
        kept -= 1
    return list(pieces[kept:])
