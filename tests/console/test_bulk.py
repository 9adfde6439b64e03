"""Changes of more memories than one call takes, and an export that continues on other pages."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.failing import intercept
from tests.console.holds import hold, release, wait_until_held
from tests.console.person import click, find, keys, open_page, press, reads, shows, type_into, wait_for_titles
from tests.console.server import ConsoleServer
from tests.dev import DevServer
from tests.waiting import wait_until

COUNT = 102
DAY = "2023-03-01"
REFUSE_THE_SECOND = """
window.calls = (window.calls ?? 0) + 1;
return window.calls === 2 ? refuse(400, "The disk is full.") : real(...asked);
"""
TAGGED = "return document.querySelectorAll('.row .tag').length"


@pytest.fixture
def many(system: ConsoleServer, site: str, browser: Chromium) -> Iterator[list[str]]:
    """The ids of COUNT memories of one day, all of which are listed."""
    ids = system.remember_all(*({"content": f"Bead {n}.", "timestamp": f"{DAY}T12:00:00Z"} for n in range(COUNT)))
    browser.open(f"{site}/?after={DAY}&before={DAY}")
    for rows in (50, 100):
        _wait_for(browser, rows)
        press(browser, "Load more")
    _wait_for(browser, COUNT)
    yield ids
    system.delete(ids)


def _wait_for(browser: Chromium, rows: int) -> None:
    wait_until(lambda: len(browser.driver.find_elements(By.CSS_SELECTOR, ".row-link")) == rows, f"{rows} rows")


def _count(system: DevServer, tag: str) -> int:
    counts = {entry["tag"]: entry["memories"] for entry in system.call("memory_facets", {"prefix": tag})["tags"]}
    return int(counts.get(tag, 0))


def test_an_error_in_the_middle_of_tagging_says_how_many_memories_have_the_tag(
    system: DevServer, browser: Chromium, many: list[str]
) -> None:
    for place, key in ((0, "x"), (-1, "X")):
        browser.driver.execute_script("[...document.querySelectorAll('.row-link')].at(arguments[0]).focus()", place)
        keys(browser, key)
    shows(browser, f"{COUNT} picked")
    intercept(browser, "update_memory", REFUSE_THE_SECOND)
    keys(browser, "t")
    type_into(browser, "bulk-tags", "glass,")
    press(browser, "Save")
    reads(browser, "dialog", "Tags of 100 memories changed.")
    reads(browser, "dialog [role=alert]", "The disk is full.")
    assert _count(system, "glass") == 100 == browser.driver.execute_script(TAGGED)
    press(browser, "Save")
    shows(browser, f"Tags of {COUNT} memories changed.")
    assert _count(system, "glass") == COUNT == browser.driver.execute_script(TAGGED)
    assert "picked" not in browser.text


def test_the_options_of_new_tags_do_not_cover_the_tags_to_remove(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    ids = system.remember_titled("Sinker", "Plumb", tags=["lead"])
    browser.open(f"{site}/?tags=lead")
    wait_for_titles(browser, "Plumb", "Sinker")
    keys(browser, "j", "x", "j", "x", "t")
    click(browser, "dialog .check input")
    press(browser, "Save")
    shows(browser, "Tags of 2 memories changed.")
    assert _count(system, "lead") == 0
    system.call("delete_memory", {"ids": ids})


def test_an_export_is_shown_and_can_be_stopped_after_its_page_was_left(
    system: DevServer, site: str, browser: Chromium
) -> None:
    browser.open(f"{site}/import")
    reads(browser, "[aria-labelledby=export] .btn.main", "Export 3 memories")
    hold(browser, "export_memories")
    click(browser, "[aria-labelledby=export] .btn.main")
    wait_until_held(browser)
    open_page(browser, "Tags")
    assert find(browser, ".import-progress").text.split() == ["Export", "0", "of", "3"]
    click(browser, ".import-progress")
    press(browser, "Stop")
    release(browser)
    shows(browser, "The export was stopped: no file was saved.")
