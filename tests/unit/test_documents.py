"""Lists in the documents are the same as in the code."""

import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from mnemosyne.cli.main import cli
from mnemosyne.domain.principal import Scope
from mnemosyne.settings import Settings

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/reference").glob("*.md"))]


def _text(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_headings_of_a_document_are_distinct(document: Path) -> None:
    headings = re.findall(r"^#+ (?:[0-9]+ )?(.+)$", document.read_text(), re.MULTILINE)
    assert [heading for heading, times in Counter(headings).items() if times > 1] == []


def test_the_reference_lists_each_command() -> None:
    rows = "".join(line.split(" | ")[0] for line in _text("reference/cli.md").splitlines() if line.startswith("| "))
    assert [name for name in cli.commands if not re.search(rf"`{name}\b", rows)] == []


@pytest.mark.parametrize("document", ["reference/identity.md", "operations.md"])
def test_a_document_lists_each_way_to_authenticate(document: str) -> None:
    modes = get_args(Settings.model_fields["auth_mode"].annotation)
    assert len(modes) == 5
    text = _text(document)
    assert [mode for mode in modes if f"`{mode}` (" not in text and f"| `{mode}`" not in text] == []


def test_operations_and_glossary_list_each_scope() -> None:
    for document in ("operations.md", "glossary.md", "reference/identity.md"):
        assert [scope for scope in Scope if f"`{scope}`" not in _text(document)] == [], document
