"""Words that a search finds in contents."""

from itertools import count, product
from random import Random
from uuid import UUID

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.domain import ranking
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.search import Hit, SearchMode, SearchQuery
from tests.fakes import FakeEmbedder, store_of
from tests.memories import store_content, store_contents
from tests.searching import candidates, find
from tests.words_found import FOUND, FOUND_LITERALLY, NOT_FOUND, NOT_FOUND_LITERALLY

NAMESPACES = count()


def _store(memories: MemoryStore, *contents: str) -> str:
    """Store the contents in a new namespace, and return its name."""
    namespace = f"words {next(NAMESPACES)}"
    store_contents(store_of(memories, namespace), *contents, title="untold")
    return namespace


def _hits(memories: MemoryStore, namespace: str, query: str, mode: SearchMode = SearchMode.HYBRID) -> list[Hit]:
    """Search by words alone."""
    search_query = SearchQuery(query=query, mode=mode)
    return list(find(store_of(memories, namespace), search_query, None).hits)


def _words_shares(memories: MemoryStore, namespace: str, query: str) -> dict[str, float]:
    """Search by words alone, and return the share of the query's words in each content."""
    store = store_of(memories, namespace)
    ranked = ranking.score_plain(candidates(store, query, None))
    shares = [entry.candidate.words_share or 0.0 for entry in ranked]
    return dict(zip((hit.content for hit in store.read_hits(SearchQuery(query=query), ranked)), shares, strict=True))


def _lacking(memories: MemoryStore, namespace: str, query: str, by_meaning: bool) -> dict[str, bool]:
    """Return whether each content that is found lacks a name of the query."""
    store, vector = store_of(memories, namespace), FakeEmbedder().embed_query(query) if by_meaning else None
    ranked = ranking.score_plain(candidates(store, query, vector))
    lacking = [entry.candidate.lacks_name for entry in ranked]
    return dict(zip((hit.content for hit in store.read_hits(SearchQuery(query=query), ranked)), lacking, strict=True))


def test_a_word_is_found_without_its_accents_in_any_normal_form_and_in_compounds(memories: MemoryStore) -> None:
    missed = [pair for pair in FOUND if not _hits(memories, _store(memories, pair[1]), pair[0])]
    assert missed == []


def test_a_part_of_a_word_or_another_number_is_not_found(memories: MemoryStore) -> None:
    matching_pairs = [pair for pair in NOT_FOUND if _hits(memories, _store(memories, pair[1]), pair[0])]
    assert matching_pairs == []


def test_an_exact_search_matches_any_unicode_normal_form_and_distinguishes_accents(memories: MemoryStore) -> None:
    missed = [p for p in FOUND_LITERALLY if not _hits(memories, _store(memories, p[1]), p[0], SearchMode.EXACT)]
    matching_pairs = [p for p in NOT_FOUND_LITERALLY if _hits(memories, _store(memories, p[1]), p[0], SearchMode.EXACT)]
    assert (missed, matching_pairs) == ([], [])


@pytest.mark.parametrize(("query", "fillers"), [
    ("copper kettle warranty", ["the drawing of a bridge needs more ink", "many people walk along the quiet river"]),
    ("Kupferkessel Garantie Händler", ["die Zeichnung der Brücke braucht Tinte", "viele Leute gehen am Fluss entlang"]),
    ("медный чайник гарантия", ["чертёж моста требует больше чернил", "многие люди гуляют вдоль реки"]),
    ("銅 鍋 証", ["橋の絵にはもっとインクがいる", "人々は静かな川に沿って歩く"]),
])  # fmt: skip
def test_words_close_together_rank_higher_than_the_same_words_scattered_over_a_long_memory(
    memories: MemoryStore, query: str, fillers: list[str]
) -> None:
    before, after = (" ".join([filler] * 20) for filler in fillers)
    words = query.split()
    scattered = f"{words[0]} {before} {words[1]} {after} {words[2]}"
    together = f"{before} {' '.join(words)} {after}"
    for contents in ((scattered, together), (together, scattered)):
        namespace = _store(memories, *contents, "something else")
        first, second = _hits(memories, namespace, query)
        assert (first.content, second.content) == (together, scattered)
        hybrid = candidates(store_of(memories, namespace), query, FakeEmbedder().embed_query(query))
        passages = {UUID(row.id): row.passage_score or 0.0 for row in hybrid.rows}
        assert passages[first.id] > passages[second.id] > 0


@pytest.mark.parametrize(("query", "repeated", "scattered"), [
    ("copper kettle warranty", "kettle the drawing of a bridge " * 500, "copper {} warranty"),
    ("銅鍋証", "鍋橋の絵にはもっとインクがいる" * 1_200, "銅 {} 証"),
])  # fmt: skip
def test_words_at_the_end_of_a_very_long_memory_are_close_together(
    memories: MemoryStore, query: str, repeated: str, scattered: str
) -> None:
    """A tsvector has at most 255 positions of a word, and none above 16,383."""
    contents = [scattered.format(repeated), f"{repeated} {query}"]
    first, second = _hits(memories, _store(memories, *contents, "something else"), query)
    assert [first.content, second.content] == contents[::-1]


def test_the_share_of_words_that_a_memory_contains_does_not_depend_on_their_endings(memories: MemoryStore) -> None:
    namespace = _store(memories, "the meetings are long", "the meeting was long")
    assert list(_words_shares(memories, namespace, "meetings").values()) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("the kettle is blue", "the kettle kettle kettle is a kettle"),  # two words of the query, one word four times
        ("the kettle is blue", "the kettle is red"),
        ("the kettle is blue", " ".join(f"word{n}" for n in range(200)) + " kettle blue"),  # by chance in a long text
    ],
)
def test_a_memory_with_more_words_of_the_query_in_a_shorter_text_has_a_larger_share(
    memories: MemoryStore, more: str, less: str
) -> None:
    namespace = _store(memories, more, less, "tea", "coffee")
    shares = _words_shares(memories, namespace, "blue kettle")
    assert 0 < shares[less] < shares[more] <= 1


def test_a_word_that_no_memory_contains_lowers_the_share(memories: MemoryStore) -> None:
    namespace = _store(memories, "the kettle is blue", "tea", "coffee")
    (share,) = _words_shares(memories, namespace, "blue kettle zeppelin").values()
    assert 0 < share < 0.8


@pytest.mark.parametrize(("query", "with_the_name", "without"), [
    ("Which desk does Marta Keller have?", "the desk of Marta Keller is at the window", "the desk of Marta Novak"),
    ("What do the Kellers drink?", "Marta Keller and Tom Keller drink tea", "Marta Novak drinks tea"),
    ("Which port does mail-39 use?", "mail-39 uses port 25", "mail-40 uses port 25"),
    ("Что пьёт Анна Петрова?", "Анна Петрова пьёт чай", "Анна Иванова пьёт чай"),
    ("Que boit Zoé Lefèvre le matin ?", "Zoé Lefèvre boit du thé le matin", "Zoé Moreau boit du thé le matin"),
    ("Wie schnell ist der Server web-07 im Netz?", "der Server web-07 ist schnell", "der Server web-08 ist schnell"),
])  # fmt: skip
@pytest.mark.parametrize("by_meaning", [True, False], ids=["hybrid", "by words alone"])
def test_a_memory_about_another_person_or_thing_lacks_a_name_of_the_query(
    memories: MemoryStore, query: str, with_the_name: str, without: str, by_meaning: bool
) -> None:
    lacking = _lacking(memories, _store(memories, with_the_name, without, "something else"), query, by_meaning)
    assert lacking[without]
    assert not lacking[with_the_name]


@pytest.mark.parametrize(("query", "content"), [
    ("which desk does marta keller have", "the desk of Marta Novak is at the window"),
    ("Where is the desk in March?", "the desk is at the window"),
    ("Wo steht der Schreibtisch im neuen Büro, und wo ist die Lampe?", "der Schreibtisch ist nicht hier"),
])  # fmt: skip
def test_no_memory_lacks_a_name_if_the_query_has_none_or_is_in_german(
    memories: MemoryStore, query: str, content: str
) -> None:
    assert _lacking(memories, _store(memories, content), query, by_meaning=True) == {content: False}


@pytest.mark.parametrize(("query", "content", "lacks"), [
    ("What is Hugo's shoe size?", "The shoe size of Leo is 34", True),
    ("Which desk does Marta Keller have?", "the desk of Marta Novak is at the window", True),
    ("Quelle est la pointure de Hugo ?", "La pointure de Marta est 34", True),
    ("¿Cuál es el número de zapato de Hugo?", "El número de zapato de Marta es el 34", True),
    ("Was ist die Schuhgröße von Hugo?", "die Schuhgröße ist 34", False),
    ("Schreibtisch Marta Lampe", "der Schreibtisch ist am Fenster", False),
])  # fmt: skip
def test_german_memories_make_names_uncertain_only_if_the_query_may_be_in_german(
    memories: MemoryStore, query: str, content: str, lacks: bool
) -> None:
    namespace = _store(memories, content, "Wir haben gestern den neuen Tisch für das Büro gekauft.", "something else")
    assert _lacking(memories, namespace, query, by_meaning=True)[content] is lacks


@pytest.mark.parametrize("ending", ["tonight", " ".join(["the drawing of a bridge needs more ink"] * 20)])
def test_the_form_of_a_word_counts_in_passages_too(memories: MemoryStore, ending: str) -> None:
    contents = [f"we deployed the kettle {ending}", f"we deploy the kettle {ending}"]
    exact, inflected = _hits(memories, _store(memories, *contents), "deployed")
    assert [exact.content, inflected.content] == contents
    assert inflected.relevance == pytest.approx(0.5)


def test_the_index_of_words_has_one_entry_for_all_forms_of_a_word(store: MemoryStore, owner: Connection) -> None:
    store_content(store, "deploy deploys deployed deploying")
    (row,) = owner.run("SELECT cardinality(w.keys) AS keys, w.weights AS weights FROM memory_words w")
    assert row["keys"] == 1
    assert row["weights"].count(":") == 4


def test_query_terms_returns_the_share_of_memories_that_contain_each_word(
    store: MemoryStore, owner: Connection
) -> None:
    words = [f"kettle{number}" for number in range(1, 21)]
    store_contents(store, *(" ".join(words[number:]) for number in range(20)))  # word n is in n of twenty memories
    rows = owner.run("SELECT share FROM query_terms('ns', :query, '{}')", query=" ".join(["teapot", *words]))
    assert sorted(row["share"] for row in rows) == pytest.approx([0.5 / 20, *(number / 20 for number in range(1, 21))])


@pytest.mark.parametrize(("query", "content", "words"), [
    ("INC-4821", "INC-9999 is closed", ("inc",)),
    ("INC-4821", "INC-4821 is closed", ("4821", "inc", "inc-4821")),
    ("max_retry_count", "retry it again", ()),
    ("deploying", "we deployed it", ("deploying",)),
    ("maxRetryCount", "set max_retry_count", ("count", "max", "maxretrycount", "retry")),
    ("on-call", "who is oncall?", ("call", "on-call")),
    ("RTX 4090", "an RTX4090 for Tom", ("4090", "rtx")),
    ("Anna Müller", "Anna Mueller sings", ("anna", "müller")),
    ("$1,299.99", "it costs $1,299.99", ("1299.99",)),
    ("1,200", "about 1200 items", ("1200",)),
    ("जन्मदिन कब", "अन्ना का जन्मदिन 12 जून को है", ("जन्मदिन",)),
    ("உத்தரவு", "உத்தரவு வந்தது", ("உத்தரவு",)),
    ("誕生日", "アンナさんの誕生日", ("日", "生", "誕")),
    ("誕生日", "先生の家", ("生",)),
    ("โต๊ะ", "โต๊ะใหม่", ("ต", "ะ", "โ")),
])  # fmt: skip
def test_an_explanation_names_the_words_that_a_memory_contains(
    memories: MemoryStore, query: str, content: str, words: tuple[str, ...]
) -> None:
    store = store_of(memories, _store(memories, content))
    (hit,) = find(store, SearchQuery(query=query, explain=True), FakeEmbedder().embed_query(query)).hits
    assert hit.why
    assert hit.why.matched_words == words


def test_an_explanation_names_the_words_of_each_memory_in_the_language_of_the_memory(
    memories: MemoryStore,
) -> None:
    contents = ["Die Rechnungen sind nicht bezahlt", "We have two invoices and a Rechnung", "Kim likes tea"]
    namespace = _store(memories, *contents)
    search_query = SearchQuery(query=f"invoice Rechnung {'x' * 2_000} tea", explain=True)
    hits = find(store_of(memories, namespace), search_query, None).hits
    matched = {hit.content: hit.why.matched_words for hit in hits if hit.why}
    assert matched == dict(zip(contents, [("rechnung",), ("invoice", "rechnung"), ()], strict=True))


def test_a_part_of_a_camel_case_word_is_found_in_passages(memories: MemoryStore) -> None:
    filler = " ".join(["the drawing of a bridge needs more ink"] * 20)
    contents = [f"{filler} parseHTTPResponse {filler}", f"{filler} http {filler} response"]
    first, _ = _hits(memories, _store(memories, *contents, "something else"), "http response")
    assert first.content == contents[0]


def test_a_word_of_a_changed_title_is_in_the_first_passage(memories: MemoryStore) -> None:
    filler = " ".join(["the drawing of a bridge needs more ink"] * 40)
    near, far = f"copper {filler}", f"{filler} copper"
    for contents in ((near, far), (far, near)):
        namespace = _store(memories, *contents)
        for hit in _hits(memories, namespace, "copper"):
            store_of(memories, namespace).update(hit.id, MemoryChange(title="kettle"))
        assert [hit.content for hit in _hits(memories, namespace, "copper kettle")] == [near, far]


@pytest.mark.parametrize(("query", "best", "other"), [
    ("Zoë", "Zoë sings at noon", "Zoe sings at noon"),
    ("Zoe", "Zoe sings at noon", "Zoë sings at noon"),
    ("año", "Según Ana un año en Lima", "Según Ana un ano en Lima"),
    ("ano", "Según Ana un ano en Lima", "Según Ana un año en Lima"),
    ("résumé", "The résumé is here", "The resume is here"),
    ("небо", "небо над полем", "нёбо над полем"),
    ("нёбо", "нёбо над полем", "небо над полем"),
    ("INC-4821", "INC-4821 is closed", "INC-9999 and order 4821 are closed"),
    ("max_retry", "max_retry is set here", "retry at max is set here"),
    ("v1.2.3", "v1.2.3 is here now", "v1.2.3-rc1 is here now"),
    ("deployed", "we deployed it here", "we deploy it here"),
    ("meetings", "the meetings are long", "the meeting was long"),
    ("retries", "one of maxRetries is here", "one of maxRetry is here"),
])  # fmt: skip
def test_a_word_spelt_as_in_the_query_ranks_before_one_with_other_accents_or_another_ending(
    memories: MemoryStore, query: str, best: str, other: str
) -> None:
    for contents in ((best, other), (other, best)):
        hits = _hits(memories, _store(memories, *contents), query)
        assert [hit.content for hit in hits][:1] == [best]
        assert hits[0].score >= hits[-1].score


def test_a_speaker_with_an_accent_is_recognized_in_a_query_without_it(memories: MemoryStore) -> None:
    namespace = _store(
        memories, "Zoë: the kettle is in the attic", "Zoë: a kettle leaks", "Bob: the kettle is in the attic too"
    )
    vector = FakeEmbedder().embed_query("kettle")
    search_query = SearchQuery(query="where did Zoe see the kettle", explain=True)
    hits = find(store_of(memories, namespace), search_query, vector).hits
    assert {hit.content[:3]: bool(hit.why and hit.why.speaker) for hit in hits} == {"Zoë": True, "Bob": False}


@pytest.mark.parametrize(
    ("beginning", "query", "word"),
    [("å" * 20, "creme", "crème"), ("Die Straße", "creme", "crème"), ("Die Straße", "Größe", "Größe"),
     ("Die Strecke", "groesse", "Größe"), ("ﬁne", "brulee", "brûlée")],
)  # fmt: skip
def test_a_shortened_content_shows_the_place_of_a_word_with_an_accent(
    memories: MemoryStore, beginning: str, query: str, word: str
) -> None:
    namespace = _store(memories, f"{beginning}{' filler' * 400} the crème brûlée of one Größe{' filler' * 400}")
    search_query = SearchQuery(query=query, characters=1_000)
    (hit,) = find(store_of(memories, namespace), search_query, None).hits
    assert word in (hit.snippet or "")


LETTERS = (
    "ΆΈΉΊΌΎΏάέήίόύώ", "ỆỘỨẾỐệộứếố", "ЁЙёй", "אָבָּ", "ﷲ", "ａＢ", "aB", "가각간", "𠀀𠀁𠀂", "ß",
    "ﬃ", "e\u0301\u0316\u0317",
)  # fmt: skip
SEPARATORS = (" ", "-", ".", "_", "")
BY_DAY = [("ﷲ", " "), ("𠀀𠀁𠀂", "_")]


@pytest.mark.parametrize(
    ("letters", "between"),
    [
        pytest.param(*pair, marks=[] if pair in BY_DAY else [pytest.mark.nightly])
        for pair in product(LETTERS, SEPARATORS)
    ],
)
def test_a_content_of_maximum_length_in_any_script_is_stored(memories: MemoryStore, letters: str, between: str) -> None:
    random = Random(1)
    words = ("".join(random.choices(letters + "αβγδ", k=random.randint(2, 7))) for _ in range(40_000))
    content = between.join(words)[:99_000] + " the oolong is on shelf 7"
    namespace = _store(memories, content)
    assert [hit.content for hit in _hits(memories, namespace, "oolong")] == [content]
    assert [hit.content for hit in _hits(memories, namespace, "the Oolong is", SearchMode.EXACT)] == [content]
