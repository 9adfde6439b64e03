"""A person's actions in the console, and the display of content that others have stored."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from tests.chromium import Chromium, chromium
from tests.console.person import headings, press, shows, type_into
from tests.dev import DevServer
from tests.waiting import wait_until

Keep = Callable[[Chromium, str], None]


def test_a_search_finds_by_meaning_and_says_why(site: str, browser: Chromium, picture: Keep) -> None:
    browser.open(f"{site}/")
    shows(browser, "What are you looking for?")
    type_into(browser, "query", "what does Ada like to drink?")
    browser.driver.find_element(By.ID, "query").send_keys(Keys.ENTER)
    shows(browser, "Ada prefers oolong to coffee.")
    assert headings(browser)[0] == "Note 1"
    browser.driver.find_element(By.CSS_SELECTOR, ".entry summary").click()
    shows(browser, "meaning\n")
    picture(browser, "search")
    assert "q=what+does+Ada" in browser.url


@pytest.mark.parametrize(
    ("query", "best", "noted"),
    [
        ("The oolong is on shelf 7.", "strong match", False),
        ("zzqqx gibberish", "weak match", True),
        ("what is the capital of Peru", "weak match", True),
    ],
)
def test_each_result_has_its_confidence_in_words(
    site: str, browser: Chromium, query: str, best: str, noted: bool
) -> None:
    browser.open(f"{site}/?q={quote(query)}")
    shows(browser, "Note 1")
    labels = [one.text for one in browser.driver.find_elements(By.CSS_SELECTOR, ".entry .confidence")]
    assert labels[0] == best and len(labels) == len(browser.driver.find_elements(By.CSS_SELECTOR, ".entry"))
    status = browser.driver.find_element(By.CSS_SELECTOR, "p[role=status]").text
    assert ("Nothing close was found" in status) is noted


def test_memories_that_no_query_found_have_no_confidence(site: str, browser: Chromium) -> None:
    for path in ("/?tags=tea", "/newest"):
        browser.open(f"{site}{path}")
        shows(browser, "Note 1")
        assert browser.driver.find_elements(By.CSS_SELECTOR, ".confidence") == []


def test_a_search_links_the_memories_that_it_leaves_out(site: str, browser: Chromium, system: DevServer) -> None:
    ids = [
        system.outcome(system.ingest(text))["memory_id"]
        for text in ("Ida mends the weir today.", "Ida mends the weir today")
    ]
    browser.open(f"{site}/?q=weir")
    shows(browser, "Near-duplicates:")
    links = [one.get_attribute("href") or "" for one in browser.driver.find_elements(By.CSS_SELECTOR, ".entry a")]
    assert {one for one in ids if any(link.endswith(one) for link in links)} == set(ids)


@pytest.mark.parametrize(("path", "shown"), [("/?q=oolong", False), ("/?q=oolong&tags=tea", True)])
def test_on_a_phone_memories_come_before_the_filters_that_are_not_set(site: str, path: str, shown: bool) -> None:
    with chromium() as opened:
        opened.driver.set_window_size(360, 800)
        opened.open(f"{site}{path}")
        shows(opened, "Note 1")
        assert opened.driver.find_element(By.ID, "tags").is_displayed() is shown
        assert ("Tags" in opened.text.split("Note 1")[0]) is shown


def test_a_search_goes_by_words_of_time_and_by_tags(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?time=on+2+May+2026")
    shows(browser, "from May 2, 2026")
    assert headings(browser) == ["Note 2"]
    browser.open(f"{site}/newest")
    shows(browser, "Note 1")
    browser.driver.find_element(By.LINK_TEXT, "tea").click()
    shows(browser, "2 memories")
    assert sorted(headings(browser)) == ["Note 1", "Note 2"]


def test_an_error_stands_alone(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/store")
    shows(browser, "What should be remembered?")
    type_into(browser, "content", "Fay fishes.")
    press(browser, "Store")
    shows(browser, "Stored. Searches can find it now.")
    type_into(browser, "content", "Fay sails.")
    type_into(browser, "store-title", "t" * 501)
    press(browser, "Store")
    shows(browser, "title must have at most 500 characters")
    assert "Stored" not in browser.text


def test_a_mode_is_chosen(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    shows(browser, "What are you looking for?")
    Select(browser.driver.find_element(By.ID, "mode")).select_by_visible_text("exact text")
    type_into(browser, "query", "on shelf")
    press(browser, "Search")
    shows(browser, "1 memory")
    assert headings(browser) == ["Note 2"]


def test_a_memory_is_stored_labelled_rated_and_deleted(
    system: DevServer, site: str, browser: Chromium, picture: Keep
) -> None:
    browser.open(f"{site}/store")
    shows(browser, "What should be remembered?")
    picture(browser, "store")
    type_into(browser, "content", "Cy keeps bees.")
    press(browser, "Store")
    shows(browser, "Stored. Searches can find it now.")
    browser.driver.find_element(By.LINK_TEXT, "Read it").click()
    shows(browser, "Cy keeps bees.")
    id_ = browser.url.rsplit("/", 1)[1]
    type_into(browser, "title", "Bees")
    type_into(browser, "new-tags", "cy, bees")
    press(browser, "Save changes")
    wait_until(lambda: browser.driver.find_element(By.TAG_NAME, "h1").text == "Bees", "the title is another")
    shows(browser, "Saved.")
    assert system.call("get_memory", {"id": id_})["tags"] == ["cy", "bees"]
    press(browser, "Save changes")
    shows(browser, "Nothing was changed in the form.")
    type_into(browser, "metadata", "[1]")
    press(browser, "Save changes")
    shows(browser, "The metadata must be a JSON object")
    type_into(browser, "metadata", '{"hives": 3}')
    press(browser, "Save changes")
    shows(browser, "Saved.")
    assert system.call("get_memory", {"id": id_})["metadata"] == {"hives": 3}
    press(browser, "Helpful")
    shows(browser, " → 0.")
    picture(browser, "memory")
    press(browser, "Delete …")
    press(browser, "Cancel")
    press(browser, "Delete …")
    press(browser, "Delete permanently")
    shows(browser, "The memory will be deleted in 10 seconds.")
    press(browser, "Undo")
    assert system.call("get_memory", {"id": id_})["title"] == "Bees"
    press(browser, "Delete …")
    press(browser, "Delete permanently")
    press(browser, "Delete now")
    shows(browser, "The memory was deleted.")
    assert "no memory has the id" in system.error("get_memory", {"id": id_})


def test_figures_and_tags_are_shown(site: str, browser: Chromium, picture: Keep) -> None:
    browser.open(f"{site}/overview")
    shows(browser, "Embedding model")
    picture(browser, "figures")
    assert browser.driver.find_element(By.LINK_TEXT, "tea")


HOSTILE = [
    "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">",
    "[a link](javascript:alert(1)) **bold** # heading",
    "\x1b[31mred\x1b[0m",
    "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd",
    "long " * 20_000,
]


@pytest.mark.parametrize("content", HOSTILE, ids=["html", "markdown", "ansi", "bidi", "100,000 characters"])
def test_what_is_stored_is_shown_as_it_is_and_does_nothing(
    system: DevServer, site: str, browser: Chromium, content: str
) -> None:
    memory_id = system.outcome(system.ingest(content, timestamp="2026-05-04T12:00:00Z", tags=["<b>x</b>"]))["memory_id"]
    browser.console()
    browser.open(f"{site}/memories/{memory_id}")
    wait_until(lambda: bool(browser.driver.find_elements(By.TAG_NAME, "pre")), "the content is there")
    shown = browser.driver.find_element(By.TAG_NAME, "pre").get_property("textContent")
    assert shown == content
    assert browser.driver.find_elements(By.CSS_SELECTOR, "pre *, main script, main img, main b") == []
    assert browser.driver.title != "owned"
    assert [said for said in browser.console() if "favicon" not in said] == []


def test_everything_can_be_reached_by_keyboard(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/newest")
    shows(browser, "Note 1")
    reached: list[str] = []
    for _ in range(60):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(browser.driver.switch_to.active_element.text)
    assert reached[:5] == ["Skip to content", "Search", "Newest", "Store", "Files"]
    assert {"Note 2", "tea"} <= {*reached}
    browser.driver.find_element(By.LINK_TEXT, "Overview").send_keys(Keys.ENTER)
    shows(browser, "Embedding model")
    assert browser.driver.switch_to.active_element.tag_name == "h1", "reading goes on from the new page's heading"


@pytest.fixture(scope="module", params=[False, True], ids=["light", "dark"])
def phone(request: pytest.FixtureRequest) -> Iterator[tuple[Chromium, str]]:
    """A narrow browser and its theme."""
    with chromium(dark=request.param) as opened:
        opened.driver.set_window_size(360, 800)
        yield opened, "dark" if request.param else "light"


@pytest.mark.parametrize(
    "path", ["/", "/?q=oolong", "/newest", "/store", "/files", "/activity", "/overview", "/memories/FIRST"]
)
def test_axe_finds_nothing(
    system: DevServer, site: str, axe: str, path: str, phone: tuple[Chromium, str], picture: Keep
) -> None:
    browser, theme = phone
    first = system.call("list_memories", {})["memories"][-1]["id"]
    browser.open(f"{site}{path.replace('FIRST', first)}")
    wait_until(lambda: bool(browser.driver.find_elements(By.CSS_SELECTOR, "main h1")), "the page is there")
    wait_until(lambda: "Loading …" not in browser.text, "all is shown")
    wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
    assert wide <= browser.driver.execute_script("return innerWidth"), "nothing is beyond the edge"
    name = path.strip("/?").replace("=", "-").replace("/FIRST", "") or "search-empty"
    picture(browser, f"narrow-{theme}-{name}")
    assert _violations(browser, axe) == []


def _violations(opened: Chromium, axe: str) -> list[Any]:
    opened.driver.set_script_timeout(60)
    opened.driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    opened.driver.execute_script(axe)
    found: list[Any] = opened.driver.execute_async_script(
        "const told = arguments[0];"
        "axe.run().then((all) => told(all.violations.map((one) => [one.id, one.nodes.map((node) => node.html)])))"
    )
    return found
