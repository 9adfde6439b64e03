"""Search while a person types: by words, with the last word incomplete; Enter runs the whole search."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.person import click, keys, shows, titles, wait_for_titles
from tests.dev import DevServer
from tests.waiting import wait_until

# Records the searches that the page makes while a person types, and whether each was aborted. If `window.refusal` is
# true, each of these searches fails with 429.
WATCH = """
const real = window.fetch;
window.searches = [];
window.fetch = (address, options) => {
  if (!options?.body?.includes('"typing":true')) return real(address, options);
  const search = { query: JSON.parse(options.body).params.arguments.query, isAborted: false };
  window.searches.push(search);
  options.signal.addEventListener("abort", () => { search.isAborted = true; });
  const held = (_, reject) => options.signal.addEventListener("abort", () => reject(new Error("aborted")));
  if (window.hold) return new Promise(held);
  if (!window.refusal) return real(address, options);
  const error = { jsonrpc: "2.0", id: 1, error: { code: -32000, message: "Too many requests." } };
  return Promise.resolve(new Response(JSON.stringify(error), { status: 429, headers: { "Retry-After": "40" } }));
};
"""


@pytest.fixture
def home(site: str, browser: Chromium) -> Iterator[Chromium]:
    """The page Memories, with its searches counted."""
    browser.open(f"{site}/")
    wait_for_titles(browser, "Note 3", "Note 2", "Note 1")
    browser.driver.execute_script(WATCH)
    keys(browser, "/")
    yield browser


def _searches(browser: Chromium) -> list[dict[str, object]]:
    searches: list[dict[str, object]] = browser.driver.execute_script("return window.searches")
    return searches


def _marked(browser: Chromium) -> set[str]:
    return {mark.text for mark in browser.driver.find_elements(By.CSS_SELECTOR, ".passage mark")}


def test_an_incomplete_word_finds_memories_and_the_page_explains_the_search(home: Chromium) -> None:
    keys(home, "o", "o", "l")
    shows(home, "2 memories found by words while you type. Press Enter to search by meaning too.")
    assert set(titles(home)) == {"Note 1", "Note 2"}
    assert _marked(home) == {"oolong"}
    assert "Strong" not in home.text
    keys(home, Keys.ENTER)
    wait_until(lambda: "q=ool" in home.url, "the search is in the address")
    wait_until(lambda: bool(home.driver.find_elements(By.CSS_SELECTOR, ".sure")), "results have their confidence")
    assert "found by words" not in home.text


def test_a_later_text_aborts_the_request_of_an_earlier_one(home: Chromium) -> None:
    home.driver.execute_script("window.hold = true")
    keys(home, "o", "o")
    wait_until(lambda: bool(_searches(home)), "the first search is sent")
    home.driver.execute_script("window.hold = false")
    keys(home, "l")
    shows(home, "2 memories found by words")
    first, *_, last = _searches(home)
    assert (first["isAborted"], last["query"], last["isAborted"]) == (True, "ool", False)
    assert "cannot be reached" not in home.text


def test_after_a_refused_search_typing_does_not_search_for_a_while_but_enter_does(home: Chromium) -> None:
    home.driver.execute_script("window.refusal = true")
    keys(home, "o", "o")
    shows(home, "You have searched often in this minute. Press Enter to search.")
    search_count = len(_searches(home))
    keys(home, "l", "o", "n", "g", Keys.ENTER)
    wait_until(lambda: "q=oolong" in home.url, "the search is in the address")
    shows(home, "match")
    assert set(titles(home)) >= {"Note 1", "Note 2"}
    assert len(_searches(home)) == search_count


def test_clearing_the_text_shows_the_list_again(home: Chromium) -> None:
    keys(home, "o", "o", "l")
    shows(home, "found by words")
    click(home, "[aria-label=Clear]")
    wait_for_titles(home, "Note 3", "Note 2", "Note 1")


def test_for_words_in_no_memory_the_page_offers_the_search_by_meaning(home: Chromium) -> None:
    keys(home, *"zzqqx")
    shows(home, "No memory has these words. Press Enter to search by meaning too.")


def test_going_back_from_a_memory_shows_the_complete_search(home: Chromium) -> None:
    keys(home, *"rows")
    shows(home, "1 memory found by words")
    click(home, ".hit a")
    shows(home, "Bob rows.")
    home.driver.back()
    wait_until(lambda: "q=rows" in home.url, "the search is in the address")
    wait_until(lambda: "Note 3" in titles(home), "its results are shown")


def test_filters_apply_during_typing(system: DevServer, site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?tags=tea")
    wait_for_titles(browser, "Note 2", "Note 1")
    keys(browser, "/", *"no")
    shows(browser, "2 memories found by words")
    assert set(titles(browser)) == {"Note 1", "Note 2"}
