"""Numbers of things in sentences, and that the command line uses them."""

import re
from pathlib import Path

import pytest

from mnemosyne.domain.plurals import counted

ROOT = Path(__file__).parents[3]
PLURALS = "memories|dead letters|letters|failures|outcomes|batches|messages|requests"
UNCOUNTED = re.compile(rf"(?<! of )\{{[^{{}}]*\}} ({PLURALS})\b(?! of the)")
"""A number that is written before a plural, whatever the number is; "2 of 3 memories" is one only for one in all."""


@pytest.mark.parametrize(
    ("count", "nouns", "text"),
    [
        (0, ("letter",), "0 letters"),
        (1, ("letter",), "1 letter"),
        (2, ("letter",), "2 letters"),
        (0, ("memory", "memories"), "0 memories"),
        (1, ("memory", "memories"), "1 memory"),
        (1_234, ("memory", "memories"), "1,234 memories"),
        (21, ("batch", "batches"), "21 batches"),
    ],
)
def test_one_thing_is_written_in_the_singular(count: int, nouns: tuple[str, ...], text: str) -> None:
    assert counted(count, *nouns) == text


@pytest.mark.parametrize("path", sorted((ROOT / "functions/mnemosyne/cli").glob("*.py")), ids=lambda path: path.name)
def test_commands_print_no_number_before_a_plural(path: Path) -> None:
    assert [line for line in path.read_text().splitlines() if UNCOUNTED.search(line)] == []
