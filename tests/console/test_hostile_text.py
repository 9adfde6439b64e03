"""Stored texts with markup and control characters: each page shows them as text."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.person import click, find, press, shows
from tests.console.server import ConsoleServer
from tests.dev import DevServer
from tests.waiting import wait_until

HOSTILE = {
    "markup": "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">\n\n"
    "[a link](javascript:alert(1)) **bold** # heading <iframe src=//evil.example></iframe>\n\n"
    "![i](https://evil.example/i.png) [t](https://x.example\" onclick=\"document.title='owned')\n\n"
    "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd",
    "ansi": "\x1b[31mred\x1b[0m",
    "long": "long " * 20_000,
}
ACTIVE = "main :is(script, img, iframe, [onclick], a[href^=javascript])"


@pytest.fixture(scope="module")
def hostile(system: ConsoleServer) -> Iterator[dict[str, str]]:
    """The ids of memories with the texts of HOSTILE, by name, all with the same tag."""
    ids = system.remember_all(*({"content": content, "tags": ["<b>x</b>"]} for content in HOSTILE.values()))
    yield dict(zip(HOSTILE, ids, strict=True))
    system.delete(ids)


def _has_no_effect(browser: Chromium) -> None:
    assert browser.driver.find_elements(By.CSS_SELECTOR, ACTIVE) == []
    assert browser.driver.title != "owned"
    assert [line for line in browser.console() if "favicon" not in line] == []


@pytest.mark.parametrize("path", ["/?tags={tag}", "/?tags={tag}&q=title+link+red+left+long"])
def test_stored_markup_and_control_characters_have_no_effect_in_lists(
    site: str, browser: Chromium, hostile: dict[str, str], path: str
) -> None:
    browser.console()
    browser.open(f"{site}{path.format(tag=quote('<b>x</b>'))}")
    listed = "return [...document.querySelectorAll('main [data-id]')].map((row) => row.dataset.id)"
    wait_until(lambda: {*browser.driver.execute_script(listed)} == {*hostile.values()}, "all are listed")
    _has_no_effect(browser)


@pytest.mark.parametrize("name", HOSTILE)
def test_stored_markup_and_control_characters_have_no_effect_on_the_page_of_a_memory(
    site: str, browser: Chromium, hostile: dict[str, str], name: str
) -> None:
    browser.console()
    browser.open(f"{site}/memories/{hostile[name]}")
    find(browser, ".read, pre.source")
    _has_no_effect(browser)
    if not browser.driver.find_elements(By.CSS_SELECTOR, "pre.source"):
        press(browser, "Source")
    assert find(browser, "pre.source").get_property("textContent") == HOSTILE[name]
    _has_no_effect(browser)


# Markup without quotation marks and commas, because JSON and lists of tags would show these in another form.
MARKUP = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
SHOWN = """
const fields = [...document.querySelectorAll("main :is(input, textarea), dialog input")].map((field) => field.value);
return [document.body.textContent, ...fields].join();
"""
MADE = "body :is(img, iframe, [onerror]), main script, dialog script"


@pytest.fixture(scope="module")
def marked(system: ConsoleServer) -> Iterator[str]:
    """Store a memory with markup in each field, and two dead letters with markup in their causes.

    Yield the memory's id.
    """
    fields = {"session": MARKUP, "source": MARKUP, "key": MARKUP, "metadata": {MARKUP: MARKUP}, "tags": [MARKUP]}
    request_id = system.ingest("Some text.", title=MARKUP, **fields)
    # Wait for the state, because a request with a source and a key has the state "unknown" at first.
    wait_until(lambda: system.outcome(request_id)["state"] == "stored", "the memory is stored")
    memory_id: str = system.outcome(request_id)["memory_id"]
    letters = [f"{MARKUP}{n}" for n in range(2)]
    for letter in letters:
        system.store_dead_letter(letter, MARKUP)
    yield memory_id
    system.memories().drop_dead_letters(letters)
    system.call("delete_memory", {"id": memory_id})


def _shows_markup_as_text(browser: Chromium, times: int) -> None:
    wait_until(lambda: browser.driver.execute_script(SHOWN).count(MARKUP) >= times, f"{browser.url} shows the markup")
    assert browser.driver.find_elements(By.CSS_SELECTOR, MADE) == []
    assert browser.driver.title != "owned"
    assert [line for line in browser.console() if "favicon" not in line] == []


@pytest.mark.parametrize(
    ("path", "times"),
    [
        ("/", 2),  # title and tag
        ("/memories/ID", 5),  # title, tag, session, metadata
        ("/memories/ID/edit", 4),  # title, tag, metadata
        ("/tags", 1),
        ("/activity", 4),  # the cause of the group, the causes of both dead letters, a message id
        ("/overview", 1),
    ],
)
def test_markup_in_any_field_is_shown_as_text(site: str, browser: Chromium, marked: str, path: str, times: int) -> None:
    browser.console()
    browser.open(f"{site}{path.replace('ID', marked)}")
    _shows_markup_as_text(browser, times)


def test_markup_is_shown_as_text_in_the_list_of_memories_to_forget(
    system: DevServer, site: str, browser: Chromium, marked: str
) -> None:
    other = system.outcome(system.ingest(f"{MARKUP} is the text.", session=MARKUP))["memory_id"]
    browser.console()
    browser.open(f"{site}/forget")
    find(browser, "#forget-session").send_keys(MARKUP)
    press(browser, "Show what would be forgotten")
    shows(browser, "2 memories would be forgotten")
    shows(browser, MARKUP[:40])  # the list has the beginning of each memory
    _shows_markup_as_text(browser, 1)
    system.call("delete_memory", {"id": other})


def test_markup_in_a_tag_is_shown_as_text_in_dialogs(site: str, browser: Chromium, marked: str) -> None:
    browser.console()
    browser.open(f"{site}/tags")
    click(browser, f'[aria-label="Delete the tag {MARKUP}"]')
    shows(browser, "The memories stay.")
    _shows_markup_as_text(browser, 2)
    press(browser, "Cancel")
    click(browser, f'[aria-label="Rename {MARKUP}"]')
    shows(browser, "The name of an existing tag merges the two tags.")
    _shows_markup_as_text(browser, 3)
    press(browser, "Cancel")
