"""Previews of contents for lists."""

import unicodedata

import pytest

from mnemosyne.domain.preview import PREVIEW_CHARACTERS, READ_CHARACTERS, is_given, preview

FLOOR = "The label printer is on floor two, next to the coffee machine."
WORDS = "one two three four five six seven eight nine ten "


@pytest.mark.parametrize(
    ("title", "content", "expected"),
    [
        ("Ada prefers tea.", "Ada prefers tea.", "Ada prefers tea."),
        ("Deploys", "# Deploys\n\n- on Tuesdays\n- by Ada", "on Tuesdays by Ada"),
        ("Deploys", "Deploys: on Tuesdays", "on Tuesdays"),
        ("Only", "# Only", "Only"),
        ("Straße", "STRASSE gesperrt", "STRASSE gesperrt"),
        ("İstanbul", "istanbul: otel", "istanbul: otel"),
        ("हिन्द", "हिन्दी की किताब", "हिन्दी की किताब"),
        ("猫", "猫の名前はミケ", "猫の名前はミケ"),
        ("猫", "猫：名前はミケ", "名前はミケ"),
        (
            "Example",
            "[[[CHRONICLE_START]]]\nTS: 2026-05-20\nTITLE: Example\nTAGS: a, b\nBODY: The label printer.\n"
            "[[[CHRONICLE_END]]]",
            "The label printer.",
        ),
        ("x", "line one\r\n\tline two\u2028line three", "line one line two line three"),
        ("x", "", ""),
    ],
)
def test_a_preview_is_one_line_without_the_title_and_marks(title: str, content: str, expected: str) -> None:
    assert preview(title, content) == expected


@pytest.mark.parametrize("content", [WORDS * 20, WORDS * 500, "ünïcödé wörds " * 40])
def test_a_long_text_ends_with_a_whole_word(content: str) -> None:
    one_line = preview("x", content[:READ_CHARACTERS])
    assert one_line.endswith("…")
    assert len(one_line) <= PREVIEW_CHARACTERS + 1
    assert set(one_line[:-1].split()) <= set(content.split())


def test_a_text_of_exactly_the_limit_is_complete() -> None:
    text = f"{'word ' * 40}"[: PREVIEW_CHARACTERS - 1] + "!"
    assert preview("x", text) == text


NFD = [unicodedata.normalize("NFD", letter) for letter in ("ộ", "한", "が")]


@pytest.mark.parametrize("letter", ["น้ำ", "दी", "🇩🇪", "👍🏽", "👩‍👩‍👧", "ｶﾞ", "1️⃣", *NFD])
def test_a_text_without_spaces_is_cut_between_letters(letter: str) -> None:
    for before in range(len(letter)):
        shown = preview("x", "x" * before + letter * 200)
        assert PREVIEW_CHARACTERS - len(letter) < len(shown) <= PREVIEW_CHARACTERS + 1
        assert set(shown.removesuffix("…").lstrip("x").split(letter)) == {""}


@pytest.mark.parametrize(
    ("title", "content", "expected"),
    [
        ("Printer", "The label printer is on floor two.", True),
        (FLOOR[:51], FLOOR, True),
        (FLOOR[:50], FLOOR, False),
        ("first line second", "first line\nsecond", False),
    ],
)  # fmt: skip
def test_the_title_is_shown_unless_the_content_begins_with_it(title: str, content: str, expected: bool) -> None:
    assert is_given(title, content) is expected
