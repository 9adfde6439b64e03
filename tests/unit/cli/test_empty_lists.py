"""The output of the operator's commands that list something, if there are no entries."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from mnemosyne.cli.main import cli


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("keys", "There are no keys."),
        ("grants", "There are no valid grants."),
        ("lockouts", "Nobody is locked out."),
        ("holds", "There are no holds."),
    ],
)
def test_an_empty_list_says_so_and_is_empty_as_json(monkeypatch: pytest.MonkeyPatch, group: str, said: str) -> None:
    system = SimpleNamespace(run=lambda operation: {group: []})
    monkeypatch.setattr(f"mnemosyne.cli.{group}.owners_system", lambda **_: nullcontext(system))
    assert CliRunner().invoke(cli, [group, "list", "--data-dir", "x"]).stdout == f"{said}\n"
    assert CliRunner().invoke(cli, [group, "list", "--data-dir", "x", "--json"]).stdout == "[]\n"
