"""A search by words finds a memory that spells the query's words in another way.

The words can be together or apart, and have other separators or letters.
"""

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from tests.fakes import FakeEmbedder
from tests.memories import store_contents
from tests.searching import candidates

OTHER_LANGUAGES = (
    "Der Klempner kommt am Freitag und repariert die Heizung.", "Le plombier vient vendredi pour le chauffage.",
    "El fontanero viene el viernes para la calefacción.", "Il tecnico viene venerdì per il riscaldamento.",
)  # fmt: skip
FOUND = [
    # a number and its unit
    ("6kg", "The parcel weighs 6 kg"), ("6 kg", "The box weighs 6kg"), ("2.5 kg", "A bag of 2.5kg of rice"),
    ("32gb", "A laptop with 32 GB of memory"), ("128 GB", "The phone has 128GB"), ("5pm", "Tea at 5 pm on Monday"),
    ("7 am", "Yoga at 7am"), ("120 km", "The ride was 120km long"), ("5 кг", "Мешок весит 5кг"),
    ("4k", "A 4 K monitor"),
    # a name and its number
    ("RTX 4090", "He sold an RTX4090"), ("rtx3080", "She has an RTX 3080"), ("iphone16", "I bought an iPhone 16"),
    ("gate B12", "Meet at gate B 12"), ("Python3", "We moved to Python 3"), ("a4 paper", "Print it on A4 paper"),
    # compounds
    ("oncall", "Sam is on-call this week"), ("on-call", "Who is oncall in May?"), ("email", "Send an e-mail to Tom"),
    ("e-mail", "The email bounced"), ("wifi password", "The Wi-Fi password is hunter2"),
    ("log-ins", "Failed login attempts"), ("logins", "A log-in page"), ("followup", "The follow-up is in June"),
    ("t-shirt", "A green tshirt"), ("INC-4821", "inc4821 is closed"), ("INC4822", "INC-4822 is open"),
    ("covid 19", "She had COVID-19 in spring"),
    # identifiers
    ("getUserName", "Call get_user_name first"), ("max_retry_count", "maxRetryCount is 5"),
    ("getusername", "getUserName fails"), ("node-fetch", "We import nodeFetch"), ("v1.2.3", "Version 1.2.3 is out"),
    ("1.2.4", "We pinned v1.2.4"),
    # numbers
    ("3,5", "The rate is 3.5 percent"), ("3.7", "Der Zins ist 3,7 Prozent"), ("1299", "Der Laptop kostet 1.299 Euro"),
    ("1,349", "It costs 1349 dollars"), ("1'250", "The rent is 1250 francs"),
    ("1450", "Le loyer est de 1\u202f450 euros"), ("1.799,50", "It cost 1799.50"),
    ("2350", "An invoice over 2,350.00"), ("-12", "It was \u221212 degrees"), ("25", "رقم الغرفة ٢٥"),
    ("۲۷", "Room 27"), ("२९", "Gate 29"),
    ("2345,67", "Czynsz wynosi 2 345,67 zł"), ("2 346,67", "Czynsz wynosi 2346,67 zł"),
    ("8765,43", "Платёж 8 765,43 ₽"),
    ("1250000", "Le terrain coûte 1 250 000 euros"), ("1\u202f260,75", "Le loyer est de 1 260,75 €"),
    ("3260.50", "الإيجار ٣٬٢٦٠٫٥٠ ريال"), ("٣٬٢٧٠", "الإيجار 3270 ريال"), ("1234567", "कीमत ₹१२,३४,५६७ है"),
    ("12,34,568", "कीमत ₹1234568 है"),
    # letters
    ("Anna Mueller", "Anna Müller is a dentist"), ("Jürgen Schröder", "Juergen Schroeder called"),
    ("Baer", "Familie Bär wohnt oben"), ("Soeren", "Sören plays the flute"), ("Sørensen", "Soerensen phoned"),
    ("Århus", "We stayed in Aarhus"), ("Mueller-Luedenscheidt", "Frau Müller-Lüdenscheidt"),
    ("Müller-Lützow", "Frau Mueller-Luetzow"), ("Suessstoff", "Kaffee mit Süßstoff"),
    ("Süßkartoffel", "Suesskartoffel"), ("Gruesse", "Viele Grüße aus Rom"), ("Füße", "Die Fuesse tun weh"),
    ("Schluesselgroesse", "Die Schlüsselgröße fehlt"),
    ("الشاى", "أبي يشرب الشاي"), ("مصطفي", "زار مصطفى المدينة"), ("كتاب", "این کتاب خوب است"),
    ("Aalborg", "The train to Ålborg"), ("non\u2011stop", "A non-stop flight"),
    # telephone numbers
    ("+49 170 1234567", "Call +491701234567"), ("+491702345678", "Call +49 170 2345678"),
    ("01713456789", "Call 0171 3456789"),
    ("13800138000", "李医生的电话 138 0013 8000"), ("612 345 678", "Llama al 612345678"),
    ("501234567", "Zadzwoń pod 501 234 567"), ("+91 98765 43210", "इस नंबर पर +919876543210"),
]  # fmt: skip
NOT_FOUND = [
    ("6kg", "The cat weighs 7 kg"), ("32gb", "It has 64 GB"), ("6kg", "It costs 6 euros"), ("rtx4090", "An RTX 4080"),
    ("299", "It costs 1,299 dollars"), ("3,5", "It costs 35 dollars"), ("3.1", "We use version 3.10"),
    ("v1.2.3", "v1.2.4 is out"), ("35", "The rooms 3-5 are free"), ("5", "Der Zins ist 3,5 Prozent"),
    ("oncall", "Call me on Monday"), ("poet", "A clay pot"), ("INC-4821", "INC-9999 is open"), ("B12", "The B13 bus"),
    ("12", "The years 2012 and 2013"), ("2345", "Rooms 2, 345 and 6"), ("345", "Es kostet 2\u202f345 Euro"),
    ("1250", "Le loyer est de 1 260 euros"), ("علي", "الكتاب على الطاولة"),
]  # fmt: skip


def _shares(store: MemoryStore, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Return, for each pair of a query and a content, the share of the query's words that the content contains."""
    contents = list(dict.fromkeys(content for _, content in pairs))
    ids = dict(zip(contents, store_contents(store, *contents, title="untold"), strict=True))
    shares = {}
    for query, content in pairs:
        found = candidates(store, query, FakeEmbedder().embed_query(query))
        (shares[query, content],) = (row.words_share or 0.0 for row in found.rows if row.id == str(ids[content]))
    return shares


@pytest.mark.parametrize("others", [(), OTHER_LANGUAGES], ids=["english", "several languages"])
def test_another_spelling_of_a_query_has_most_of_its_words(store: MemoryStore, others: tuple[str, ...]) -> None:
    store_contents(store, "tea at noon", *others, title="untold")
    assert {pair: share for pair, share in _shares(store, FOUND).items() if share < 0.5} == {}


@pytest.mark.parametrize("others", [(), OTHER_LANGUAGES], ids=["english", "several languages"])
def test_similar_words_are_not_other_spellings(store: MemoryStore, others: tuple[str, ...]) -> None:
    store_contents(store, "tea at noon", *others, title="untold")
    assert {pair: share for pair, share in _shares(store, NOT_FOUND).items() if share > 0.5} == {}


def test_a_name_in_another_spelling_is_not_lacking(store: MemoryStore) -> None:
    (stored,) = store_contents(store, "Anna Mueller is a dentist", title="untold")
    found = candidates(store, "Who is Anna Müller?", FakeEmbedder().embed_query("Who is Anna Müller?"))
    assert [row.lacks_name for row in found.rows if row.id == str(stored)] == [False]


def test_a_query_of_many_numbers_keeps_the_spellings_that_are_most_likely_to_be_needed(owner: Connection) -> None:
    query = (
        "Meet at 10 am, floor 3, room 12, gate 7, seat 44, bus 120, line 6, track 9, box 6 kg, who said and 6 people, "
        "tel +49 170 1234567"
    )
    found = {row[0] for row in owner.run("SELECT spelling FROM spellings(:query)", query=query)}
    assert {"491701234567", "6kg", "10am"} <= found
    assert not {"44bus", "and6"} & found
