"""A command with an unknown id fails, and its error names the command that lists the ids."""

from collections.abc import Callable
from uuid import UUID

import pytest
from click.testing import Result

from mnemosyne.errors import NotFound

UNKNOWN = str(UUID(int=1))


@pytest.mark.parametrize(
    ("arguments", "listing"),
    [
        (["keys", "revoke", "abc"], "mnemosyne keys list"),
        (["lockouts", "add", "key", "abc"], "mnemosyne keys list"),
        (["lockouts", "remove", "key", "abc"], "mnemosyne lockouts list"),
        (["grants", "revoke", UNKNOWN], "mnemosyne grants list"),
        (["holds", "release", UNKNOWN, "--namespace", "ns"], "mnemosyne holds list"),
        (["dead-letters", "show", "8412", "--namespace", "ns"], "mnemosyne dead-letters list --namespace ns"),
        (["dead-letters", "show", "8412", "--namespace", ""], "mnemosyne dead-letters list --namespace ''"),
        (["dead-letters", "drop", "8412", "--namespace", "ns"], "mnemosyne dead-letters list --namespace ns"),
        (["receipt", "show", UNKNOWN, "--namespace", "ns"], "mnemosyne receipt list --namespace ns"),
        (["forget", "--continue", UNKNOWN, "--namespace", "ns"], "mnemosyne receipt list --namespace ns"),
        (["forget", "--continue", UNKNOWN, "--namespace", "our team"], "mnemosyne receipt list --namespace 'our team'"),
        (["retention", "clear", "--namespace", "ns"], "mnemosyne retention list"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_error_about_an_unknown_id_names_the_command_that_lists_the_ids(
    command: Callable[..., Result], arguments: list[str], listing: str
) -> None:
    result = command(*arguments)
    assert isinstance(result.exception, NotFound), result.output
    assert f"see `{listing}`" in str(result.exception)
