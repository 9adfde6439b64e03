"""Positions of a query's words in a text."""

import pytest

from mnemosyne.domain.matches import (
    START,
    STOP,
    literal_spans,
    marked_spans,
    united,
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
    ],
)
def test_a_literal_is_found_without_regard_to_case(query: str, text: str, spans: list[tuple[int, int]]) -> None:
    assert literal_spans(query, text) == spans


@pytest.mark.parametrize(
    ("query", "text", "spans"),
    [
        ("東京の天気", "明日の東京の天気は晴れ", [(3, 8)]),
        ("東京 tea", "東京と京都", [(0, 2)]),
        ("茶", "緑茶", []),
        ("tea", "tea", []),
        ("トト", "トトト", [(0, 3)]),
    ],
)
def test_parts_of_a_text_without_spaces_are_found(query: str, text: str, spans: list[tuple[int, int]]) -> None:
    assert unseparated_spans(unseparated_parts(query), text) == spans


def test_adjacent_spans_are_merged() -> None:
    assert united([(4, 6), (0, 2), (2, 3), (5, 9)]) == [(0, 3), (4, 9)]
