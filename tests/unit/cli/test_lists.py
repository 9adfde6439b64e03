"""The output of commands that list something."""

from collections.abc import Iterator

import pytest

from mnemosyne.cli import access
from mnemosyne.cli.following import Row, print_rows
from mnemosyne.errors import Unavailable
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


@pytest.mark.parametrize(
    ("ids", "count", "end"),
    [
        ([], 8, "  8"),
        ([], 0, "ada"),
        (["a"], 1, "  1  a"),
        (["a", "b", "c", "d"], 7, "  7  a, b, c, and 4 more"),
        (["a"], 5, "  5  a, and 4 more"),
    ],
)
def test_the_remainder_of_an_audit_event_counts_the_ids_not_printed(ids: list[str], count: int, end: str) -> None:
    event = {
        "at": "2026-05-20T12:00:00Z", "action": "ingest_memories", "outcome": "done", "namespace": "n",
        "principal": "ada", "credential": "", "client": "", "ids": ids, "count": count,
    }  # fmt: skip
    assert access._line(event).endswith(end)


def _interrupted() -> Iterator[Row]:
    yield {"state": "stored"}
    raise KeyboardInterrupt


def _print(*, follow: bool) -> None:
    print_rows(_interrupted(), str, counted_by="state", noun="outcome", as_json=True, follow=follow)


def test_ctrl_c_ends_a_followed_listing(capsys: pytest.CaptureFixture[str]) -> None:
    _print(follow=True)
    assert capsys.readouterr() == ('{"state": "stored"}\n', "1 outcome: 1 stored.\n")


def test_ctrl_c_in_a_listing_that_ends_by_itself_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        _print(follow=False)
    assert capsys.readouterr().err == "1 outcome: 1 stored.\n"


def test_an_error_is_not_preceded_by_a_count(capsys: pytest.CaptureFixture[str]) -> None:
    def failing() -> Iterator[Row]:
        yield {"state": "stored"}
        raise Unavailable("the server cannot be reached")

    with pytest.raises(Unavailable):
        print_rows(failing(), str, counted_by="state", noun="outcome", as_json=True, follow=False)
    assert capsys.readouterr().err == ""
