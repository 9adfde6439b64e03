"""Title and tags read from the text of a memory."""

from mnemosyne.domain.chronicle import tag_key, tags_of, title_of, unite_tags

CHRONICLE = """[[[CHRONICLE_START]]]
TS: 2026-05-20
TITLE: Example
TAGS: Software-IT: Development, Ada
BODY: TITLE: not this one
[[[CHRONICLE_END]]]"""


def test_title_is_the_text_after_the_first_title_line() -> None:
    assert title_of(CHRONICLE) == "Example"


def test_title_line_may_be_indented() -> None:
    assert title_of("x\n   TITLE:  Tea time \nTITLE: second") == "Tea time"


def test_title_without_a_title_line_is_the_first_fifty_characters() -> None:
    content = "é" * 49 + "ab" + "c" * 30
    assert title_of(content) == content[:50]


def test_an_empty_title_line_does_not_make_an_empty_title() -> None:
    assert title_of("TITLE:\nsomething else") == "TITLE: something else"


def test_a_title_never_spans_lines() -> None:
    assert title_of("one\ntwo\x07three") == "one two three"


def test_the_word_title_inside_a_line_does_not_start_a_title() -> None:
    assert title_of("my TITLE: x") == "my TITLE: x"


def test_tags_are_split_on_commas_and_trimmed() -> None:
    assert tags_of(CHRONICLE) == ("Software-IT: Development", "Ada")


def test_empty_tags_are_dropped() -> None:
    assert tags_of("TAGS: a,, b ,") == ("a", "b")


def test_tags_of_the_request_come_first_and_tags_that_differ_only_in_case_are_merged() -> None:
    assert unite_tags(["Ada", "x"], ["ada", "drink"]) == ("Ada", "x", "drink")


def test_tags_are_compared_without_case_in_every_script() -> None:
    assert tag_key(" STRASSE ") == tag_key("straße")
    assert tag_key("TATİL") == tag_key("tatil")
    assert tag_key("I\u0307ş") == tag_key("İŞ") == tag_key("iş")


def test_a_title_that_is_too_long_is_cut_and_a_tag_that_is_too_long_is_dropped() -> None:
    assert title_of("TITLE: " + "x" * 600) == "x" * 500
    assert tags_of(f"TAGS: {'x' * 101}, ok") == ("ok",)
    assert len(unite_tags([f"t{n}" for n in range(50)], ["one more"])) == 50


def test_a_line_of_99_000_spaces_can_be_read() -> None:
    assert title_of("TITLE:x" + " " * 99_000 + "y")[:1] == "x"
    assert tags_of("TAGS:" + "\t" * 99_000) == ()


def test_tags_are_compared_after_unicode_normalization() -> None:
    assert tag_key("e\u0301clair") == tag_key("\u00e9clair")
