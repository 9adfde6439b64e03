"""Title and tags read from the text of a memory."""

import pytest

from mnemosyne.domain.chronicle import tag_key, tags_of, title_of, unite_tags

CHRONICLE = """[[[CHRONICLE_START]]]
TS: 2026-05-20
TITLE: Example
TAGS: Software-IT: Development, Ada
BODY: TITLE: not this one
[[[CHRONICLE_END]]]"""


@pytest.mark.parametrize(
    ("content", "title"),
    [
        pytest.param(CHRONICLE, "Example", id="the first title line"),
        pytest.param("x\n   TITLE:  Tea time \nTITLE: second", "Tea time", id="indented"),
        pytest.param("é" * 49 + "ab" + "c" * 30, "é" * 49 + "a", id="no title line"),
        pytest.param("TITLE:\nsomething else", "TITLE: something else", id="empty title line"),
        pytest.param("one\ntwo\x07three", "one two three", id="several lines"),
        pytest.param("my TITLE: x", "my TITLE: x", id="inside a line"),
        pytest.param("TITLE: " + "x" * 600, "x" * 500, id="too long"),
        pytest.param("TITLE:x" + " " * 99_000 + "y", "x" + " " * 499, id="99,000 spaces"),
    ],
)
def test_the_title_is_the_first_title_line_or_the_first_fifty_characters(content: str, title: str) -> None:
    assert title_of(content) == title


@pytest.mark.parametrize(
    ("content", "tags"),
    [
        pytest.param(CHRONICLE, ("Software-IT: Development", "Ada"), id="trimmed"),
        pytest.param("TAGS: a,, b ,", ("a", "b"), id="empty tags"),
        pytest.param(f"TAGS: {'x' * 101}, ok", ("ok",), id="too long"),
        pytest.param("TAGS:" + "\t" * 99_000, (), id="99,000 tabs"),
    ],
)
def test_tags_are_split_on_commas(content: str, tags: tuple[str, ...]) -> None:
    assert tags_of(content) == tags


def test_tags_of_the_request_come_first_and_tags_that_differ_only_in_case_are_merged() -> None:
    assert unite_tags(["Ada", "x"], ["ada", "drink"]) == ("Ada", "x", "drink")


def test_a_memory_has_at_most_fifty_tags() -> None:
    assert len(unite_tags([f"t{n}" for n in range(50)], ["one more"])) == 50


def test_tags_are_compared_without_case_and_after_unicode_normalization_in_every_script() -> None:
    assert tag_key(" STRASSE ") == tag_key("straße")
    assert tag_key("TATİL") == tag_key("tatil")
    assert tag_key("I\u0307ş") == tag_key("İŞ") == tag_key("iş")
    assert tag_key("e\u0301clair") == tag_key("\u00e9clair")
