"""Texts are cut between graphemes, so that no mark is left without its letter."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.graphemes import beginning, grapheme_start

NFD = unicodedata.normalize("NFD", "Đặng")


@pytest.mark.parametrize(
    ("text", "characters", "cut"),
    [
        ("tea", 2, "te"),
        ("tea", 3, "tea"),
        ("", 3, ""),
        (NFD, 2, "Đ"),
        ("हिन्दी", 1, "ह"),
        ("น้ำดี", 2, "น้"),
        ("👍🏽👍🏽", 3, "👍🏽"),
        ("👩‍💻👩‍💻", 5, "👩‍💻"),
        ("🇩🇪🇫🇷", 3, "🇩🇪"),
        ("a🇩🇪🇫🇷", 3, "a🇩🇪"),
        ("❤️❤️", 1, "❤"),
        ("1️⃣2️⃣", 5, "1️⃣"),
        ("می‌خواهم", 3, "می‌"),
        ("ｶﾞｽ", 1, "ｶ"),
        ("a \u0301b", 2, "a "),
        ("e" + "\u0301" * 50, 20, "e" + "\u0301" * 19),
    ],
)
def test_a_text_is_cut_between_graphemes(text: str, characters: int, cut: str) -> None:
    assert beginning(text, characters) == cut


@given(text=st.text(st.sampled_from("ae \n\u0301ที่ा👩🏽\u200d\ufe0f🇩🇪ｶﾞ한\u1161")), characters=st.integers(0, 12))
def test_a_beginning_is_a_beginning_and_its_rest_begins_with_a_letter(text: str, characters: int) -> None:
    cut = beginning(text, characters)
    assert text.startswith(cut)
    assert len(cut) <= characters
    at = grapheme_start(text, characters)
    assert at <= characters
    # A mark after white space belongs to no letter.
    assert at in (0, characters) or text[at - 1].isspace() or not unicodedata.combining(text[at])
