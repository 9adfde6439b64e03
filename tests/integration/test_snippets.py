"""If a content is cut, its snippet and its passage show a place with the query's words, in every script."""

import pytest

from tests.fakes import FakeServices
from tests.memories import store_content
from tests.tools import answer_of, call_tool, text_of

LONG = [
    ("Mueller Tresorschluessel", "Dies ist ein langes Tagebuch. ", "Der Tresorschlüssel liegt bei Frau Müller. "),
    ("NH469", "これは長い日記です。", "便名はNH469です。"),
    ("金庫の暗証番号", "これは長い日記です。毎日金色の庫がある。", "昨日の金庫の暗証番号です。"),
    ("保险箱的密码", "这是一个很长的日记，每天都有很多密集的码。", "我家保险箱的密码是四七一一。"),
    ("รหัสตู้เซฟ", "นี่คือบันทึกยาวเกี่ยวกับหลายเรื่อง", "จำรหัสตู้เซฟไว้"),
    ("तिजोरी का पासवर्ड", "यह एक लंबी डायरी है। ", "तिजोरी का पासवर्ड यहाँ है। "),
    ("رقم الخزانة", "هذه مذكرات طويلة. ", "رقم الخِزانة هنا. "),
    ("Iğdır şifre", "Bu uzun bir günlük. ", "Iğdır'daki şifreyi unutma. "),
    ("сейф Федор", "Это длинный дневник. ", "Ключ от сейфа у Фёдора. "),
]


@pytest.mark.parametrize(("query", "filler", "sentence"), LONG)
def test_the_snippet_shows_the_words_of_the_query(
    services: FakeServices, query: str, filler: str, sentence: str
) -> None:
    content = filler * (12_000 // len(filler)) + sentence + filler * 100
    store_content(services.memories, content, title="Note")
    (hit,) = answer_of(services, "memory_search", query=query, matches=True)["memories"]
    assert sentence.strip() in hit["snippet"]
    assert hit["matches"]["snippet"]
    assert len(hit["snippet"]) <= 240
    assert sentence.strip() in text_of(call_tool(services, "memory_search", query=query))


def test_a_snippet_does_not_begin_with_the_mark_of_another_letter(services: FakeServices) -> None:
    for before in range(3):
        store_content(services.memories, "ก" * before + "น้ำ" * 4_000 + "needle" + "น้ำ" * 1_000, title="Note")
    hits = answer_of(services, "memory_search", query="needle", max_response_chars=3_000)["memories"]
    assert {hit["snippet"][0] for hit in hits} == {"น"}
