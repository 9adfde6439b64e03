"""Hits as text for a model: each has a heading and a short passage that contains the query."""

import json
import unicodedata
from datetime import UTC, datetime
from typing import Any

import pytest

from mnemosyne.domain.confidence import Confidence
from mnemosyne.domain.search import SearchQuery
from mnemosyne.ids import new_id
from mnemosyne.mcp import hits
from mnemosyne.mcp.record import SearchHit


def _hit(content: str, **fields: Any) -> SearchHit:
    values = {
        "title": content[:50],
        "tags": (),
        "metadata": {},
        "relevance": 1.0,
        "quality": 0.5,
        "score": 1.0,
    } | fields
    return SearchHit(id=new_id(), timestamp=datetime(2026, 5, 20, tzinfo=UTC), content=content, **values)


def test_a_short_content_is_complete_below_its_id_and_date() -> None:
    hit = _hit("Ada prefers tea.")
    assert hits.passages([hit], "tea") == f"--- [{hit.id}] [2026-05-20] ---\nAda prefers tea.\n"


@pytest.mark.parametrize(("count", "least", "most"), [(1, 2_100, 2_300), (10, 2_500, 2_900), (100, 0, 31_000)])
def test_ten_hits_share_2_200_characters_and_each_of_many_has_220(count: int, least: int, most: int) -> None:
    assert least < len(hits.passages([_hit("word " * 500)] * count, "x")) < most


@pytest.mark.parametrize(
    ("lengths", "longest"),
    [
        ([50] * 9 + [5_000], 1_650),
        ([5_000] + [100] * 4 + [5_000], 850),
        ([300, 300, 900, 900, 900], 500),
        ([209] * 9 + [211], 211),
        ([10] * 50 + [5_000] * 50, 210),
        ([2_100] * 2, 1_050),
        ([1, 5_000], 2_099),
    ],
)
def test_long_contents_share_the_characters_that_short_ones_leave(lengths: list[int], longest: int) -> None:
    text = hits.passages([_hit("é" * length, title="é") for length in lengths], "x")
    shown = [line.removesuffix(" …") for line in text.split("\n")[1::2]]
    assert [len(line) for line in shown] == [min(length, longest) for length in lengths]
    assert sum(map(len, shown)) <= max(2_100, 210 * len(lengths))


@pytest.mark.parametrize("answer", ["The code is 4711", "Der Code ist 4711", "コードは4711"])
def test_a_long_content_among_short_ones_shows_an_answer_far_from_its_beginning(answer: str) -> None:
    content = f"{'About the safe. ' * 60}{answer}.{' More text.' * 300}"
    assert answer in hits.passages([_hit(f"The safe is in room {n}.") for n in range(9)] + [_hit(content)], "the safe")


def test_a_passage_is_taken_from_the_place_of_the_query_in_the_content() -> None:
    content = f"{'beginning ' * 50}the zeppelin left at dawn{' end' * 500}"
    passage = hits.passage(content, "when did the ZEPPELIN leave?", 300)
    assert passage.startswith("beginning beginning")
    assert "the zeppelin left at dawn" in passage
    assert len(passage) <= 310
    assert passage.endswith(" …")


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("creme", "the crème brûlée"),
        ("lodz", "in Łódź"),
        ("istanbul", "İstanbul'da"),
        ("résumé", "the re\u0301sume\u0301"),
        ("Zu\u0308rich", "in Zürich"),
        ("cooperate", "to co\u00adoper\u00adate"),
        ("strasse", "die Straße"),
        ("1200", "paid 1,200 euros"),
        ("パリ", "ﾊﾟﾘ"),
        ("замок", "за́мок"),
        ("किताब", "किताबों में"),
        ("कहाँ है तिजोरी का पासवर्ड", "पासवर्ड लिखा है"),
        ("கடவுச்சொல்", "கடவுச்சொல் இங்கே"),
        ("পাসওয়ার্ড", "পাসওয়ার্ড এখানে"),
        ("كلمة", "كَلِمَةُ السر"),
        ("Mueller", "bei Müller"),
        ("Müller", "bei Mueller"),
        ("Århus", "nach Aarhus"),
    ],
)
def test_a_passage_is_found_without_regard_to_accents(query: str, content: str) -> None:
    assert content in hits.passage(f"{'beginning ' * 50}{content}{' end' * 500}", query, 300)


@pytest.mark.parametrize("letter", ["น้ำ", "दी", unicodedata.normalize("NFD", "ộ"), "👩🏽‍💻", "🇩🇪"])
def test_a_passage_begins_and_ends_with_whole_letters(letter: str) -> None:
    for before in range(len(letter)):
        content = f"{'x' * before}{letter * 200}needle{letter * 200}"
        for query in ("needle", "y"):
            passage = hits.passage(content, query, 300)
            parts = passage.removesuffix(" …").lstrip("x").replace(" … ", "").replace("needle", "")
            assert set(parts.split(letter)) == {""}, passage


@pytest.mark.parametrize(
    ("query", "other", "content"),
    [("해결책", "회계처리를 했다", "우리의 해결책은 새 서버다"), ("かくせい", "がくせいは", "かくせいした")],
)
def test_a_passage_is_not_taken_from_a_word_that_differs_in_its_letters(query: str, other: str, content: str) -> None:
    passage = hits.passage(f"{'처음 ' * 150}{other}{' 중간' * 150} {content}{' 끝' * 150}", query, 300)
    assert content in passage
    assert other not in passage


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("我们决定用哪个数据库？", "最后选了数据库集群"),
        ("サーバーの契約はいつまでですか", "サーバーの契約は六月まで"),
        ("ประชุมครั้งต่อไปเมื่อไร", "นัดประชุมวันศุกร์"),
    ],
)
def test_a_passage_is_taken_from_the_longest_part_of_a_query_without_spaces(query: str, content: str) -> None:
    passage = hits.passage(f"{'x ' * 200}{content}{' y' * 500}", query, 300)
    assert content in passage


def test_a_passage_at_the_end_has_no_ellipsis_there_and_a_very_long_word_is_cut() -> None:
    assert hits.passage(f"{'beginning ' * 50}the zeppelin", "zeppelin", 300).endswith("the zeppelin")
    assert len(hits.passage(f"{'y ' * 400}{'x' * 5_000}", "x" * 5_000, 300)) <= 310


def test_a_title_that_the_passage_does_not_contain_is_shown_above_it() -> None:
    assert "---\nMinutes of May\nAda said yes." in hits.passages([_hit("Ada said yes.", title="Minutes of May")], "x")
    assert hits.passages([_hit("Ada  said\nyes.", title="Ada  said yes.")], "x").count("said") == 1


def test_no_hits_give_the_text_no_memories_found() -> None:
    assert hits.passages([], "x") == hits.whole_contents([]) == "No memories found."


def test_contents_are_cut_by_their_size_as_json_if_need_be_to_nothing() -> None:
    long, tea = hits.shorten_contents([_hit("\x01" * 3_000, title="t"), _hit("tea")], 4_000)
    assert len(json.dumps(long.content)) + len(json.dumps(tea.content)) <= 4_000
    assert (long.truncated, tea.truncated, tea.content) == (True, None, "tea")
    assert {(hit.content, hit.truncated) for hit in hits.shorten_contents([tea] * 100, 100)} == {("", True)}


@pytest.mark.parametrize(("limit", "advice"), [(99, "with a higher limit or with min_confidence"), (100, "with min_")])
def test_the_note_about_closer_hits_does_not_advise_to_raise_the_highest_limit(limit: int, advice: str) -> None:
    note = hits.closer_hits([_hit("Cars", confidence=Confidence.WEAK)], 1, SearchQuery(query="tea", limit=limit))
    assert note and note.startswith(f"limit {limit} left out 1 hit closer to the query: memory_search {advice}")
