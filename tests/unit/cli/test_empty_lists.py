"""The output of the operator's commands that list something, if there are no entries."""

import pytest

from tests.unit.cli.conftest import UseSystem, invoke


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("keys", "There are no keys."),
        ("grants", "There are no valid grants."),
        ("lockouts", "Nobody is locked out."),
        ("holds", "There are no holds."),
    ],
)
def test_an_empty_list_says_so_and_is_empty_as_json(use_system: UseSystem, group: str, said: str) -> None:
    use_system(lambda operation: {group: []})
    assert invoke(f"{group} list --data-dir x").stdout == f"{said}\n"
    assert invoke(f"{group} list --data-dir x --json").stdout == "[]\n"
