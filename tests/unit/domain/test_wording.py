"""Contents that count as the same wording, and contents that do not."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.domain.wording import wording, wording_id
from tests.examples import many_at_night

FACTS = [
    ("Ada's blood group is A+ since birth", "Ada's blood group is A- since birth"),
    ("The valve opens → in winter", "The valve opens ← in winter"),
    ("Ada is in the Polish team", "Ada is in the polish team"),
    ("Ada called Bob on Monday", "Bob called Ada on Monday"),
    ("Zoë Muller signed the contract", "Zoe Muller signed the contract"),
    ("はしのかきをたべた", "はしのがきをたべた"),
    ("The review said 👍 to the plan", "The review said 👎 to the plan"),
    ("The area is 20 m² of floor", "The area is 20 m2 of floor"),
    ("The number of orders is 5!", "The number of orders is 5"),
    ("Meet Ada at the therapist", "Meet Ada at the the rapist"),
    ("The flag is `-f .` in the script", "The flag is `-f ` in the script"),
    ("jobs:\n  build:\n    needs: test", "jobs:\n  build:\n  needs: test"),
    ("if late:\n    warn()\n    stop()", "if late:\n    warn()\nstop()"),
    ("sed s/.", "sed s/"),
    ("Wait for Ada...", "Wait for Ada.."),
]
SAME = [
    ("Ada likes green tea.", "Ada likes green tea"),
    ("Ada likes tea (green).", "Ada likes tea (green)"),
    ("  Ada likes green tea \n", "Ada likes green tea."),
    ("Ada likes\ngreen tea", "Ada likes green tea"),
    ("One line\r\n\r\nand another one", "One line\nand another one"),
    ("Ada\u00a0likes\u3000green tea", "Ada likes green tea"),
    ("今天天气很好。", "今天天气很好"),
    ("आज मौसम अच्छा है।", "आज मौसम अच्छा है"),
    (unicodedata.normalize("NFD", "Zoë likes crème brûlée"), "Zoë likes crème brûlée"),
    ("jobs:\n  build:   \n    needs:  test\n", "jobs:\n  build:\n    needs: test"),
]


@pytest.mark.parametrize(("content", "other"), FACTS)
def test_contents_that_state_different_facts_have_different_wordings(content: str, other: str) -> None:
    assert wording(content) != wording(other)
    assert wording_id(content, None) != wording_id(other, None)


@pytest.mark.parametrize(("content", "other"), SAME)
def test_white_space_and_a_final_full_stop_do_not_change_the_wording(content: str, other: str) -> None:
    assert wording(content) == wording(other)
    assert wording_id(content, "a") == wording_id(other, "a")


def test_a_short_content_has_the_same_wording_only_within_its_session() -> None:
    assert wording_id("Yes, I did.", "a") != wording_id("Yes, I did.", "b")
    assert wording_id("Yes, I did.", "a") == wording_id("Yes,  I did", "a")
    assert wording_id("Ada has the key.", "a") == wording_id("Ada has the key.", "b")


BLANKS = st.sampled_from([" ", "  ", "\t", "\n", " \n", "\r\n", "\u00a0", "\u2003", "\u3000", "\n\n"])
SCRIPTS = st.sampled_from(
    "aAbBzZéÉñßøłçÅ019²٣३+-*/<>=!?%$€£#@&|~^_'\"()[]{}:;,…→←↔≠≤≥±×÷°👍👎❤🇩🇪♂♀½αβωάжёйщאבשعربيةहिन्दीกาไทย日本語かがカガ한국어ﬁＡ\u0301\u0308\u200d\ufe0f"
)
WORDS = st.lists(
    st.text(SCRIPTS | st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=6), min_size=1, max_size=8
)
FULL_STOPS = frozenset(".。．｡।۔։።။។")


def _written(words: list[str], blanks: list[str]) -> str:
    return "".join(part for pair in zip(words, [*blanks, ""], strict=True) for part in pair)


@many_at_night
@given(data=st.data())
def test_changing_a_meaningful_character_changes_the_wording(data: st.DataObject) -> None:
    words = data.draw(WORDS)
    text = " ".join(words)
    kind = data.draw(st.sampled_from(["replace", "insert", "delete", "swap", "case"]))
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(SCRIPTS | st.characters(exclude_categories=("Z", "C")))
    changed = {
        "replace": text[:at] + new + text[at + 1 :],
        "insert": text[:at] + new + text[at:],
        "delete": text[:at] + text[at + 1 :],
        "case": text[:at] + text[at].swapcase() + text[at + 1 :],
        "swap": " ".join(reversed(words)),
    }[kind]
    if _reference_words(text) != _reference_words(changed):
        assert wording(text) != wording(changed), (text, changed)


def _reference_words(text: str) -> list[str]:
    """Words of a text without a final full stop: a second implementation to compare with."""
    words = unicodedata.normalize("NFC", text).split()
    if words and words[-1][-1] in FULL_STOPS:
        words[-1] = words[-1][:-1]
    return [word for word in words if word]


@many_at_night
@given(data=st.data())
def test_the_amount_of_white_space_between_words_does_not_change_the_wording(data: st.DataObject) -> None:
    words = [word for word in data.draw(WORDS) if unicodedata.normalize("NFC", word)[0].isalnum()] or ["Ada"]
    text = " ".join(words)
    blanks = data.draw(st.lists(BLANKS, min_size=len(words) - 1, max_size=len(words) - 1))
    around = data.draw(st.tuples(st.text(" \n\t", max_size=3), st.text(" \n\t", max_size=3)))
    stop = "." if text[-1].isalnum() and data.draw(st.booleans()) else ""
    assert wording(text) == wording(around[0] + _written(words, blanks) + stop + around[1])
