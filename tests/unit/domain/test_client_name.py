"""The names of OAuth clients that are displayed to people."""

import unicodedata
from typing import Literal

import pytest

from mnemosyne.domain import client_name as module
from mnemosyne.domain.client_name import client_name


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
