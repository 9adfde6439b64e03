"""A page that could not be loaded is loaded by a button, and by itself after an outage."""

import pytest
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.person import find, follow, press, reads, shows
from tests.dev import DevServer

# The server refuses the calls of a tool with a status, until `isCalm` is true.
REFUSE = """
const [tool, status] = arguments;
const real = window.fetch;
const error = { jsonrpc: "2.0", id: null, error: { code: -32000, message: "try again later" } };
window.fetch = (...asked) =>
  (!window.isCalm && asked[1]?.body?.includes?.(tool)
    ? Promise.resolve(new Response(JSON.stringify(error), { status })) : real(...asked));
"""
# The server refuses the calls of a tool with the status 503 at once, but the body arrives after a second and a half.
REFUSE_SLOWLY = """
const [tool] = arguments;
const real = window.fetch;
const error = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message: "try again later" } });
const send = (body) => { body.enqueue(new TextEncoder().encode(error)); body.close(); };
const slowly = () => new ReadableStream({ start: (body) => { setTimeout(() => send(body), 1500); } });
window.fetch = (...asked) =>
  (!window.isCalm && asked[1]?.body?.includes?.(tool)
    ? Promise.resolve(new Response(slowly(), { status: 503 })) : real(...asked));
"""
# Follows a link within the console.
FOLLOW = """
const link = Object.assign(document.createElement("a"), { href: arguments[0] });
document.querySelector("main").append(link);
link.click();
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


def _open_refused(system: DevServer, site: str, browser: Chromium, path: str, script: str, *arguments: object) -> None:
    """Open a page whose calls a script refuses, and end the refusal when the page shows it.

    The page is opened by a link on the page Connect, which calls no tool.
    """
    browser.open(f"{site}/connect")
    find(browser, "h1")
    browser.driver.execute_script(script, *arguments)
    id_ = system.call("list_memories", {"order": "oldest"})["memories"][0]["id"]
    browser.driver.execute_script(FOLLOW, path.replace("ID", id_))
    shows(browser, "try again later")
    browser.driver.execute_script("window.isCalm = true")


@pytest.mark.parametrize(("path", "tool", "text"), PAGES, ids=[path for path, _, _ in PAGES])
def test_a_page_that_the_server_refused_is_loaded_by_a_button(
    system: DevServer, site: str, browser: Chromium, path: str, tool: str, text: str
) -> None:
    _open_refused(system, site, browser, path, REFUSE, tool, 429)
    press(browser, "Try again")
    reads(browser, "main", text)
    assert "try again later" not in browser.text


@pytest.mark.parametrize(("path", "tool", "text"), PAGES, ids=[path for path, _, _ in PAGES])
def test_a_page_that_was_opened_in_an_outage_is_loaded_after_it_without_a_click(
    system: DevServer, site: str, browser: Chromium, path: str, tool: str, text: str
) -> None:
    _open_refused(system, site, browser, path, REFUSE, "", 503)
    reads(browser, "main", text)
    assert "try again later" not in browser.text


def test_a_page_whose_error_arrives_after_the_end_of_the_outage_is_loaded_without_a_click(
    system: DevServer, site: str, browser: Chromium
) -> None:
    """The history of the memory is read meanwhile, so the outage is over before the page shows its error."""
    _open_refused(system, site, browser, "/memories/ID", REFUSE_SLOWLY, "get_memory")
    reads(browser, "main", "Ada prefers oolong to coffee.")


def test_a_memory_that_does_not_exist_is_not_loaded_again(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/memories/0192f3a4-0000-7000-8000-000000000000")
    shows(browser, "no memory has the id")
    assert not browser.driver.find_elements(By.XPATH, "//button[normalize-space()='Try again']")
    follow(browser, "Memories")
    shows(browser, "Ada prefers oolong to coffee.")
