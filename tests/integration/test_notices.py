"""The list of third-party licences is held to what is used: each way in which it can be wrong is said."""

from email.message import Message
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest

from supply_chain import notices
from supply_chain.notices import Notice, carried, installed, licences, listed, main, problems
from supply_chain.pins import DEPLOYED, Pin, brought_by, pins, used

GOOD = {"flask": Notice("BSD-3-Clause", "deployed", "")}
USED = {"flask": "deployed"}


class Package(Distribution):
    """A package that says this of itself."""

    def __init__(self, *headers: tuple[str, str]) -> None:
        self._message = Message()
        for name, value in headers:
            self._message[name] = value

    def read_text(self, filename: str) -> str | None:
        return str(self._message) if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        raise NotImplementedError


def test_the_list_of_this_repository_is_whole() -> None:
    main()


def test_a_package_that_is_not_listed_is_said() -> None:
    assert problems({**USED, "left-pad": "local"}, GOOD, {}) == ["left-pad is not listed: add it under Packages"]


def test_a_package_that_is_gone_is_said() -> None:
    assert problems({}, GOOD, {}) == ["flask is listed and not used any more: take it out"]


@pytest.mark.parametrize("licence", ["GPL-3.0-or-later", "AGPL-3.0-only", "MIT AND SSPL-1.0", "LicenseRef-Mine"])
def test_a_licence_that_is_not_allowed_is_refused(licence: str) -> None:
    (problem,) = problems(USED, {"flask": Notice(licence, "deployed", "we like it")}, {})
    assert problem.startswith("flask has a licence that is not allowed, ")


@pytest.mark.parametrize("licence", ["LGPL-2.1-or-later", "MIT AND MPL-2.0"])
def test_a_licence_that_asks_for_changes_back_needs_a_reason(licence: str) -> None:
    (problem,) = problems(USED, {"flask": Notice(licence, "deployed", "")}, {})
    assert problem.endswith("say in its row why it is used")
    assert problems(USED, {"flask": Notice(licence, "deployed", "used unchanged")}, {}) == []


def test_what_is_no_spdx_expression_is_refused() -> None:
    (problem,) = problems(USED, {"flask": Notice("the usual", "deployed", "")}, {})
    assert problem == "flask is listed as 'the usual': write an SPDX expression"


def test_a_package_that_changed_its_licence_is_said() -> None:
    (problem,) = problems(USED, GOOD, {"flask": frozenset(("AGPL-3.0-only",))})
    assert problem == "flask is listed as BSD-3-Clause, and its metadata says AGPL-3.0-only"


def test_metadata_that_is_not_understood_is_said() -> None:
    said = licences(Package(("License", "Do as you like")))
    assert said is None
    assert "words that are not known here" in problems(USED, GOOD, {"flask": said})[0]


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("License-Expression", "BSD-3-Clause"),
        ("License", "BSD"),
        ("Classifier", "License :: OSI Approved :: BSD License"),
    ],
)
def test_each_way_of_saying_a_licence_is_understood(header: str, value: str) -> None:
    assert problems(USED, GOOD, {"flask": licences(Package((header, value)))}) == []


def test_a_library_that_a_wheel_carries_must_be_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "libquadmath" in carried(installed(used()).values())
    text = tmp_path / "THIRD_PARTY_NOTICES.md"
    text.write_text(notices.NOTICES.read_text().replace("`libquadmath`", ""))
    monkeypatch.setattr(notices, "NOTICES", text)
    with pytest.raises(SystemExit, match=r"libquadmath, which numpy carries, is not listed"):
        main()


def test_what_a_package_brings_counts_too() -> None:
    via = {"a": "mnemosyne", "b": "a", "c": "pytest"}
    locked = [Pin(name, "1", frozenset(), frozenset((asker,))) for name, asker in via.items()]
    assert brought_by(["A"], locked) == {"a", "b"}


def test_what_is_for_other_platforms_counts_too() -> None:
    assert {"pywin32", "colorama"} <= used().keys()
    assert len([pin for pin in pins(DEPLOYED) if pin.name == "numpy"]) == 2


def test_rows_are_read() -> None:
    rows = listed("| `a-b` | MIT OR Apache-2.0 | local | why |\n| `c` | MIT | deployed | |\n")
    assert rows == {"a-b": Notice("MIT OR Apache-2.0", "local", "why"), "c": Notice("MIT", "deployed", "")}
