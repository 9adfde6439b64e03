"""Positions of a query's words in a text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.matches import (
    START,
    STOP,
    NormalText,
    add_adjacent_characters,
    literal_spans,
    marked_spans,
    merge_spans,
    unseparated_parts,
    unseparated_spans,
)


def test_spans_are_counted_without_the_marks() -> None:
    marked = f"a {START}tea{STOP} and {START}teas{STOP}"
    assert marked_spans(marked) == [(2, 5), (10, 14)]


@pytest.mark.parametrize(
    ("query", "text", "spans"),
    [
        ("Tea", "tea TEA", [(0, 3), (4, 7)]),
        ("İ", "xİ", [(1, 2)]),
        ("", "tea", []),
        ("a.b", "axb a.b", [(4, 7)]),
        ("istanbul", "Nach İstanbul", [(5, 13)]),
        ("ΣΟΦΟΣ", "ο σοφοσ σοφος", [(2, 7), (8, 13)]),
        ("café", "un cafe\u0301 noir", [(3, 8)]),
        ("e", "cafe\u0301", []),
        ("fine", "a ﬁne day", [(2, 5)]),
        ("ガス", "ｶﾞｽ代", [(0, 3)]),
        ("한글", "\u1112\u1161\u11ab\u1100\u1173\u11af", [(0, 6)]),
    ],
)
def test_a_literal_is_found_without_regard_to_case_and_normal_form(
    query: str, text: str, spans: list[tuple[int, int]]
) -> None:
    normal = NormalText.of(text)
    assert normal.original(literal_spans(query, normal.text)) == spans


@given(text=st.text(st.sampled_from("aAİΣéﬁｶﾞＡ한글ﷺ\u0301\u0323\u0345\u1100\u1161\u11a8\u3099 \u0f71\u0f72")))
def test_each_character_of_the_normal_form_has_its_span_in_the_text(text: str) -> None:
    normal = NormalText.of(text)
    assert "ﷺ" in text or unicodedata.is_normalized("NFKC", normal.text)
    assert unicodedata.normalize("NFKC", normal.text) == unicodedata.normalize("NFKC", text)
    assert len(normal.text) <= 4 * len(text)
    assert "".join(text[start:end] for start, end in dict.fromkeys(normal.places)) == text
    for character, (start, end) in zip(normal.text, normal.places, strict=True):
        assert character in text[start:end] + unicodedata.normalize("NFKC", text[start:end])


@given(text=st.text(st.sampled_from("a1,.éßœ\u0301\u00ad\u0651\u00a0\u202f ")))
def test_each_character_of_the_text_for_word_search_has_its_span_in_the_original(text: str) -> None:
    normal = NormalText.of_words(text)
    assert len(normal.places) == len(normal.text)
    assert all(0 <= start < end <= len(text) for start, end in normal.places)
    assert list(normal.places) == sorted(normal.places)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1\u202f450 euros", "1450 euros"), ("12\u00a0345\u00a0678,5", "12345678.5"), ("1\u202f4500", "1 4500"),
        ("3,5", "3.5"), ("1.299,50", "1299.50"), ("1,299,5", "1299.5"), ("1,2,3", "1,2,3"), ("1.5,3", "1.5,3"),
        ("1.23,4", "1.23,4"), ("12,34,567", "1234567"), ("1,2,345", "1,2345"), ("٣٬٢٥٠٫٥٠", "3250.50"), ("Süß", "Süss"),
        ("کی", "كي"),
    ],
)  # fmt: skip
def test_numbers_have_one_spelling_as_in_the_database(text: str, plain: str) -> None:
    assert NormalText.of_words(text).text == plain


@pytest.mark.parametrize(
    ("query", "text", "spans"),
    [
        ("東京の天気", "明日の東京の天気は晴れ", [(3, 8)]),
        ("東京 tea", "東京と京都", [(0, 2)]),
        ("茶", "緑茶", []),
        ("トト", "トトト", [(0, 3)]),
        ("มื่อ", "เมื่อ ชื่อ ร่อ", [(1, 5)]),
        ("ทิ้ง", "ทิ้ง", [(0, 4)]),
        ("ทิง", "ทิ้ง", []),
        ("ตาล", "น้ําตาล", [(4, 7)]),
    ],
)
def test_parts_of_a_text_without_spaces_are_found(query: str, text: str, spans: list[tuple[int, int]]) -> None:
    assert unseparated_spans(unseparated_parts(query), text) == spans


@pytest.mark.parametrize(
    ("query", "text", "spans", "longer"),
    [
        ("11月3日", "11月3日", [(0, 2), (3, 4)], [(0, 3), (2, 5)]),
        ("11月", "11日", [(0, 2)], [(0, 2)]),
        ("第3章", "第3章", [(1, 2)], [(0, 3)]),
        ("g7次", "G7次", [(0, 2)], [(0, 3)]),
        ("tea 茶", "茶tea", [(1, 4)], [(1, 4)]),
        ("tea", "tea", [(0, 3)], [(0, 3)]),
    ],
)
def test_an_adjacent_character_is_marked_too_if_the_query_has_both_side_by_side(
    query: str, text: str, spans: list[tuple[int, int]], longer: list[tuple[int, int]]
) -> None:
    assert add_adjacent_characters(spans, query, text) == longer


def test_adjacent_spans_are_merged() -> None:
    assert merge_spans([(4, 6), (0, 2), (2, 3), (5, 9)]) == [(0, 3), (4, 9)]
