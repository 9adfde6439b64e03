"""The end of a listing: its count, and Ctrl-C."""

from collections.abc import Iterator

import pytest

from mnemosyne.cli.following import Row, print_rows
from mnemosyne.errors import Unavailable


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
