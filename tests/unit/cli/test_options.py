"""Options that several commands have."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from mnemosyne.cli.import_source import Source
from mnemosyne.cli.main import cli
from mnemosyne.errors import InvalidRequest


@pytest.mark.parametrize(
    "command",
    [
        "retention set --maximum 30d --yes",
        "retention set --default none",
        "retention clear",
        "quota set --memories 10",
        "change-feed on --contents",
        "change-feed off",
    ],
)
def test_an_empty_namespace_does_not_change_all_namespaces(command: str) -> None:
    ended = CliRunner().invoke(cli, [*command.split(), "--namespace", ""])
    assert ended.exit_code == 2
    assert "must not be empty: leave the option out for all namespaces" in " ".join(ended.output.split())


@pytest.mark.parametrize(
    "command",
    [
        "holds list",
        "quota list",
        "outcomes",
        "changes",
        "audit",
        "access --key x",
        "receipt list",
        "forget --tag x",
        "export",
    ],
)
def test_an_empty_namespace_is_not_a_namespace_without_entries(tmp_path: Path, command: str) -> None:
    ended = CliRunner().invoke(cli, [*command.split(), "--namespace", "", "--data-dir", str(tmp_path / "data")])
    assert ended.exit_code == 2
    assert "'--namespace': must not be empty: leave the option out" in " ".join(ended.output.split())


@pytest.mark.parametrize("command", ["import FILE", "import FILE --restore", "keys create --name me"])
@pytest.mark.parametrize("namespace", ["", " ", "a\nb", "team ", "x" * 201])
def test_a_name_that_no_namespace_can_have_is_refused(tmp_path: Path, command: str, namespace: str) -> None:
    (tmp_path / "a.md").write_text("text")
    arguments = command.replace("FILE", str(tmp_path / "a.md")).split()
    ended = CliRunner().invoke(cli, [*arguments, "--namespace", namespace, "--data-dir", str(tmp_path / "data")])
    assert ended.exit_code == 2
    assert "must be 1 to 200 printable characters" in " ".join(ended.output.split())


@pytest.mark.parametrize("command", ["import FILE", "outcomes"])
@pytest.mark.parametrize(
    ("source", "got"),
    [("", "got ''"), (" ", "got ' '"), ("a\nb", "got 'a\\nb'"), ("x" * 1_501, "got 1,501 characters")],
)
def test_a_source_that_no_record_can_have_is_refused_with_the_value_and_the_fix(
    tmp_path: Path, command: str, source: str, got: str
) -> None:
    (tmp_path / "a.md").write_text("text")
    arguments = command.replace("FILE", str(tmp_path / "a.md")).split()
    ended = CliRunner().invoke(cli, [*arguments, "--source", source, "--data-dir", str(tmp_path / "data")])
    assert ended.exit_code == 2
    printed = " ".join(ended.output.split())
    assert f"'--source': must be 1 to 1,500 visible characters on one line, {got}: choose another source" in printed


def test_a_folder_whose_path_is_too_long_for_a_source_needs_a_named_source(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["n" * 200] * 8)
    folder.mkdir(parents=True)
    with pytest.raises(
        InvalidRequest, match=rf"1,500 characters, got {len(str(folder)):,}: name the source with --source"
    ):
        Source.at(folder)
    assert Source.at(folder, vault="notes").vault == "notes"


def test_the_length_of_a_path_includes_its_escapes(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["\udce9" * 150] * 2)  # each byte that is not UTF-8 becomes six characters
    folder.mkdir(parents=True)
    with pytest.raises(InvalidRequest, match=rf"1,500 characters, got {len(str(tmp_path)) + 2 * 901:,}: "):
        Source.at(folder)


@pytest.mark.parametrize("way", ["--url http://127.0.0.1:9/mcp", "--via mcp --data-dir DIR"])
def test_an_import_by_tools_refuses_a_namespace_because_the_key_chooses_it(tmp_path: Path, way: str) -> None:
    (tmp_path / "a.md").write_text("text")
    arguments = ["import", str(tmp_path / "a.md"), "--namespace", "team", *way.replace("DIR", str(tmp_path)).split()]
    ended = CliRunner().invoke(cli, arguments)
    assert (ended.exit_code, "the key chooses the namespace" in " ".join(ended.output.split())) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]


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
    ended = CliRunner().invoke(cli, command.split())
    assert (ended.exit_code, message in " ".join(ended.output.split())) == (2, True), ended.output


@pytest.mark.parametrize(
    ("command", "option"),
    [("dev", "--data-dir"), ("dev --auth-mode api_key", "--host"), ("stdio", "--data-dir"), ("remember tea", "--ttl")],
)
def test_an_empty_value_is_refused_because_the_default_may_be_the_opposite(command: str, option: str) -> None:
    ended = CliRunner().invoke(cli, [*command.split(), option, ""])
    assert ended.exit_code == 2
    assert f"'{option}': must not be empty: leave the option out" in " ".join(ended.output.split())
