"""Options that several commands have."""

import pytest
from click.testing import CliRunner

from mnemosyne.cli.main import cli


@pytest.mark.parametrize(
    "command",
    [
        "retention set --maximum 30d --yes",
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
