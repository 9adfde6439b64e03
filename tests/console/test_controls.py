"""Every control of every page, menu and dialog by mouse, touch and keyboard: none is covered, and Tab reaches all."""

import pytest

from tests.chromium import Chromium
from tests.console.controls import by_keyboard, by_mouse, by_touch
from tests.console.pages import DIALOGS, PAGES, open_page, press_opener, set_width
from tests.console.person import find
from tests.console.touch import phone
from tests.dev import DevServer

pytestmark = pytest.mark.slow

PAGE, MAIN, DIALOG, MENU = "body", "main", "dialog[open]", ".menu[open] .menu-list"
MENUS = {"/": "//summary[@aria-label='Account and appearance']", "/memories/FIRST": "//summary[@aria-label='More']"}
SHOWN = [
    # All pages have the same navigation, so by day its controls are activated on one page only.
    *((path, (), PAGE if path == "/" else MAIN) for path in PAGES),
    *(pytest.param(path, (), PAGE, marks=pytest.mark.nightly) for path in PAGES if path != "/"),
    *(
        pytest.param(path, tuple(openers), DIALOG, marks=pytest.mark.nightly if place else [])
        for path, dialogs in DIALOGS.items()
        for place, openers in enumerate(dialogs)
    ),
    *((path, (opener,), MENU) for path, opener in MENUS.items()),
    ("/", ("//main//li//input[@type='checkbox']",), ".bulk"),
    ("/tags", ("//input[@aria-label='Pick tea']", "//input[@aria-label='Pick cup']"), ".bulk"),
]
"""Pages, the elements to click on each, and the selector of the dialog, menu or bar that then opens."""


@pytest.fixture(scope="module")
def two_tags(system: DevServer) -> DevServer:
    """The system, with a memory with a tag that no other memory has."""
    system.outcome(system.ingest("A cup.", tags=["cup"]))
    return system


@pytest.mark.parametrize(("path", "openers", "scope"), SHOWN)
def test_each_control_is_activated_by_mouse_touch_and_keyboard(
    two_tags: DevServer, site: str, browser: Chromium, path: str, openers: tuple[str, ...], scope: str
) -> None:
    set_width(browser, 1280)
    open_page(browser, site, two_tags, path)
    for opener in openers:
        press_opener(browser, opener)
    find(browser, scope)
    by_way = {"mouse": by_mouse(browser, scope), "keyboard": by_keyboard(browser, scope)}
    with phone(browser):
        by_way["touch"] = by_touch(browser, scope)
    assert by_way == {"mouse": [], "keyboard": [], "touch": []}
