"""Words are stemmed by the language of their text; English stemming applies to English text only."""

import json
from pathlib import Path

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain.search import SearchQuery
from tests.fakes import store_of
from tests.memories import store_contents
from tests.searching import find
from tests.words_found import FUNCTION_WORDS, INFLECTED, NOT_CONFLATED

BENCHMARK = Path(__file__).parents[1] / "data" / "languages"
LANGUAGES = [
    ("en", "Müller called about the Zürich invoice"),
    ("en", "El Niño and La Niña events"),
    ("en", "Die Hard is his favourite film"),
    ("en", "Москва trip notes: book the hotel"),
    ("en", "Meeting with 田中さん at noon about the budget"),
    ("en", "SELECT * FROM users WHERE id = 42"),
    ("en", "I am hungry"),
    ("en", "Sue likes meetings on Fridays"),
    ("en", "Kim: I love tea"),
    ("de", "WO IST DIE RECHNUNG UND WER HAT SIE"),
    ("de", "Die Datei /etc/php.ini ist nicht das Problem und/oder der Fehler."),
    ("ja", "東京/大阪の天気は/usr/binではない"),
    ("de", "The Meeting: wir haben das nicht besprochen und die Folien sind weg"),
    ("pt", "Meu irmão mora em São Paulo e trabalha num banco."),
    ("de", "Größe geändert"),
    ("pt", "Meus gatos são pretos."),
    ("en", "João lives in São Paulo"),
    ("en", "Ask João at the São Bento station"),
    ("es", "no me gusta el café"),
    ("es", "mañana tengo médico"),
    ("es", "mi hermano vive en Madrid"),
    ("fr", "tu as vu le film ?"),
    ("fr", "T'as vu le film hier soir ?"),
    ("de", "Was mag Anna?"),
    ("de", "gestern war ich im Kino"),
    ("it", "mio fratello si chiama Luca"),
    ("pt", "meu irmão é médico"),
    ("pt", "ontem fui ao cinema"),
    ("nl", "was je gisteren in Amsterdam"),
    ("en", "he was in Den Haag"),
    ("en", "no plan on El Camino"),
    ("en", "Was Anna on the Mir station?"),
    ("nl", "Mijn zus woont in Utrecht en werkt bij een bank."),
    ("sv", "Min syster bor i Göteborg och arbetar på en bank."),
    ("fi", "Siskoni asuu Tampereella ja työskentelee pankissa."),
    ("hu", "A nővérem Szegeden él, és egy bankban dolgozik."),
    ("tr", "Kız kardeşim İzmir'de yaşıyor ve bir bankada çalışıyor."),
    ("pl", "Moja siostra mieszka w Krakowie i pracuje w banku."),
    ("cs", "Moje sestra žije v Brně a pracuje v bance."),
    ("ro", "Sora mea locuiește la Cluj și lucrează la o bancă."),
    ("id", "Saudara perempuan saya tinggal di Bandung dan bekerja di bank."),
    ("vi", "Chị tôi sống ở Huế và làm việc trong một ngân hàng."),
    ("uk", "Моя сестра живе у Львові й працює в банку."),
    ("bg", "Сестра ми живее във Варна и работи в банка, която е голяма."),
    ("fa", "خواهرم در شیراز زندگی می‌کند و در بانک کار می‌کند."),
    ("ko", "제 여동생은 부산에 살고 은행에서 일합니다."),
    ("th", "น้องสาวของฉันอยู่เชียงใหม่"),
    ("el", "η αδελφή μου μένει στην Πάτρα και δουλεύει σε τράπεζα"),
    ("he", "אחותי גרה בחיפה ועובדת בבנק"),
    ("hi", "मेरी बहन जयपुर में रहती है"),
    ("vi", "Chủ nhật tuần sau đi biển"),
    ("vi", "dị ứng đậu phộng"),
    ("en", "Trần Thị Thuỷ lives in Hanoi"),
    ("en", "I love phở and bún chả"),
    ("pl", "On pracuje w banku"),
    ("pl", "Ile kosztuje czynsz"),
    ("cs", "V neděli jedeme k moři"),
    ("tr", "Ankara'ya ne zaman gidiyoruz?"),
    ("fr", "Dimanche on va à la plage"),
    ("it", "Domenica andiamo al mare"),
    ("hi", "पासवर्ड बदलो"),
    ("und", "मला चहा आवडतो आणि कॉफी नाही"),  # Marathi
    ("und", "Min søster bor i Aarhus og arbejder i en bank."),  # Danish or Norwegian
    ("und", "Ես ապրում եմ Երևանում"),
    ("en", "Ada writes C++ on Tuesdays"),
    ("en", "ada writes c++ on tuesdays"),
    ("en", "ADA WRITES C# ON TUESDAYS"),
    ("fr", "C'est bon, j'ai faim"),
    ("en", "Vitamin C on Mondays"),
    ("en", "Plan D on hold"),
]
UNKNOWN = [
    "", "tea", "42", "INC-4821", "Los Angeles office lease renewal", "La La Land soundtrack", "van der Waals",
    "café receipts, Beyoncé tickets", "Kubernetes nginx ingress timeout 30s", "Bitte Mülltonnen rausstellen", "🜚 🎉",
    "https://example.com/a/b?x=1&y=2#y", "https://es.wikipedia.org/wiki/El_gato_y_el_perro", "/usr/local/bin/node",
    r"C:\Users\bob\bin", "php.ini", "LANG=en_US.UTF-8", "plot(x, y)", "x, y = y, x", "| x | y | z |", "e = mc^2",
    "Jan de Wit phone number", "Leonardo da Vinci paintings", "Le Mans", "Al Gore speech", "Kim birthday",
    "Jen birthday", "hi Ben", "AI meetings", "ai tools", "EU regulation deadlines", "MIT license", "9 am standup",
    "iPhone Plus price", "MacBook Pro price", "comment section", "common sense tips", "12 volt battery",
    "recycling bin collection day", "Big Sur hike", "hay fever", "vi editor shortcuts",
    "minecraft mod list", "et al", "em dash",
    "São Paulo office", "Brazil: São Paulo team grows", "São João party", "Conceição birthday",
    "Łódź office", "Đà Nẵng trip", "Smörgåsbord lunch", "Voilà demo", "déjà vu bug",
    "Call Ella", "Ella birthday Friday", "Soy milk allergy", "Allergies: peanuts, soy, gluten", "Bent spokes",
    "Encore tickets", "Agora meeting notes", "Invoice due per contract", "Due dates come Monday", "Lei Ho birthday",
    "Casa Madre restaurant", "Darth Vader costume", "Llama 3 vive benchmark", "Zou family", "ESO sky",
    "H-E-B groceries", "Morgen Stanley invoice", "Tu Nguyen birthday", "Des Moines trip", "Mis en place checklist",
    "ad hoc meeting", "Anna mag Tee", "vice versa", "Vis-à-vis meeting", "Dvořák concert tickets",
    "Curaçao flights", "Őrségi trip", "Nguyễn Văn Đức", "Trần Thị Thuỷ birthday", "Phở recipe", "Mardi Gras parade",
    "Plácido Domingo concert",
]  # fmt: skip


def _store(store: MemoryStore, namespace: str, *contents: str) -> None:
    store_contents(store_of(store, namespace), *contents, title="untold")


def _search(store: MemoryStore, namespace: str, query: str) -> list[str]:
    """Search by words alone."""
    hits = find(store_of(store, namespace), SearchQuery(query=query, explain=True), None).hits
    return [hit.content for hit in hits]


def _languages(owner: Connection, texts: list[str]) -> list[str | None]:
    rows = owner.run("SELECT text_language(t) AS language FROM unnest(CAST(:texts AS text[])) AS t", texts=texts)
    return [row["language"] for row in rows]


def test_the_language_of_a_sentence_is_detected(owner: Connection) -> None:
    detected = _languages(owner, [text for _, text in LANGUAGES])
    assert [(code, text) for code, (_, text) in zip(detected, LANGUAGES, strict=True)] == LANGUAGES


def test_the_language_of_nearly_all_texts_of_the_benchmark_is_detected(owner: Connection) -> None:
    """The share of texts whose language is detected is documented in docs/benchmarks.md."""
    files = [(file.stem, file.read_text(encoding="utf-8").splitlines()) for file in sorted(BENCHMARK.glob("*.jsonl"))]
    rows = [(code, json.loads(line)) for code, lines in files for line in lines]
    texts = [(code, row[name]) for code, row in rows for name in ("memory", "question")]
    detected = _languages(owner, [text for _, text in texts])
    wrong = [text for language, (code, text) in zip(detected, texts, strict=True) if language != code]
    assert (len(texts), len(wrong)) == (540, 1), wrong


def test_names_codes_and_a_few_words_have_no_known_language(owner: Connection) -> None:
    assert dict(zip(UNKNOWN, _languages(owner, UNKNOWN), strict=True)) == dict.fromkeys(UNKNOWN)


def test_a_word_finds_its_other_forms_in_the_language_of_the_content(store: MemoryStore) -> None:
    missed = []
    for number, (query, content) in enumerate(INFLECTED):
        _store(store, f"alone {number}", content)
        if not _search(store, f"alone {number}", query):
            missed.append((query, content))
    assert missed == []


@pytest.mark.parametrize("content", ["Kim prefers short meetings", "EU meetings: agenda", "Pro plan: two meetings"])
def test_a_name_or_abbreviation_in_an_english_text_hides_no_forms_of_its_words(
    store: MemoryStore, content: str
) -> None:
    _store(store, "english", content)
    assert _search(store, "english", "meeting") == [content]


def test_a_word_finds_its_other_forms_among_memories_in_other_languages(store: MemoryStore) -> None:
    _store(store, "mixed", "The invoices are in the blue folder", *(content for _, content in INFLECTED))
    missed = [pair for pair in INFLECTED if pair[1] not in _search(store, "mixed", pair[0])]
    assert missed == []


@pytest.mark.parametrize(
    "other_contents", [(), ("The invoices are in the blue folder",)], ids=["alone", "among English"]
)
def test_english_stems_conflate_no_words_of_other_languages(
    store: MemoryStore, other_contents: tuple[str, ...]
) -> None:
    conflated = []
    for number, (query, content) in enumerate(NOT_CONFLATED):
        _store(store, f"{number} {other_contents}", content, *other_contents)
        if content in _search(store, f"{number} {other_contents}", query):
            conflated.append((query, content))
    assert conflated == []


def test_function_words_of_a_question_find_no_memories(store: MemoryStore) -> None:
    matching = []
    for number, (query, content) in enumerate(FUNCTION_WORDS):
        _store(store, f"alone {number}", content)
        if _search(store, f"alone {number}", query):
            matching.append((query, content))
    assert matching == []


def test_a_new_title_may_change_the_language_and_the_words(store: MemoryStore, owner: Connection) -> None:
    _store(store, "titles", "Bezahlte Rechnungen 2026")
    assert _search(store, "titles", "Rechnung") == []
    owner.run("UPDATE memories SET title = 'Das ist nicht von der Bank' WHERE namespace = 'titles'")
    assert _search(store, "titles", "Rechnung") == ["Bezahlte Rechnungen 2026"]
