"""Split a long text into overlapping chunks that fit an embedding model. Pure.

An embedding model truncates a text that is longer than its limit, often silently. If a long memory were not embedded in
chunks, a search by meaning could not find the end of the memory.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Final, TypeVar

from mnemosyne.errors import TextTooLong

_ALPHABETS = re.compile(
    "["
    "\u00c0-\u0131"  # Latin with diacritics
    "\u0300-\u034e"  # combining diacritics
    "\u0391-\u03a1\u03ac-\u03ce"  # Greek
    "\u040e-\u0461"  # Cyrillic
    "\u05d0-\u05ea"  # Hebrew
    "\u0621-\u063a\u0640-\u0658"  # Arabic
    "\u0913-\u0933\u093e-\u0943\u0947-\u0949\u094b-\u094d"  # Devanagari
    "\u0e04-\u0e25\u0e27-\u0e3a\u0e40-\u0e4c"  # Thai
    "\u1ea0-\u1ef3"  # Vietnamese
    "\u2013-\u2014\u2018-\u2027"  # dashes, quotation marks, ellipsis
    "\u3001-\u3002\u3041-\u3094\u30a1-\u30f6"  # Kana and their punctuation
    "\uff01-\uff5e"  # full-width forms
    "]"
)
_WORD = re.compile(r" ?(?:[A-Z]?[a-z]{1,15}|[A-Z]{1,6})")


def most_tokens(text: str) -> int:
    """Estimate the maximum number of tokens of a text, without the model's tokenizer.

    Only rare texts have more tokens than the estimate. The estimate is valid for the tokenizers of the Gemma family
    (SentencePiece BPE with byte fallback), which Gemini's models also use:

    - With byte fallback, a text never has more tokens than UTF-8 bytes.
    - A character in `_ALPHABETS` has two or three bytes, but is at most one token.
    - A word of n ASCII letters, with the space before it (a match of `_WORD`), has at most (n + 1) / 2 tokens. This was
      measured on random letters, which need more tokens than words of any language. Rare texts exceed this number, for
      example a text that repeats "gq lq vj".

    `tests/unit/domain/test_tokens.py` compares the estimate with the real tokenizers.
    """
    # Replace each letter of these alphabets with a digit. Both count as one token, but a digit has only one byte.
    plain = _ALPHABETS.sub("0", text)
    words: list[str] = _WORD.findall(plain)
    # A word of n letters counts as (n + 1) / 2 tokens. The space before the word counts as no token.
    saved_characters = sum(len(word) - (word[0] != " ") for word in words)
    return len(plain.encode("utf-8", "surrogatepass")) - saved_characters // 2


# A Chinese or Japanese sentence ends without a space, after the quotation mark or bracket that closes it.
_SENTENCE_END = re.compile(
    r"(?<=[.!?…。！？؟۔।॥։።။។])\s+|\n+|(?:(?<=[。！？])|(?<=[。！？][」』”’）】》]))(?![。！？」』”’）】》])"
)
_WORD_END = re.compile(r"\s+")
OVERLAP: Final = 1 / 8
"""Fraction of a chunk that repeats the end of the previous chunk."""
SMALLEST_CHARACTERS: Final = 100
"""Smallest size of chunks, in characters. If the model rejects larger chunks as too long, this size is tried last.
Every model accepts chunks of this size."""

_V = TypeVar("_V")


@dataclass(frozen=True, kw_only=True)
class ChunkLimit:
    """Maximum size of a chunk for an embedding model."""

    characters: int
    tokens: int | None = None
    """None means that the model has no limit of tokens."""

    def share(self, text: str) -> float:
        """Return the size of the text as a fraction of the limit. A text with a fraction above 1 does not fit."""
        share = len(text) / self.characters
        return share if self.tokens is None else max(share, most_tokens(text) / self.tokens)

    @property
    def half(self) -> "ChunkLimit":
        """A new limit, with half as many characters and tokens as this one."""
        return ChunkLimit(characters=self.characters // 2, tokens=self.tokens and self.tokens // 2)


@dataclass(frozen=True)
class _Piece:
    """A sentence, word or part of a word, with the white space before it. Chunks consist of whole pieces."""

    start: int
    end: int
    share: float


def chunks(text: str, limit: ChunkLimit) -> list[str]:
    """Split the text into chunks that fit the limit.

    A text that fits is returned unchanged as one chunk. A longer text is split between sentences. A sentence that does
    not fit is split between words, and a word that does not fit is split between characters. Each chunk but the first
    repeats the end of the previous chunk, up to an eighth of the limit. Nothing is lost except white space between
    chunks.
    """
    if limit.share(text) <= 1:
        return [text]
    parts: list[str] = []
    current: list[_Piece] = []
    total = 0.0
    for piece in _pieces(text, limit):
        if current and total + piece.share > 1:
            parts.append(text[current[0].start : current[-1].end])
            current = _tail(current, min(OVERLAP, 1 - piece.share))
            total = sum(repeated.share for repeated in current)
        current.append(piece)
        total += piece.share
    parts.append(text[current[0].start : current[-1].end])
    return [chunk for chunk in map(str.strip, parts) if chunk]


def embed_whole(texts: Sequence[str], limit: ChunkLimit, embed: Callable[[list[str]], Sequence[_V]]) -> list[list[_V]]:
    """Embed the chunks of all texts with one call of `embed`, and return a list of vectors for each text.

    The number of tokens of a chunk is only estimated, so the model sometimes rejects a chunk as too long. Then each
    half of the texts is embedded with a separate call, and divided again if necessary. If a call with a single text is
    rejected, this text is split into chunks of half the size. Raises the errors of `embed`, including TextTooLong if
    the model rejects even the smallest chunks.
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
    """Yield the pieces of a text: sentences, the words of sentences that do not fit, and parts of words that do not
    fit."""
    for sentence in _split_at(_SENTENCE_END, text, 0, len(text), limit):
        if sentence.share <= 1:
            yield sentence
            continue
        for word in _split_at(_WORD_END, text, sentence.start, sentence.end, limit):
            if word.share <= 1:
                yield word
            else:
                yield from _split_word(text, word, limit)


def _split_at(ends: re.Pattern[str], text: str, start: int, end: int, limit: ChunkLimit) -> Iterator[_Piece]:
    cuts = [match.start() for match in ends.finditer(text, start, end) if match.start() > start]
    for first, last in pairwise([start, *cuts, end]):
        yield _Piece(first, last, limit.share(text[first:last]))


def _split_word(text: str, word: _Piece, limit: ChunkLimit) -> Iterator[_Piece]:
    shares = {character: _share_of_character(character, limit) for character in set(text[word.start : word.end])}
    start, total = word.start, 0.0
    for position in range(word.start, word.end):
        share = shares[text[position]]
        # Each part of the word has at most half the size of the overlap, so that the chunks of the word overlap, too.
        if total + share > OVERLAP / 2 and position > start:
            yield _Piece(start, position, total)
            start, total = position, 0.0
        total += share
    yield _Piece(start, word.end, total)


@lru_cache(maxsize=10_000)
def _share_of_character(character: str, limit: ChunkLimit) -> float:
    return limit.share(character)


def _tail(pieces: Sequence[_Piece], share: float) -> list[_Piece]:
    """Return the last pieces of a chunk, with which the next chunk begins, so that consecutive chunks overlap.

    The sizes of the returned pieces, as fractions of the limit, add up to at most `share`.
    """
    start = len(pieces)
    while start and (share := share - pieces[start - 1].share) >= 0:
        start -= 1
    return list(pieces[start:])
