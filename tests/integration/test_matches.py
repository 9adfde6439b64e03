"""Positions of matched words in hits, which clients highlight, and snippets of long contents around these words."""

import itertools

import pytest

from tests.fakes import FakeServices
from tests.memories import store_content
from tests.tools import answer_of, call_tool, text_of


def _marked(services: FakeServices, query: str, content: str, **arguments: object) -> list[str]:
    store_content(services.memories, content, title="Note")
    (hit,) = answer_of(services, "memory_search", query=query, matches=True, **arguments)["memories"]
    return [hit["content"][start:end] for start, end in hit["matches"]["content"]]


@pytest.mark.parametrize(
    ("query", "content", "marked"),
    [
        ("When do we deploy?", "Deploys are on Tuesdays; Ada deployed last week.", ["Deploys", "deployed"]),
        ("coffee", "tea/coffee, <b>coffee</b> & coffee-machine", ["coffee", "coffee", "coffee"]),
        ("munchen cafe", "Die Straße führt zum Café in München.", ["Café", "München"]),
        ("fine café", "A ﬁne crème brûlée in a cafe\u0301.", ["ﬁne", "cafe\u0301"]),
        ("テスト", "ﾃｽﾄ のデータ", ["ﾃｽﾄ"]),
        ("INC-4821", "See inc-4821 and INC 4822.", ["inc", "4821", "INC"]),
        ("parse_json", "call parse_json() twice", ["parse", "json"]),
        ("Wann werden die Häuser verkauft?", "Das Haus ist nicht verkauft und wird auch nicht verkauft werden.",
         ["Haus", "verkauft", "verkauft"]),
        ("東京の天気", "東京の天気は晴れです。", ["東京の天気"]),
        ("1,299.99", "It costs $1,299.99.", ["1,299.99"]),
        ("1000000", "A budget of 1,000,000 euros", ["1,000,000"]),
        ("1,299", "It costs 1299 euros", ["1299"]),
        ("1450", "Le loyer est de 1\u202f450 euros, ou 1\u00a0450,5", ["1\u202f450"]),
        ("1\u00a0450", "Le loyer est de 1450 euros", ["1450"]),
        ("cooperation", "The co\u00adoper\u00adation of teams", ["co\u00adoper\u00adation"]),
        ("software", "soft\u200bware\ufeff here", ["soft\u200bware"]),
        ("soft\u00adware", "The software", ["software"]),
        ("strasse", "Die Straße", ["Straße"]),
        ("aero", "The Ærø ferry", ["Ærø"]),
        ("1.2.3", "We run v1.2.3 now", ["1.2.3"]),
        ("v1.2.3", "We run v1.2.3 now", ["v1.2.3"]),
        ("user", "Call getUserById() here", ["User"]),
        ("getUserById", "Call getUserById() here", ["getUserById"]),
        ("server", "An HTTPServer", ["Server"]),
        ("report_v2.xlsx", "in report_v2.xlsx", ["report", "v2", "xlsx"]),
        ("замок", "Старый за́мок на горе", ["за́мок"]),
        ("שלום", "שָׁלוֹם חבר", ["שָׁלוֹם"]),
        ("mbɔ", "the word mbɔ\u0301 here", ["mbɔ\u0301"]),
        ("كتاب", "هذا كتـــاب", ["كتـــاب"]),
        ("佐々木", "佐々木さんと会う", ["佐々木"]),
        ("𠮷野家", "昼は𠮷野家で", ["𠮷野家"]),
        ("the and of", "the and of", []),
        ("tea", "\ue000tea\ue001 <script>tea</script>", ["tea", "tea"]),
    ],
)  # fmt: skip
def test_words_are_marked_with_their_stems(services: FakeServices, query: str, content: str, marked: list[str]) -> None:
    assert _marked(services, query, content) == marked


@pytest.mark.parametrize(
    ("query", "content", "marked"),
    [
        ("Bjoern", "Mein Bruder Björn wohnt in Zürich und arbeitet dort.", ["Björn"]),
        ("Oelwechsel", "Der Ölwechsel kostet viel und ist fällig.", ["Ölwechsel"]),
        ("Cagla", "Çağla'nın yer fıstığına ve polene alerjisi var.", ["Çağla"]),
        ("ığdır", "Temmuzda Iğdır'a gidiyoruz ve çok güzel olacak", ["Iğdır"]),
        ("ليلي", "عند ليلى حساسية من الغبار", ["ليلى"]),
        ("किराया कितना है", "किराया बारह हज़ार है और बिजली अलग है।", ["किराया"]),
        ("la casa", "La casa de mi hermano está en la costa", ["casa"]),
        ("NH469", "便名はＮＨ４６９、那覇行き。", ["ＮＨ４６９"]),
        ("watanabe", "アドレスはwatanabe@example.jpです。", ["watanabe"]),
        ("11月3日", "誕生日は１１月３日です、1月4日ではない", ["１１月３日"]),
        ("12万5千円", "家賃は月額１２万５千円で、", ["１２万５千円"]),
        ("G7", "高铁G7次九点出发", ["G7"]),
        ("wifi", "Wi-Fiのパスワード", ["Wi-Fi"]),
        ("ช่างประปาจะมาเมื่อไหร่", "ช่างประปาชื่อสมชายจะมาวันพุธ", ["ช่างประปา", "จะมา"]),
        ("น้ำตาล", "ชาไม่ใส่น้ําตาล", ["น้ําตาล"]),
    ],
)
def test_words_are_marked_in_the_language_of_the_content(
    services: FakeServices, query: str, content: str, marked: list[str]
) -> None:
    assert _marked(services, query, content) == marked


@pytest.mark.parametrize(
    ("query", "content", "marked"),
    [
        ("wifi", "Le code du Wi-Fi est long", ["Wi-Fi"]),
        ("logins", "A log-in page", ["log-in"]),
        ("IB0514", "Volamos con Iberia, vuelo IB 0514.", ["IB 0514"]),
        ("6kg", "The parcel weighs 6 kg, not 16 kg", ["6 kg"]),
        ("491701234567", "Ruf bitte +49 170 1234567 an", ["+49 170 1234567"]),
        ("inc4821", "See INC-4821 and INC-4822.", ["INC-4821"]),
    ],
)
def test_words_that_are_apart_in_the_content_are_marked_as_a_whole(
    services: FakeServices, query: str, content: str, marked: list[str]
) -> None:
    assert _marked(services, query, content) == marked


def test_at_most_fifty_spellings_of_a_word_are_marked_in_a_text(services: FakeServices) -> None:
    """The number is limited, because the text is scanned once for each spelling."""
    separators = ["".join(three) for three in itertools.product("-./=", repeat=3)]
    assert len(_marked(services, "wifi", " ".join(f"wi{between}fi" for between in separators))) == 50


def test_a_query_with_a_very_long_word_is_marked(services: FakeServices) -> None:
    assert _marked(services, f"{'ä' * 1_100} tea", "green tea") == ["tea"]


def test_a_literal_search_marks_the_literal(services: FakeServices) -> None:
    assert _marked(services, "ea prefers", "Ea prefers tea prefers", mode="exact") == ["Ea prefers", "ea prefers"]
    assert _marked(services, "café", "one cafe\u0301, two CAFÉ", mode="exact") == ["cafe\u0301", "CAFÉ"]


def test_words_in_the_title_are_marked(services: FakeServices) -> None:
    store_content(services.memories, "It is on floor two.", title="The label printers")
    (hit,) = answer_of(services, "memory_search", query="label printer", matches=True)["memories"]
    assert [hit["title"][start:end] for start, end in hit["matches"]["title"]] == ["label", "printers"]
    assert hit["title_given"] is True


def test_hits_have_matches_only_on_request(services: FakeServices) -> None:
    store_content(services.memories, "green tea")
    (hit,) = answer_of(services, "memory_search", query="tea")["memories"]
    assert not hit.keys() & {"matches", "title_given"}


def test_a_list_without_a_query_has_empty_matches(services: FakeServices) -> None:
    store_content(services.memories, "green tea", tags=("x",))
    (hit,) = answer_of(services, "memory_search", tags=["x"], matches=True)["memories"]
    assert hit["matches"] == {"title": [], "content": [], "snippet": []}


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
