"""Options that several commands have."""

from pathlib import Path

import pytest

from mnemosyne.cli.import_source import Source
from mnemosyne.errors import InvalidRequest
from tests.unit.cli.conftest import refusal

NOTE = Path(__file__).parents[3] / "README.md"


@pytest.mark.parametrize("command", [f"import {NOTE}", f"import {NOTE} --restore", "keys create --name me"])
@pytest.mark.parametrize("namespace", ["", " ", "a\nb", "team ", "x" * 201])
def test_a_name_that_no_namespace_can_have_is_refused(command: str, namespace: str) -> None:
    assert "must be 1 to 200 printable characters" in refusal(f"{command} --data-dir x", "--namespace", namespace)


@pytest.mark.parametrize("command", [f"import {NOTE}", "outcomes"])
@pytest.mark.parametrize(
    ("source", "got"),
    [("", "got ''"), (" ", "got ' '"), ("a\nb", "got 'a\\nb'"), ("x" * 1_501, "got 1,501 characters")],
)
def test_a_source_that_no_record_can_have_is_refused_with_the_fix(command: str, source: str, got: str) -> None:
    printed = refusal(f"{command} --data-dir x", "--source", source)
    assert f"'--source': must be 1 to 1,500 visible characters on one line, {got}: choose another source" in printed


@pytest.mark.parametrize(("name", "length"), [("n" * 200, 201), ("\udcff" * 150, 901)], ids=["ASCII", "escapes"])
def test_a_folder_whose_path_is_too_long_for_a_source_needs_a_named_source(
    tmp_path: Path, name: str, length: int
) -> None:
    """Each byte that is not UTF-8 becomes six characters."""
    folder = tmp_path.joinpath(*[name] * 8)
    folder.mkdir(parents=True)
    got = f"got {len(str(tmp_path)) + 8 * length:,}"
    with pytest.raises(InvalidRequest, match=rf"1,500 characters, {got}: name the source with --source"):
        Source.at(folder)
    assert Source.at(folder, vault="notes").vault == "notes"


@pytest.mark.parametrize("way", ["--url http://127.0.0.1:9/mcp", "--via mcp --data-dir x"])
def test_an_import_by_tools_refuses_a_namespace_because_the_key_chooses_it(way: str) -> None:
    assert "the key chooses the namespace" in refusal(f"import {NOTE} --namespace team {way}")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("retention set --default 999999d", "'--default': must be between 1m and 36500d, got '999999d'"),
        ("retention set --maximum 0h", "'--maximum': must be between 1m and 36500d, got '0h'"),
        ("reembed --model gemini-embedding-2 --dimension 127", "127 is not in the range 128<=x<=3072"),
        (
            f"quota set --memories {'9' * 5_000}",
            f"must be a number of at most 100 digits, `any` or `default`, got '{'9' * 60}'",
        ),
    ],
)
def test_the_limits_of_an_option_are_named_in_its_unit(command: str, message: str) -> None:
    assert message in refusal(command)
