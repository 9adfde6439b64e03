"""The function `quantity` writes a count with a singular or plural noun. Commands print counts only with it."""

import re
from pathlib import Path

import pytest

from mnemosyne.domain.plurals import quantity

ROOT = Path(__file__).parents[3]
PLURALS = "memories|dead letters|letters|failures|outcomes|batches|messages|requests"
UNCOUNTED = re.compile(rf"(?<! of )\{{[^{{}}]*\}} ({PLURALS})\b(?! of the)")
"""Pattern of a number before a plural noun, which would be wrong for the number 1. "2 of 3 memories" does not match."""


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
def test_a_count_of_one_has_a_singular_noun(count: int, nouns: tuple[str, ...], text: str) -> None:
    assert quantity(count, *nouns) == text


@pytest.mark.parametrize("path", sorted((ROOT / "functions/mnemosyne/cli").glob("*.py")), ids=lambda path: path.name)
def test_commands_do_not_print_a_count_before_a_fixed_plural(path: Path) -> None:
    assert [line for line in path.read_text().splitlines() if UNCOUNTED.search(line)] == []
