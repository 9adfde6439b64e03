"""Hits as text for a model: short, each under its line, and the passage that was asked for in it."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mnemosyne.ids import new_id
from mnemosyne.mcp import hits
from mnemosyne.mcp.record import SearchHit


def _hit(content: str, **fields: Any) -> SearchHit:
    given = {"title": content[:50], "tags": (), "metadata": {}, "relevance": 1.0, "quality": 0.5, "score": 1.0} | fields
    return SearchHit(id=new_id(), timestamp=datetime(2026, 5, 20, tzinfo=UTC), content=content, **given)


def test_a_short_content_is_whole_under_its_id_and_day() -> None:
    hit = _hit("Ada prefers tea.")
    assert hits.passages([hit], "tea") == f"--- [{hit.id}] [2026-05-20] ---\nAda prefers tea.\n"


def test_ten_share_2_200_characters_and_one_has_them_alone() -> None:
    long = "word " * 2_000
    assert 2_100 < len(hits.passages([_hit(long)], "x")) < 2_300
    assert 2_500 < len(hits.passages([_hit(long)] * 10, "x")) < 2_900


def test_many_have_220_characters_each() -> None:
    assert len(hits.passages([_hit("word " * 2_000)] * 100, "x")) < 100 * 310


def test_what_was_asked_for_is_shown_where_it_stands_far_from_the_beginning() -> None:
    content = f"{'beginning ' * 50}the zeppelin left at dawn{' end' * 500}"
    shown = hits.passage(content, "when did the ZEPPELIN leave?", 300)
    assert shown.startswith("beginning beginning")
    assert "the zeppelin left at dawn" in shown
    assert len(shown) <= 310
    assert shown.endswith(" …")


@pytest.mark.parametrize(
    ("query", "content"), [("creme", "the crème brûlée"), ("Zoë", "told Zoe"), ("ａｄａ", "of Ada")]
)
def test_what_was_asked_for_is_shown_with_other_accents(query: str, content: str) -> None:
    assert content in hits.passage(f"{'beginning ' * 50}{content}{' end' * 500}", query, 300)


def test_of_the_end_it_is_said_that_it_is_the_end() -> None:
    assert hits.passage(f"{'beginning ' * 50}the zeppelin", "zeppelin", 300).endswith("the zeppelin")


def test_a_word_of_thousands_of_letters_makes_no_passage_longer() -> None:
    word = "x" * 5_000
    assert len(hits.passage(f"{'y ' * 400}{word}", word, 300)) <= 310


def test_a_title_that_the_content_does_not_show_stands_above_it() -> None:
    assert "---\nMinutes of May\nAda said yes." in hits.passages([_hit("Ada said yes.", title="Minutes of May")], "x")
    assert hits.passages([_hit("Ada  said\nyes.", title="Ada  said yes.")], "x").count("said") == 1


def test_nothing_is_said_of_nothing() -> None:
    assert hits.passages([], "x") == hits.whole([]) == "No memories found."


def test_contents_that_grow_as_json_are_cut_by_what_they_grow_to() -> None:
    made = hits.fitted([_hit("\x01" * 3_000, title="t"), _hit("tea")], 4_000)
    assert sum(len(json.dumps(one.content)) for one in made) <= 4_000
    assert [one.truncated for one in made] == [True, None]
    assert made[1].content == "tea"
