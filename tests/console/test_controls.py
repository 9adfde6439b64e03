"""Every control of every page, menu and dialog by mouse, touch and keyboard: none is covered, and Tab reaches all."""

from typing import Any

import pytest

from tests.chromium import Chromium
from tests.console.controls import by_keyboard, by_mouse, by_touch, covered
from tests.console.pages import DIALOGS, PAGES, open_page, press_opener, set_width
from tests.console.person import find
from tests.console.touch import phone
from tests.dev import DevServer

pytestmark = pytest.mark.slow

PAGE, MAIN, DIALOG, MENU = "body", "main", "dialog[open]", ".menu[open] .menu-list"
MENUS = {"/": "//summary[@aria-label='Account and appearance']", "/memories/FIRST": "//summary[@aria-label='More']"}
# All pages have the same navigation, so by day its controls are tested on one page only.
BY_DAY = [
    *((path, (), PAGE if path == "/" else MAIN) for path in PAGES),
    *((path, tuple(dialogs[0]), DIALOG) for path, dialogs in DIALOGS.items()),
    *((path, (opener,), MENU) for path, opener in MENUS.items()),
    ("/", ("//main//li//input[@type='checkbox']",), ".bulk"),
    ("/tags", ("//input[@aria-label='Pick tea']", "//input[@aria-label='Pick cup']"), ".bulk"),
]
"""Pages, the elements to click on each, and the selector of the dialog, menu or bar that then opens."""
BY_NIGHT = [
    *((path, (), PAGE) for path in PAGES if path != "/"),
    *((path, tuple(openers), DIALOG) for path, dialogs in DIALOGS.items() for openers in dialogs[1:]),
]


def _nightly(*shown: tuple[str, tuple[str, ...], str]) -> list[Any]:
    return [pytest.param(*one, marks=pytest.mark.nightly) for one in shown]


@pytest.fixture(scope="module")
def two_tags(system: DevServer) -> DevServer:
    """The system, with an additional memory that has a tag of its own."""
    system.outcome(system.ingest("A cup.", tags=["cup"]))
    return system


@pytest.fixture
def opened(
    two_tags: DevServer, site: str, browser: Chromium, path: str, openers: tuple[str, ...], scope: str
) -> Chromium:
    """The browser on the page `path`, after the elements or keys in `openers` were clicked or pressed."""
    set_width(browser, 1280)
    open_page(browser, site, two_tags, path)
    for opener in openers:
        press_opener(browser, opener)
    find(browser, scope)
    return browser


@pytest.mark.parametrize(("path", "openers", "scope"), [*BY_DAY, *_nightly(*BY_NIGHT)])
def test_no_control_is_covered_and_each_is_activated_by_keyboard(opened: Chromium, scope: str) -> None:
    assert covered(opened, scope) == []
    assert by_keyboard(opened, scope) == []
    with phone(opened):
        assert covered(opened, scope) == [], "on a phone"


@pytest.mark.parametrize(
    ("path", "openers", "scope"),
    [("/", (), PAGE), *_nightly(*(shown for shown in [*BY_DAY, *BY_NIGHT] if shown != ("/", (), PAGE)))],
)
def test_each_control_is_activated_by_mouse_and_touch(opened: Chromium, scope: str) -> None:
    assert by_mouse(opened, scope) == []
    with phone(opened):
        assert by_touch(opened, scope) == []
