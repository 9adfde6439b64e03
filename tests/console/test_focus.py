"""The focus of the keyboard after actions that remove the focused element."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.person import come_back, find, focused, keys, press, wait_for_titles
from tests.console.server import ConsoleServer
from tests.console.timers import end_message, keep_messages
from tests.dev import DevServer
from tests.waiting import wait_until

FOCUS = "return document.activeElement.ariaLabel ?? document.activeElement.textContent.trim()"

# Shows a message with a button at the foot of the page.
SHOW_MESSAGE = """
const [text, done] = arguments;
const { src } = document.querySelector("script[src*='app.js']");
window.end = null;
import(src.replace("app.js", "toast.js")).then(({ showToast }) => {
  showToast(text, { onAction: () => {} });
  requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(Boolean(window.end)))));
});
"""


def _wait_for_focus(browser: Chromium, label: str) -> None:
    wait_until(lambda: browser.driver.execute_script(FOCUS) == label, f"{label} has the focus", seconds=30)


def _open_tag_field(browser: Chromium) -> None:
    press(browser, "Tag")
    wait_until(lambda: browser.driver.switch_to.active_element.get_attribute("id") == "side-tags", "the field is open")


def test_the_focus_stays_in_the_tags_of_a_memory(system: DevServer, site: str, browser: Chromium) -> None:
    memory = system.outcome(system.ingest("The drum is red.", tags=["one", "two"]))["memory_id"]
    browser.open(f"{site}/memories/{memory}")
    find(browser, "[aria-label='Remove one']").send_keys(Keys.ENTER)
    _wait_for_focus(browser, "Remove two")
    keys(browser, Keys.ENTER)
    _wait_for_focus(browser, "Tag")
    _open_tag_field(browser)
    keys(browser, "three", Keys.ENTER)
    press(browser, "Save")
    _wait_for_focus(browser, "Tag")
    assert system.call("get_memory", {"id": memory})["tags"] == ["three"]


def test_escape_and_cancel_close_the_field_for_tags(system: DevServer, site: str, browser: Chromium) -> None:
    memory = system.outcome(system.ingest("The flute is silver."))["memory_id"]
    browser.open(f"{site}/memories/{memory}")
    for way in ("Escape in the field", "Escape on the button", "click"):
        _open_tag_field(browser)
        find(browser, ".side .options li")
        keys(browser, Keys.ESCAPE)  # closes the options
        assert browser.driver.find_elements(By.ID, "side-tags")
        if way == "Escape in the field":
            keys(browser, Keys.ESCAPE)
        elif way == "Escape on the button":
            find(browser, ".side .btns .quiet").send_keys(Keys.ESCAPE)
        else:
            press(browser, "Cancel")
        _wait_for_focus(browser, "Tag")
        assert browser.driver.current_url.endswith(memory)
        assert not browser.driver.find_elements(By.ID, "side-tags")


def test_after_a_deletion_the_focus_is_on_the_next_row(system: ConsoleServer, site: str, browser: Chromium) -> None:
    system.remember_titled(*"ABC", tags=["notes"])
    browser.open(f"{site}/?tags=notes")
    wait_for_titles(browser, *"CBA")
    keys(browser, "j", "j", Keys.DELETE)
    wait_for_titles(browser, "C", "A")
    wait_until(lambda: focused(browser).startswith("A"), "the next row has the focus")
    keys(browser, Keys.DELETE, "j", Keys.DELETE)  # only the second press of Delete deletes a memory
    wait_for_titles(browser, "C")
    wait_until(lambda: focused(browser).startswith("C"), "the last row has the focus")


def test_skip_to_content_moves_the_focus_and_leaves_the_address(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    find(browser, ".strip svg, main .row-link")
    browser.driver.find_element(By.CSS_SELECTOR, ".skip").send_keys(Keys.ENTER)
    _wait_for_focus(browser, "Memories")
    assert "#" not in browser.url


def test_a_removed_filter_leaves_the_focus_on_the_heading(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?tags=tea")
    find(browser, ".chip.on").send_keys(Keys.ENTER)
    _wait_for_focus(browser, "Memories")


def test_a_cleared_search_leaves_the_focus_in_the_field(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?q=oolong")
    find(browser, "[aria-label=Clear]").send_keys(Keys.ENTER)
    wait_until(lambda: "q=" not in browser.url, "the search is cleared")
    _wait_for_focus(browser, "Search memories")


def test_a_choice_in_a_menu_leaves_the_focus_on_its_button(system: DevServer, site: str, browser: Chromium) -> None:
    memory = system.outcome(system.ingest("The oboe is black."))["memory_id"]
    browser.open(f"{site}/memories/{memory}")
    find(browser, "[aria-label=More]").send_keys(Keys.ENTER)
    find(browser, "//button[normalize-space()='Copy link']").send_keys(Keys.ENTER)
    _wait_for_focus(browser, "More")


def test_the_focus_returns_from_the_bar_of_picked_memories_to_the_row(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?tags=tea")
    title = find(browser, ".row-link").text[:10]
    keys(browser, "j", "x")
    wait_until(lambda: focused(browser).startswith(title), "the first row has the focus")
    row = focused(browser)
    find(browser, ".bulk [aria-label='Pick none']").send_keys(Keys.ENTER)
    wait_until(lambda: focused(browser) == row, "the row has the focus")
    keys(browser, "x")
    find(browser, "//div[@class='bulk']/button[normalize-space()='Tag']").send_keys(Keys.ENTER)
    wait_until(lambda: browser.driver.switch_to.active_element.tag_name == "input", "the field for tags has the focus")
    keys(browser, "tea", Keys.ENTER)
    find(browser, "dialog .main").send_keys(Keys.ENTER)
    wait_until(lambda: browser.shows("Tags of 1 memory changed."), "the tag is added")
    wait_until(lambda: focused(browser) == row, "the row has the focus again")


def test_a_closed_dialog_does_not_return_the_focus_to_a_field_that_was_left(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?tags=tea")
    row = find(browser, ".row-link").text
    find(browser, "#query").send_keys(Keys.ESCAPE)
    keys(browser, "?")
    find(browser, "dialog")
    keys(browser, Keys.ESCAPE)
    wait_until(lambda: not browser.driver.find_elements(By.CSS_SELECTOR, "dialog"), "the dialog is closed")
    keys(browser, "j")
    wait_until(lambda: focused(browser).startswith(row[:10]), "the first row has the focus")


def _store_nuts(system: ConsoleServer, count: int) -> list[str]:
    """Store memories with the tag `nuts`, and return their ids, the latest first."""
    return system.remember_titled(*(f"Nut {n}" for n in range(count)), tags=["nuts"])[::-1]


def _wait_for_row(browser: Chromium, id_: str) -> None:
    script = "return document.activeElement.closest('[data-id]')?.dataset.id"
    wait_until(lambda: browser.driver.execute_script(script) == id_, "the row has the focus", seconds=30)


def _wait_for_removal(browser: Chromium, id_: str) -> None:
    path = (By.CSS_SELECTOR, f"[data-id='{id_}']")
    wait_until(lambda: not browser.driver.find_elements(*path), "the row is removed", seconds=30)


def test_load_more_moves_the_focus_to_the_first_further_row(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    ids = _store_nuts(system, 53)
    browser.open(f"{site}/?tags=nuts")
    find(browser, ".list-end button").send_keys(Keys.ENTER)
    _wait_for_row(browser, ids[50])
    keys(browser, Keys.DELETE, "j", Keys.DELETE)  # the focus alone does not choose the row
    _wait_for_removal(browser, ids[50])
    _wait_for_row(browser, ids[51])
    assert len(browser.driver.find_elements(By.CSS_SELECTOR, "[data-id]")) == 52
    find(browser, ".toast button").send_keys(Keys.ENTER)
    _wait_for_row(browser, ids[51])
    keys(browser, Keys.DELETE, "j", Keys.DELETE)
    _wait_for_removal(browser, ids[51])
    find(browser, f"[data-id='{ids[50]}']")
    keys(browser, "z")
    find(browser, f"[data-id='{ids[51]}']")
    system.delete(ids)


def test_a_row_beside_one_that_another_client_has_deleted_gets_the_focus_and_is_not_deleted(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    ids = _store_nuts(system, 3)
    browser.open(f"{site}/?tags=nuts")
    find(browser, ".row-link")
    keys(browser, "j", "j", "j")
    _wait_for_row(browser, ids[2])
    system.call("delete_memory", {"id": ids[2]})
    come_back(browser)
    _wait_for_row(browser, ids[1])
    keys(browser, Keys.DELETE, "k", Keys.DELETE)
    _wait_for_removal(browser, ids[0])
    find(browser, f"[data-id='{ids[1]}']")
    keys(browser, "z")
    system.delete(ids[:2])


def test_a_message_that_replaces_one_with_the_focus_waits_while_it_has_the_focus(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    find(browser, "main .row-link")
    keep_messages(browser)
    browser.driver.execute_async_script(SHOW_MESSAGE, "The first message")
    wait_until(lambda: bool(browser.driver.execute_script("return Boolean(window.end)")), "the timer has begun")
    browser.driver.execute_script("document.querySelector('.toast button').focus()")
    assert browser.driver.execute_async_script(SHOW_MESSAGE, "The second message") is False
    assert browser.shows("The second message")
    browser.driver.execute_script("document.activeElement.blur()")
    end_message(browser)
    wait_until(lambda: not browser.shows("The second message"), "the message has ended")
