"""Estimate the number of tokens of a text without the model's tokenizer. Pure.

The estimate is an upper bound for the tokenizers of the Gemma family (SentencePiece BPE with byte fallback), which
Gemini's models share:

- With byte fallback, a text never has more tokens than UTF-8 bytes.
- A letter of `_ALPHABETS` is at most one token, although it has two or three bytes.
- A match of `_WORD` has at most half as many tokens as characters. This was measured on random letters, which need
  more tokens than words of any language. Single words may exceed it: a text that repeats "gq lq vj" does.

`tests/unit/domain/test_tokens.py` compares the estimate with the real tokenizers.
"""

import re

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
    """Return an upper bound of the number of tokens."""
    plain = _ALPHABETS.sub("0", text)  # one byte each, and not matched by _WORD
    words: list[str] = _WORD.findall(plain)
    # A word of n letters counts as (n + 1) / 2 tokens, and the space before it as none.
    saved = sum(len(word) - (word[0] != " ") for word in words)
    return len(plain.encode("utf-8", "surrogatepass")) - saved // 2
