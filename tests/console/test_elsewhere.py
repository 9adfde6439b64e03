"""Lists after changes by another client."""

from datetime import UTC, datetime, timedelta

import pytest
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.person import click_row, come_back, find, press, shows, titles, wait_for_titles
from tests.console.server import ConsoleServer
from tests.waiting import wait_until


def _store(system: ConsoleServer, tag: str) -> list[str]:
    """Store three memories with a tag, and return their ids, the oldest first."""
    return system.remember_all(
        *(
            {"content": f"TITLE: Jar {n}\nThe jar {n} {tag}.", "tags": [tag], "timestamp": f"2026-03-0{n}T12:00:00Z"}
            for n in (1, 2, 3)
        )
    )


def test_changed_and_deleted_memories_are_updated_in_the_list(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    first, second, _ = _store(system, "jars")
    browser.open(f"{site}/?tags=jars")
    wait_for_titles(browser, "Jar 3", "Jar 2", "Jar 1")
    system.call("update_memory", {"id": first, "title": "Pot 1"})
    system.call("delete_memory", {"id": second})
    come_back(browser)
    wait_for_titles(browser, "Jar 3", "Pot 1")


def test_a_changed_memory_of_a_further_page_is_updated_in_the_list(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    ids = system.remember_titled(*(f"Cup {n}" for n in range(60)), tags=["cups"])
    browser.open(f"{site}/?tags=cups")
    press(browser, "Load more")
    wait_until(lambda: len(titles(browser)) == 60, "all are listed", seconds=30)
    system.call("update_memory", {"id": ids[0], "title": "Mug 0"})
    come_back(browser)
    wait_until(lambda: titles(browser)[-1] == "Mug 0", "the oldest is updated", seconds=30)
    system.delete(ids)


def test_a_memory_that_was_not_found_leaves_the_list(system: ConsoleServer, site: str, browser: Chromium) -> None:
    first, _, _ = _store(system, "lids")
    browser.open(f"{site}/?tags=lids")
    wait_for_titles(browser, "Jar 3", "Jar 2", "Jar 1")
    system.call("delete_memory", {"id": first})
    click_row(browser, 2)
    shows(browser, f"no memory has the id {first}")
    browser.driver.back()
    wait_for_titles(browser, "Jar 3", "Jar 2")


PAGE = 50
MORE = PAGE + 10


@pytest.mark.parametrize(("path", "selector"), [("/", ".row .fit"), ("/activity", ".table .fit")])
def test_more_new_entries_than_a_page_are_all_in_the_list(
    system: ConsoleServer, site: str, browser: Chromium, path: str, selector: str
) -> None:
    browser.open(f"{site}{path}")
    find(browser, selector)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    system.remember_all(
        *(
            {"content": f"Event {n} for {path}.", "timestamp": (tomorrow + timedelta(minutes=n)).isoformat()}
            for n in range(MORE)
        )
    )
    come_back(browser)
    listed: list[str] = []

    def is_new() -> bool:
        script = f"return [...document.querySelectorAll({selector!r})].map((one) => one.textContent)"
        listed[:] = browser.driver.execute_script(script)
        return f"for {path}." in listed[0]

    wait_until(is_new, "the new entries are listed")
    more = browser.driver.find_elements(By.XPATH, "//button[.='Load more']")
    assert [f"for {path}." in text for text in listed] == [True] * PAGE, "only the newest page is shown"
    assert more, "the other new entries are on the next page"
