"""The page Forget lists the memories that would be forgotten, and forgets them after a confirmation."""

from uuid import UUID

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from mnemosyne.domain.forgetting import Selection
from tests.chromium import Chromium
from tests.console.holds import hold, release
from tests.console.person import click, find, follow, keys, open_page, press, shows
from tests.console.server import ConsoleServer
from tests.dev import DevServer

LISTED = "return [...document.querySelectorAll('main section li a')].map((link) => link.textContent)"


def test_a_person_sees_the_memories_of_a_tag_before_forgetting_them(
    site: str, browser: Chromium, system: DevServer
) -> None:
    browser.open(f"{site}/import")
    shows(browser, "with a receipt. Choose what to forget")
    follow(browser, "Choose what to forget")
    press(browser, "Show what would be forgotten")
    shows(browser, "Choose tags, a session or a time, or all memories.")
    find(browser, "#forget-tags").send_keys("tea,")
    press(browser, "Show what would be forgotten")
    shows(browser, "2 memories would be forgotten")
    assert [line[:12] for line in browser.driver.execute_script(LISTED)] == ["TITLE: Note ", "TITLE: Note "]
    press(browser, "Forget 2 memories")
    shows(browser, "This cannot be undone.")
    press(browser, "Cancel")
    assert system.call("memory_stats", {})["memories"] == 3
    press(browser, "Forget 2 memories")
    click(browser, "dialog .btn.danger")
    shows(browser, "2 memories forgotten. The receipt: mnemosyne receipt show --namespace default ")
    assert system.call("memory_stats", {})["memories"] == 1


def test_the_receipt_is_shown_to_a_person_who_left_the_page_during_the_forgetting(
    site: str, browser: Chromium, system: DevServer
) -> None:
    system.outcome(system.ingest("Fay skates on Tuesdays.", session="skating"))
    browser.open(f"{site}/forget")
    find(browser, "#forget-session").send_keys("skating")
    press(browser, "Show what would be forgotten")
    hold(browser, "forget_memories")
    press(browser, "Forget 1 memory")
    click(browser, "dialog .btn.danger")
    open_page(browser, "Import")
    shows(browser, "Choose what to forget")
    release(browser)
    follow(browser, "Choose what to forget")
    shows(browser, "1 memory forgotten. The receipt: mnemosyne receipt show ")
    click(browser, ".note .btn")


def test_nothing_is_forgotten_if_a_memory_was_added_after_the_list(
    site: str, browser: Chromium, system: DevServer
) -> None:
    system.outcome(system.ingest("Ada rows on Sundays.", session="rowing"))
    browser.open(f"{site}/forget")
    find(browser, "#forget-session").send_keys("rowing")
    press(browser, "Show what would be forgotten")
    shows(browser, "1 memory would be forgotten")
    system.outcome(system.ingest("Bob rows on Mondays.", session="rowing"))
    press(browser, "Forget 1 memory")
    click(browser, "dialog .btn.danger")
    shows(browser, "dry run")
    assert system.call("memory_stats", {})["memories"] == 3


def test_the_page_of_a_held_memory_shows_the_reason_and_no_deletion(
    site: str, browser: Chromium, system: ConsoleServer
) -> None:
    id_ = system.remember("Cy keeps bees.")
    selection = Selection(ids=(UUID(id_),))
    hold_id = system.owner.holds.place("default", selection, "<b>case 7</b> is before the court", "local")
    browser.open(f"{site}/memories/{id_}")
    shows(browser, "A legal hold keeps this memory, so it cannot be deleted: <b>case 7</b> is before the court")
    click(browser, "[aria-label=More]")
    shows(browser, "Export as Markdown")
    assert not browser.driver.find_elements(By.CSS_SELECTOR, ".menu-list .danger")
    keys(browser, Keys.ESCAPE, Keys.DELETE)
    assert "Closing the tab keeps it" not in browser.text
    system.owner.holds.release("default", hold_id)
    system.call("delete_memory", {"id": id_})
