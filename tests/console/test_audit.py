"""The page of the audit trail: who did what, with filters and older events."""

from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.person import click, follow, press, reads, shows, type_into
from tests.dev import DevServer
from tests.waiting import wait_until


def _rows(browser: Chromium) -> list[list[str]]:
    """Return the texts of the table's cells, read in one step."""
    rows: list[list[str]] = browser.driver.execute_script(
        "return [...document.querySelectorAll('main tbody tr')].map((row) =>"
        " [...row.cells].map((cell) => cell.innerText.trim()))"
    )
    return rows


def test_the_page_shows_a_deletion_with_its_actor(system: DevServer, site: str, browser: Chromium) -> None:
    (newest, *_) = system.call("list_memories", {})["memories"]
    system.call("delete_memory", {"id": newest["id"]})
    browser.open(f"{site}/overview")
    for heading in ("Memories by month", "Most used tags", "This memory"):
        shows(browser, heading)
    follow(browser, "Audit trail")
    reads(browser, "main h1", "Audit trail")
    type_into(browser, "audit-action", "delete_memory")
    press(browser, "Apply")
    wait_until(lambda: len(_rows(browser)) == 1, "the deletion is listed")
    ((who, action, _, _, outcome, count, ids),) = _rows(browser)
    assert (who, action, outcome, count) == ("local", "delete_memory", "Done", "1")
    assert ids == f"…{newest['id'][-8:]}"
    assert not browser.driver.find_elements(By.CSS_SELECTOR, "main td a[href^='/memories/']"), "the memory is gone"
    follow(browser, "Clear all")
    wait_until(lambda: len(_rows(browser)) > 1, "all events are listed")


def test_an_id_leads_to_its_memory(system: DevServer, site: str, browser: Chromium) -> None:
    (memory, *_) = system.call("list_memories", {})["memories"]
    system.call("rate_memory", {"id": memory["id"], "rating": 1})
    browser.open(f"{site}/audit?action=rate_memory")
    click(browser, "main td a[href^='/memories/']")
    reads(browser, "main h1", memory["title"])


def test_a_name_filters_by_person_and_a_person_without_events_has_none(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/audit?action=ingest_memories")
    click(browser, "main tbody td a")
    wait_until(lambda: "person=local" in browser.url, "the name is a filter")
    shows(browser, "ingest_memories")
    type_into(browser, "audit-person", "mallory@example.com")
    press(browser, "Apply")
    shows(browser, "No event matches.")


def test_older_events_follow_the_latest(system: DevServer, site: str, browser: Chromium) -> None:
    for _ in range(51):
        system.call("memory_stats", {})
    every = {"action": "memory_stats", "limit": 100}
    wait_until(lambda: len(system.call("list_audit", every)["events"]) > 50, "the calls are recorded")
    browser.open(f"{site}/audit?action=memory_stats")
    wait_until(lambda: len(_rows(browser)) == 50, "the first page is there")
    press(browser, "Older events")
    wait_until(lambda: len(_rows(browser)) > 50, "the other events are there")
