"""The estimate of tokens against the real tokenizers of Gemma, whose family the Gemini models share."""

import re
import unicodedata
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.chunking import most_tokens
from tests.texts import SHAPES, TEXTS, Shape
from tests.tokenizers import token_counts


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.nightly)])
def test_no_character_has_more_tokens_than_estimated(step: int) -> None:
    codes = range(0, 0x110000, step)
    characters = [chr(code) for code in codes if unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co")]
    counts = zip(characters, token_counts(characters), strict=True)
    assert [character for character, count in counts if count > most_tokens(character)] == []


@pytest.mark.parametrize("shape", [shape for *_, shape in SHAPES], ids=[f"{kind} {n}" for kind, n, _ in SHAPES])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))])
def test_no_text_has_more_tokens_than_estimated(shape: Shape, seed: int) -> None:
    text = shape(Random(seed), 8_000)
    (count,) = token_counts([text])
    assert count <= most_tokens(text)


@given(st.text(max_size=300))
def test_each_text_without_latin_words_has_at_most_the_estimated_tokens(text: str) -> None:
    without_words = re.sub("[A-Za-z]", "", text)
    (count,) = token_counts([without_words])
    assert count <= most_tokens(without_words)


@given(
    st.text(min_size=1, max_size=40),
    st.sampled_from(["", " ", "\n", ", ", "\t"]),
    st.integers(0, 2**32),
)
def test_each_mixed_text_has_at_most_the_estimated_tokens(text: str, separator: str, seed: int) -> None:
    random = Random(seed)
    long_text = separator.join([text, *(random.choice(shapes)(random, 300) for shapes in TEXTS.values()), text])
    (count,) = token_counts([long_text])
    assert count <= most_tokens(long_text)


def test_the_estimate_for_english_is_at_most_three_times_its_tokens() -> None:
    for shape in TEXTS["English"]:
        text = shape(Random(1), 8_000)
        (count,) = token_counts([text])
        assert most_tokens(text) <= 3 * count
