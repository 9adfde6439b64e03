"""Values in addresses and forms of the console: tags with commas, the time zone, and the latest search."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.failing import alter
from tests.console.holds import hold, release, wait_until_held
from tests.console.person import (
    click,
    click_row,
    find,
    keys,
    open_page,
    press,
    shows,
    titles,
    type_into,
    wait_for_titles,
)
from tests.console.server import ConsoleServer
from tests.dev import DevServer
from tests.waiting import wait_until

GO = "history.pushState(null, '', arguments[0]); dispatchEvent(new PopStateEvent('popstate'));"
SCROLL_TO_ROW = """
const row = document.querySelectorAll(".row-link")[arguments[0]];
row.scrollIntoView({block: "center"});
return [row.href, scrollY];
"""


@pytest.mark.parametrize(
    ("address", "message"),
    [("memories/%", "id must be a whole UUID"), ("?after=2026-13-45&q=tea", "must be YYYY-MM-DD")],
)
def test_an_invalid_value_in_an_address_shows_an_error(
    site: str, browser: Chromium, address: str, message: str
) -> None:
    browser.open(f"{site}/{address}")
    shows(browser, message)


def test_a_page_that_cannot_be_shown_leaves_the_menu_and_the_other_pages(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/tags")
    find(browser, ".tagtable")
    alter(browser, "memory_stats", "answer.result.structuredContent = {};")
    open_page(browser, "Overview")
    shows(browser, "This page cannot be shown")
    open_page(browser, "Tags")
    find(browser, ".tagtable")


def test_a_late_answer_to_an_earlier_search_does_not_replace_the_latest(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    find(browser, "#query")
    hold(browser, "memory_search")
    browser.driver.execute_script(GO, "/?q=Bob+rows&mode=exact")
    wait_until_held(browser)
    browser.driver.execute_script(GO, "/?q=shelf+7&mode=exact")
    wait_for_titles(browser, "Note 2")
    release(browser)
    assert titles(browser) == ["Note 2"]


def test_a_search_that_is_left_shows_nothing_on_the_next_page(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?q=oolong")
    wait_until(lambda: "Note 1" in titles(browser), "it is found")
    open_page(browser, "Memories")
    shows(browser, "3 memories")
    assert find(browser, "#query").get_property("value") == ""
    press(browser, "Any time")
    type_into(browser, "time", "blorp")
    press(browser, "Apply")
    shows(browser, "time_expr 'blorp' is not understood")


def test_returning_to_a_long_list_restores_the_scroll_position(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    system.remember_all(*({"content": f"Leaf {n} of the long list.", "timestamp": "2024-05-01"} for n in range(120)))
    browser.open(f"{site}/?after=2024-05-01&before=2024-05-01")
    wait_until(lambda: len(titles(browser)) == 50, "the first page is there")
    assert browser.url.startswith(f"{site}/?after"), "the former address shows this page"
    press(browser, "Load more")
    wait_until(lambda: len(titles(browser)) == 100, "the second page is there")
    address, before = browser.driver.execute_script(SCROLL_TO_ROW, 80)
    click_row(browser, 80)
    shows(browser, "81 of 100")
    click(browser, "[aria-label='Next result (j)']")
    shows(browser, "82 of 100")
    browser.driver.back()
    wait_until(lambda: len(titles(browser)) == 100, "both pages are there again")
    wait_until(lambda: abs(browser.driver.execute_script("return scrollY") - before) < 5, "it is scrolled back")
    focus = "return document.activeElement.href"
    wait_until(lambda: browser.driver.execute_script(focus) == address, "the focus is on the row")


def test_going_back_to_results_shows_the_hit_that_was_opened(system: DevServer, site: str, browser: Chromium) -> None:
    memories = [{"content": f"Lantern {n} hangs in the shed."} for n in range(22)]
    system.outcomes(system.call("ingest_memories", {"memories": memories})["request_ids"])
    browser.open(f"{site}/?q=lantern")
    press(browser, "Load more")
    wait_until(lambda: len(browser.driver.find_elements(By.CSS_SELECTOR, ".hit .row-link")) >= 22, "all are listed")
    address, _ = browser.driver.execute_script(SCROLL_TO_ROW, 21)
    click_row(browser, 21)
    shows(browser, "Did it help?")
    browser.driver.back()
    wait_until(
        lambda: browser.driver.execute_script("return document.activeElement.href") == address, "it has the focus"
    )


def test_a_restored_list_does_not_show_deleted_memories(system: DevServer, site: str, browser: Chromium) -> None:
    system.outcome(system.ingest("TITLE: Soon gone\nDeleted at once.", timestamp="2024-04-01T00:00:00Z"))
    browser.open(f"{site}/?after=2024-04-01&before=2024-04-01")
    wait_for_titles(browser, "Soon gone")
    click(browser, ".row-link")
    click(browser, "[aria-label=More]")
    click(browser, ".menu-list .danger")
    shows(browser, "No memories match")


# Presses the key r on the page of a memory as early as possible: when the elements of the page exist, but the browser
# has not drawn them yet.
PRESS_AT_ONCE = """
new MutationObserver((_, observer) => {
  const page = document.querySelector(".sheet");
  if (!page) return;
  observer.disconnect();
  page.dispatchEvent(new KeyboardEvent("keydown", { key: "r", bubbles: true, cancelable: true }));
}).observe(document.body, { childList: true, subtree: true });
"""


def test_a_key_works_as_soon_as_a_page_is_visible(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    wait_until(lambda: bool(titles(browser)), "the memories are listed")
    browser.driver.execute_script(PRESS_AT_ONCE)
    click_row(browser, 0)
    find(browser, "dialog[open]")
    assert "Replace" in browser.driver.find_element(By.CSS_SELECTOR, "dialog[open] h2").text


# Clicks a link as early as possible: when it exists, but the browser has not drawn it yet. Also counts the documents
# that are loaded.
CLICK_AT_ONCE = """
sessionStorage.documents = Number(sessionStorage.documents ?? 0) + 1;
new MutationObserver((_, observer) => {
  const link = document.querySelector(".nav [href='/tags']");
  if (!link) return;
  observer.disconnect();
  link.click();
}).observe(document, { childList: true, subtree: true });
"""


def test_a_link_works_as_soon_as_it_is_visible(site: str, fresh: Chromium) -> None:
    script = fresh.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": CLICK_AT_ONCE})
    fresh.open(f"{site}/")
    find(fresh, ".tagtable")
    assert fresh.driver.execute_script("return sessionStorage.documents") == "1", "a new document would end the log-in"
    fresh.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_the_link_to_the_shown_page_loads_it_again(system: DevServer, site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    shows(browser, "Note 1")
    system.outcome(system.ingest("TITLE: Just now\nStored elsewhere.", timestamp="2026-11-01T00:00:00Z"))
    open_page(browser, "Memories")
    shows(browser, "Just now")


def test_the_window_s_title_is_that_of_the_shown_memory_or_page(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?q=shelf+7&mode=exact")
    wait_for_titles(browser, "Note 2")
    click(browser, ".row-link")
    wait_until(lambda: browser.driver.title == "Note 2 · Mnemosyne", "the window has the title of the memory")
    assert browser.driver.switch_to.active_element.tag_name == "h1", "the heading has the focus"
    open_page(browser, "Overview")
    wait_until(lambda: browser.driver.title == "Overview · Mnemosyne", "the window has the title of the page")


def test_a_time_in_the_address_is_marked_on_the_timeline(site: str, browser: Chromium) -> None:
    width = "return document.querySelector('.strip .sel')?.getBoundingClientRect().width ?? 0"
    browser.open(f"{site}/?after=2026-05-02T00:00:00Z&before=2026-05-02T23:59:59Z")
    wait_until(lambda: browser.driver.execute_script(width) > 0, "the time is marked")
    before = browser.driver.execute_script(width)
    browser.driver.set_window_size(1100, 900)
    wait_until(lambda: browser.driver.execute_script(width) < before, "the mark goes with the width")
    browser.driver.set_window_size(1280, 900)
    click(browser, ".chip.on")
    wait_until(lambda: browser.driver.execute_script(width) == 0, "the mark is gone")


def test_a_text_from_an_address_does_not_replace_what_was_typed_after_it(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/add?content=Oolong")
    wait_until(lambda: find(browser, "#content").get_property("value") == "Oolong", "the text is in the field")
    find(browser, "#content").send_keys(" is on shelf 8.")
    open_page(browser, "Memories")
    shows(browser, "Note 1")
    browser.driver.back()
    assert find(browser, "#content").get_property("value") == "Oolong is on shelf 8."
    browser.driver.refresh()
    wait_until(lambda: find(browser, "#content").get_property("value") == "Oolong", "a reload starts again")


@pytest.mark.parametrize("button", ["button", pytest.param("a", marks=pytest.mark.nightly)])
def test_going_back_from_an_edited_memory_leads_to_its_list(site: str, browser: Chromium, button: str) -> None:
    browser.open(f"{site}/")
    click(browser, ".row-link")
    shows(browser, "Did it help?")
    keys(browser, "e")
    find(browser, "#title")
    click(browser, f".bar-top {button}")
    shows(browser, "Did it help?")
    browser.driver.back()
    find(browser, "#query")


def test_escape_on_add_leads_to_the_memories_if_another_site_was_open_before(site: str, browser: Chromium) -> None:
    browser.open("about:blank")
    browser.open(f"{site}/add")
    browser.driver.execute_script("arguments[0].blur()", find(browser, "#content"))
    keys(browser, Keys.ESCAPE)
    shows(browser, "Note 1")
