"""Long text in chunks."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.chunking import chunks

TEXT = " ".join(f"Sentence number {n} says something of its own." for n in range(200))


def test_a_short_text_is_one_chunk_and_itself() -> None:
    assert chunks("  two\nlines ", limit=100) == ["  two\nlines "]


def test_no_chunk_is_longer_than_the_limit_and_each_ends_with_a_sentence() -> None:
    made = chunks(TEXT, limit=500)
    assert max(map(len, made)) <= 500
    assert all(chunk.endswith("own.") for chunk in made)


def test_neighbours_overlap() -> None:
    made = chunks(TEXT, limit=500)
    for one, other in pairwise(made):
        assert other.split(".")[0] in one


def test_a_sentence_without_end_is_cut_between_words() -> None:
    made = chunks("word " * 500, limit=100)
    assert all(set(chunk.split()) == {"word"} for chunk in made)


def test_the_hundred_thousand_longest_characters_are_few_chunks() -> None:
    assert len(chunks("x" * 100_000, limit=1_200)) <= 100


@given(st.text(max_size=3000), st.integers(20, 400))
def test_nothing_but_white_space_is_lost(text: str, limit: int) -> None:
    made = chunks(text, limit=limit)
    assert all(len(chunk) <= limit for chunk in made)
    squeezed = re.sub(r"\s", "", text)
    position = 0
    for chunk in made:
        piece = re.sub(r"\s", "", chunk)
        found = squeezed.rfind(piece, 0, position + len(piece))  # at the latest where the one before ended
        assert found >= 0
        position = max(position, found + len(piece))
    assert position == len(squeezed)
