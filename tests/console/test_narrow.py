"""The console at a width of 320 pixels, as on a small phone or at a zoom of 400 %."""

from collections.abc import Iterator

import pytest

from tests.chromium import Chromium
from tests.console.pages import set_width
from tests.console.person import click, find, keys, press, shows
from tests.dev import DevServer

# Returns whether two of the elements overlap, and whether one of them is outside the window.
PLACES = """
const boxes = [...document.querySelectorAll(arguments[0])].map((one) => one.getBoundingClientRect());
const meet = (one, other) => one.left < other.right && other.left < one.right
  && one.top < other.bottom && other.top < one.bottom;
return {
  outside: boxes.some(({ left, right }) => left < 0 || right > innerWidth),
  overlapping: boxes.some((one, index) => boxes.slice(index + 1).some((other) => meet(one, other))),
};
"""


@pytest.fixture(scope="module")
def long_tags(system: DevServer, site: str, browser: Chromium) -> Iterator[str]:
    """A memory with long tags, and the list in a narrow window."""
    id_ = system.remember("TITLE: Crane\nIt lifts boats.", tags=["z" * 80, "y " * 30 + "y", "crane"])
    set_width(browser, 320)
    browser.open(f"{site}/?tags=crane")
    shows(browser, "It lifts boats.")
    yield id_
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    system.call("delete_memory", {"id": id_})


def test_the_tags_of_a_row_do_not_cover_its_date(browser: Chromium, long_tags: str) -> None:
    places = browser.driver.execute_script(PLACES, ".row > .tags > .tag, .row > time")
    assert not places["outside"] and not places["overlapping"]


# Returns, for each page's name in the navigation, the number of lines on which it is written.
LINES = """
const lines = (one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  return new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom))).size;
};
return [...document.querySelectorAll(".tabbar > a:not(.add)")].map((tab) => lines(tab.lastChild));
"""


def test_the_name_of_a_page_has_one_line(browser: Chromium, long_tags: str) -> None:
    assert {*browser.driver.execute_script(LINES)} == {1}


def test_the_link_of_the_logo_has_a_name(browser: Chromium, long_tags: str) -> None:
    assert find(browser, "a.brand").accessible_name == "Mnemosyne"


def test_all_actions_on_the_picked_memories_are_visible(browser: Chromium, long_tags: str) -> None:
    press(browser, "Pick")
    click(browser, ".pick input")
    find(browser, ".bulk [aria-label='Pick none']")
    places = browser.driver.execute_script(PLACES, ".bulk > *")
    assert not places["outside"] and not places["overlapping"]


def test_the_memories_that_may_replace_another_one_can_be_told_apart(
    site: str, browser: Chromium, long_tags: str
) -> None:
    browser.open(f"{site}/memories/{long_tags}")
    find(browser, ".sheet")
    keys(browser, "r")
    line = find(browser, ".option .line")
    assert line.rect["width"] > 160
