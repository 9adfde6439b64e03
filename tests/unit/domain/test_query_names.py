"""Names in a query, by which the confidence distinguishes people and things."""

import unicodedata

import pytest

from mnemosyne.domain.query_names import names_in_query


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Which desk does Marta Keller have?", ["Marta", "Keller"]),
        ("What did O'Brien say to McDonald about GitHub?", ["Brien", "McDonald", "GitHub"]),
        ("Что любит Анна Петрова?", ["Анна", "Петрова"]),
        ("Qu'est-ce que Zoé Lefèvre préfère ?", ["Zoé", "Lefèvre"]),
        ("Which port does mail-39 use, and which web01?", ["mail", "39", "web01"]),
        ("What runs on Mail-39?", ["Mail", "39"]),
        ("Who is Dr. Smith?", ["Smith"]),
        ("who is dr. Smith", ["Smith"]),
        ("Where do Mr. Jones and Mrs. Brown live?", ["Jones", "Brown"]),
        ("Where do Mr Jones and Mrs Brown live?", ["Jones", "Brown"]),
        ("Is J. Doe in the U.S. Navy?", ["Doe", "Navy"]),
        ("что сказал А. Пушкин", ["Пушкин"]),
        ("a tool, e.g. Docker", ["Docker"]),
        ("who called at 5 p.m. Tell me about Anna", ["Anna"]),
        ("Who met Bob. Ask Anna", ["Bob", "Anna"]),
        ("Tom's shoe size", ["Tom"]),
        ("Tom’s shoe size and Leo's", ["Tom", "Leo"]),
        ("Let's meet. Who's there? It's Anna", ["Anna"]),
        ("Today's notes. Monday's too", []),
        ("plan B. Then Anna left", ["Anna"]),
        ("in the U.S. When did Anna move?", ["Anna"]),
        ('was it "vitamin C." But Anna took it', ["Anna"]),
        ("Wer mag Plan Б. Und Anna?", ["Plan", "Anna"]),
        ("Quand vient Madame Lefèvre et Monsieur Dupont ?", ["Lefèvre", "Dupont"]),
        ("Hola, ¿Vive Ana aquí? ¡Dime! Y la Señora Peña", ["Ana", "Peña"]),
        ("Dov'è la Signora Rossi?", ["Rossi"]),
        ("Скажите, где живёт Ваш брат Фёдор", ["Фёдор"]),
        ("Gdzie mieszka Twój brat Łukasz i Pani Wójcik", ["Łukasz", "Wójcik"]),
        ("Toplantı 15 Nisan Çarşamba günü Şükran Hanım ile mi", ["Şükran"]),
        ("where is Doctor Smith", ["Smith"]),
        (unicodedata.normalize("NFD", "Où habite Zoë Müller"), ["Zoë", "Müller"]),
    ],
)
def test_capitalised_words_and_the_parts_of_identifiers_are_names(query: str, names: list[str]) -> None:
    assert names_in_query(query) == names


@pytest.mark.parametrize(
    "query",
    [
        "",
        "marta keller's desk",
        "Which desk is free? Ask again. Never mind!",
        "WHICH DESK IS FREE",
        "the OS and the RAM of an API",
        "what happened on Monday, 3rd of May, in Q3 or in Sept",
        "the 39 largest of 1.5 million",
        "誰がお茶を飲みますか",
        "fix login\nAdd tests\nUpdate docs",
        "fix login\r\n\r\n- Add tests\r\n2. Update docs\n- [ ] Remove it\n## Notes",
        "well… Never mind",
    ],
)
def test_beginnings_of_sentences_abbreviations_numbers_and_times_are_not_names(query: str) -> None:
    assert names_in_query(query) == []


def test_a_prompt_with_many_names_counts_as_one_without_names() -> None:
    assert names_in_query("move Anna, Boris, Carla and Dora") == ["Anna", "Boris", "Carla", "Dora"]
    assert names_in_query("in the Settings page use React Query as Anna and Boris did") == []
