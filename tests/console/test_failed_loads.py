"""A page that could not be loaded can be loaded again with a button. After an outage, it is loaded again by a timer."""

from collections.abc import Callable

import pytest
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.failing import calm, intercept, refuse
from tests.console.person import click, find, follow, press, reads, shows, type_into
from tests.console.timers import retry_soon
from tests.dev import DevServer

# Follows a link within the console.
FOLLOW = """
const link = Object.assign(document.createElement("a"), { href: arguments[0] });
document.querySelector("main").append(link);
link.click();
"""
# Sends the status 503 at once, and the body a second and a half later.
REFUSE_SLOWLY = """
if (window.isCalm) return real(...asked);
const { readable, writable } = new TransformStream();
setTimeout(() => refuse(503).body.pipeTo(writable), 1500);
return new Response(readable, { status: 503 });
"""
PAGES = [
    ("/?tags=tea", "list_memories", "Ada prefers oolong to coffee."),
    ("/?q=oolong", "memory_search", "shelf 7"),
    ("/memories/ID", "get_memory", "Ada prefers oolong to coffee."),
    ("/memories/ID/edit", "get_memory", "Expires"),
    ("/tags", "memory_facets", "Last used"),
    ("/activity", "list_requests", "First words"),
    ("/overview", "memory_stats", "Memories by month"),
]
BY_DAY = ("/?tags=tea", "/?q=oolong", "/memories/ID")
"""The other pages are loaded again with the same code, and are tested every night."""
SORTED = [pytest.param(*page, marks=[] if page[0] in BY_DAY else [pytest.mark.nightly]) for page in PAGES]
PARTS = [
    ("/?tags=tea", "memory_facets", "2 memories"),
    ("/?tags=tea", "memory_timeline", "Ada prefers oolong to coffee."),
    ("/memories/ID", "memory_history", "Ada prefers oolong to coffee."),
    ("/overview", "memory_timeline", "Memories by month"),
    ("/overview", "memory_facets", "Most used tags"),
]


def _open_refused(
    system: DevServer, site: str, browser: Chromium, path: str, fail: Callable[[], None], *, is_outage: bool = False
) -> None:
    """Open a page while `fail` lets its calls fail. When the page shows the error, let all calls succeed again.

    The page is opened by a link on the page Connect, which calls no tool. With `is_outage`, the console's timer, which
    loads the page again after an outage, is shortened.
    """
    browser.open(f"{site}/connect")
    find(browser, "h1")
    if is_outage:
        retry_soon(browser)
    fail()
    id_ = system.call("list_memories", {"order": "oldest"})["memories"][0]["id"]
    browser.driver.execute_script(FOLLOW, path.replace("ID", id_))
    shows(browser, "try again later")
    calm(browser)


@pytest.mark.parametrize(("path", "tool", "text"), [*SORTED, *PARTS])
def test_a_page_that_the_server_refused_is_loaded_by_a_button(
    system: DevServer, site: str, browser: Chromium, path: str, tool: str, text: str
) -> None:
    _open_refused(system, site, browser, path, lambda: refuse(browser, tool, 429))
    press(browser, "Try again")
    reads(browser, "main", text)
    assert "try again later" not in browser.text


def test_a_page_that_was_opened_in_an_outage_is_loaded_after_it_without_a_click(
    system: DevServer, site: str, browser: Chromium
) -> None:
    _open_refused(system, site, browser, "/?tags=tea", lambda: refuse(browser, "", 503), is_outage=True)
    reads(browser, "main", "Ada prefers oolong to coffee.")
    assert "try again later" not in browser.text and "The server is not responding" not in browser.text


def test_a_page_whose_error_arrives_after_the_end_of_the_outage_is_loaded_without_a_click(
    system: DevServer, site: str, browser: Chromium
) -> None:
    """The page reads the history of the memory successfully while its error is still arriving.

    For the page, the outage is thus over before it shows the error.
    """
    _open_refused(
        system, site, browser, "/memories/ID", lambda: intercept(browser, "get_memory", REFUSE_SLOWLY), is_outage=True
    )
    reads(browser, "main", "Ada prefers oolong to coffee.")


def test_a_list_of_filters_that_could_not_be_loaded_is_not_shown_as_empty(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/connect")
    find(browser, "h1")
    refuse(browser, "memory_facets", 429)
    browser.driver.execute_script(FOLLOW, "/")
    click(browser, ".filters [aria-haspopup]:nth-child(2)")
    reads(browser, "dialog", "try again later")
    assert "None yet." not in browser.text
    calm(browser)
    click(browser, "dialog .note .btn")
    reads(browser, "dialog .choices", "tea")


def test_a_search_that_fails_during_typing_is_explained(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    shows(browser, "Ada prefers oolong to coffee.")
    refuse(browser, "memory_search", 500)
    type_into(browser, "query", "rows")
    shows(browser, "Press Enter to search. The search for words failed: try again later")
    calm(browser)
    find(browser, "#query").send_keys(" b")
    shows(browser, "found by words")
    assert "failed" not in browser.text


def test_the_page_add_says_when_it_cannot_compare_the_text(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/add")
    find(browser, "#content")
    refuse(browser, "similar_memories", 429)
    type_into(browser, "content", "Ada prefers oolong to coffee.")
    shows(browser, "The page cannot say whether this is stored: try again later")


def test_a_memory_that_does_not_exist_is_not_loaded_again(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/memories/0192f3a4-0000-7000-8000-000000000000")
    shows(browser, "no memory has the id")
    assert not browser.driver.find_elements(By.XPATH, "//button[normalize-space()='Try again']")
    follow(browser, "Memories")
    shows(browser, "Ada prefers oolong to coffee.")
