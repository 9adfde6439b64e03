"""The names of OAuth clients that are displayed to people."""

import unicodedata
from typing import Literal

import pytest

from mnemosyne.domain import client_name as module
from mnemosyne.domain.client_name import NAMELESS, client_name
from mnemosyne.errors import InvalidRequest


def test_only_the_beginning_of_a_long_name_is_normalized(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []

    class Counting:
        name, category = unicodedata.name, unicodedata.category

        @staticmethod
        def normalize(form: Literal["NFKC"], text: str) -> str:
            lengths.append(len(text))
            return unicodedata.normalize(form, text)

    monkeypatch.setattr(module, "unicodedata", Counting)
    assert client_name("Ａda " + "\u0301\u0323" * 16_000)[:4] == "Ada "
    assert lengths == [1_000]


@pytest.mark.parametrize(
    "name",
    [
        "Claude", "Claude Code", "VS Code", "ChatGPT 5", "Яндекс Browser", "Умный помощник", "Ассистент", "Βοηθός",
        "智能助手 AI", "日本語アシスタント", "도우미 AI", "مساعد", "עוזר", "सहायक", "n8n", "Café Über",
        "L'Assistant — v2", "🤖 Robot", "C++ & C#", "a-b_c.d",
    ],
)  # fmt: skip
def test_an_ordinary_client_name_is_shown_unchanged(name: str) -> None:
    assert client_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "Clаude", "Сlaude", "ChаtGPT", "Cursоr", "VЅ Code", "Gооgle", "Ρaypal", "Goοgle", "Clauԁe", "ᴄʟᴀᴜᴅᴇ", "Ꭺpple",
        "ϲlaude", "Αnthropic", "ОpenAI", "սber",
    ],
)  # fmt: skip
def test_a_name_that_mixes_scripts_in_a_word_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="client_name must not"):
        client_name(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Сосо", "Сосо (in Cyrillic letters)"),
        ("АРР Store", "АРР Store (in Cyrillic letters)"),
        ("ΤΟΡ", "ΤΟΡ (in Greek letters)"),
        ("ᎪᏢᏢ", "ᎪᏢᏢ (in Cherokee letters)"),
        ("ＣＬＡＵＤＥ", "CLAUDE"),
        ("𝐂𝐥𝐚𝐮𝐝𝐞", "Claude"),
        ("Ⓒⓛⓐⓤⓓⓔ", "Claude"),
        ("Cla\u200bu\u00adde\u3164", "Claude"),
        ("\u202eedualC", "edualC"),
        ("\u3164\u2800", NAMELESS),
        (None, NAMELESS),
        (7, NAMELESS),
    ],
)
def test_a_client_name_of_look_alike_letters_is_shown_with_its_script_or_in_plain_letters(
    name: object, expected: str
) -> None:
    assert client_name(name) == expected
    assert client_name(expected) == expected
