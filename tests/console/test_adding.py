"""Add: a pasted text is one memory or several, and a dropped file is imported."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.failing import alter
from tests.console.person import DROP, click, find, press, shows, type_into, wait_until_stored
from tests.dev import DevServer
from tests.waiting import wait_until

PARAGRAPHS = "Eve plays chess on Mondays.\n\nFay plays go on Fridays."
LIST = "- Gil bakes bread.\n- Hal bakes cakes.\n- Ivy bakes pies."

# Drops a text on the field for the content. Returns whether the page has prevented the browser's usual action.
DROP_TEXT = """
const data = new DataTransfer();
data.setData("text/plain", "Half a thought");
const options = { dataTransfer: data, bubbles: true, cancelable: true };
const events = ["dragover", "drop"].map((name) => new DragEvent(name, options));
for (const event of events) document.querySelector("#content").dispatchEvent(event);
return events.some(({ defaultPrevented }) => defaultPrevented);
"""
# Drops a file on the page. Returns whether the page has prevented that the browser opens the file.
DROP_FILE = """
const data = new DataTransfer();
data.items.add(new File(["Eve plays chess."], "eve.txt"));
const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
document.body.dispatchEvent(drop);
return drop.defaultPrevented;
"""
# Lets each dropped item be a folder that the browser cannot read.
UNREADABLE = """
const readEntries = (_, reject) => reject(new DOMException("The folder cannot be read.", "NotReadableError"));
const folder = { name: "notes", isDirectory: true, createReader: () => ({ readEntries }) };
DataTransferItem.prototype.webkitGetAsEntry = () => folder;
"""


@pytest.fixture
def add(system: DevServer, site: str, browser: Chromium) -> Iterator[Chromium]:
    """The page Add. The memories that a test stores are deleted."""
    before = _contents(system)
    browser.open(f"{site}/add")
    find(browser, "#content")
    yield browser
    ids = [id_ for content, id_ in _contents(system).items() if content not in before]
    if ids:
        system.call("delete_memory", {"ids": ids})


def _contents(system: DevServer) -> dict[str, str]:
    listed = system.call("list_memories", {"limit": 100, "preview": True})["memories"]
    return {memory["preview"]: memory["id"] for memory in listed}


def _paste(browser: Chromium, text: str) -> None:
    """Type a text, cut it and paste it by the keyboard."""
    type_into(browser, "content", text)
    field = find(browser, "#content")
    field.send_keys(Keys.CONTROL, "ax")
    wait_until(lambda: field.get_property("value") == "", "the text is cut")
    field.send_keys(Keys.CONTROL, "v")
    wait_until(lambda: bool(field.get_property("value")), "the text is pasted")


def test_several_memories_are_stored_each_with_the_same_tags(system: DevServer, add: Chromium) -> None:
    _paste(add, LIST)
    shows(add, "One memory or several? The text has 3 list items.")
    press(add, "3 memories")
    shows(add, "They get the same tags")
    find(add, "#add-tags").send_keys("baking,")
    press(add, "Add 3 memories")
    wait_until(lambda: len(add.driver.find_elements(By.CSS_SELECTOR, ".side .state.stored")) == 3, "three are stored")
    listed = system.call("list_memories", {"tags": ["baking"], "preview": True})["memories"]
    assert {memory["preview"] for memory in listed} == {"Gil bakes bread.", "Hal bakes cakes.", "Ivy bakes pies."}


def test_one_memory_keeps_the_whole_text(system: DevServer, add: Chromium) -> None:
    _paste(add, PARAGRAPHS)
    shows(add, "One memory or several? The text has 2 paragraphs.")
    press(add, "One memory")
    assert "One memory or several?" not in add.text
    press(add, "Add")
    wait_until_stored(add)
    id_ = system.call("memory_search", {"query": "Eve plays chess", "mode": "exact"})["memories"][0]["id"]
    assert system.call("get_memory", {"id": id_})["content"] == PARAGRAPHS


def test_a_typed_text_or_a_pasted_text_with_one_part_asks_no_question(add: Chromium) -> None:
    type_into(add, "content", PARAGRAPHS)
    shows(add, f"{len(PARAGRAPHS)} of 100,000 characters")
    assert "One memory or several?" not in add.text
    _paste(add, "Only one paragraph.")
    shows(add, "19 of 100,000 characters")
    assert "One memory or several?" not in add.text


def test_a_pasted_correction_is_one_memory(system: DevServer, site: str, add: Chromium) -> None:
    replaced = system.remember("Eve plays draughts on Mondays.")
    add.open(f"{site}/add?replaces={replaced}")
    _paste(add, PARAGRAPHS)
    shows(add, f"{len(PARAGRAPHS)} of 100,000 characters")
    assert "One memory or several?" not in add.text


def test_a_correction_that_replaces_nothing_says_so(site: str, add: Chromium) -> None:
    add.open(f"{site}/add?replaces=0192f3a4-0000-7000-8000-000000000000")
    type_into(add, "content", "Eve plays no game on Mondays.")
    press(add, "Add")
    shows(add, "Stored, but it replaces nothing:")


def test_a_dropped_file_is_imported_and_the_typed_text_is_kept(system: DevServer, add: Chromium) -> None:
    field = find(add, "#content")
    field.send_keys("Half a thought")
    add.driver.execute_script(DROP, field, "jo.md", "# Jo\n\nJo keeps bees.")
    shows(add, "Importing 1 file …")
    click(add, ".toast button")
    shows(add, "1 stored")
    memories = system.call("memory_search", {"query": "Jo keeps bees.", "mode": "exact"})["memories"]
    assert len(memories) == 1
    add.driver.back()
    wait_until(lambda: find(add, "#content").get_property("value") == "Half a thought", "the text is kept")
    find(add, "#content").send_keys(Keys.CONTROL, "a")
    find(add, "#content").send_keys(Keys.BACKSPACE)


def test_a_dragged_text_is_left_to_the_browser(add: Chromium) -> None:
    assert not add.driver.execute_script(DROP_TEXT)
    assert not add.driver.find_elements(By.CSS_SELECTOR, ".toast, .over")


def test_a_dropped_folder_that_cannot_be_read_is_reported(add: Chromium) -> None:
    add.driver.execute_script(UNREADABLE)
    add.driver.execute_script(DROP, find(add, "#content"), "notes", "")
    shows(add, "Not imported: The folder cannot be read.")


def test_saving_by_keyboard_stores_the_tag_that_is_still_being_typed(system: DevServer, add: Chromium) -> None:
    find(add, "#content").send_keys("Kim sails.")
    find(add, "#add-tags").send_keys("boats", Keys.CONTROL, Keys.ENTER)
    wait_until_stored(add)
    id_ = _contents(system)["Kim sails."]
    assert system.call("get_memory", {"id": id_})["tags"] == ["boats"]
    assert not add.driver.find_elements(By.CSS_SELECTOR, ".tokens .tag"), "the next memory gets no tag"


def test_a_dropped_file_does_not_replace_the_console(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/tags")
    find(browser, "h1")
    assert browser.driver.execute_script(DROP_FILE) is True


def test_the_memory_that_the_text_replaces_is_named_while_the_text_is_similar_to_another_one(
    system: DevServer, site: str, add: Chromium
) -> None:
    first, other = "Lou keeps the spare key under the mat.", "Max parks the red van behind the school."
    replaced = system.outcome(system.ingest(first))["memory_id"]
    system.outcome(system.ingest(other))
    type_into(add, "content", first.replace("spare", "second"))
    press(add, "Replace it with this")
    type_into(add, "content", other.replace("red", "blue"))
    shows(add, other)
    assert find(add, ".note a").get_property("href") == f"{site}/memories/{replaced}"
    press(add, "Keep both")
    wait_until(lambda: "It replaces" not in add.text, "both are kept")
    assert add.driver.find_element(By.CSS_SELECTOR, ".note [aria-pressed]").get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize(("path", "field"), [("/add", "content"), ("/connect", "first")])
def test_a_text_of_spaces_is_refused_with_a_reason(site: str, browser: Chromium, path: str, field: str) -> None:
    browser.open(f"{site}{path}")
    for text in ("", "  \n"):
        find(browser, f"#{field}").send_keys(text, Keys.CONTROL, Keys.ENTER)
        message = browser.driver.execute_script("return document.activeElement.validationMessage")
        assert (message == "Write a text.") == bool(text) and message
    find(browser, f"#{field}").send_keys("Tea.")
    assert find(browser, f"#{field}").get_property("validationMessage") == ""


# The server's answer about the first memory is replaced by the answer for a namespace without room.
NO_ROOM = """
Object.assign(content.requests[0], { state: "failed", error: "no room: 500 of 500 new texts today", memory_id: null });
window.fetch = real;
"""


def test_a_memory_that_was_not_stored_is_edited_with_all_its_fields(system: DevServer, add: Chromium) -> None:
    type_into(add, "content", "The trian leaves at nine.")
    find(add, "#add-tags").send_keys("travel,")
    type_into(add, "when", "5 May 2026")
    click(add, ".fold summary")
    type_into(add, "add-title", "Train")
    type_into(add, "add-session", "journey")
    type_into(add, "add-metadata", '{"platform": 3}')
    alter(add, "ingest_status", NO_ROOM)
    press(add, "Add")
    shows(add, "no room")
    type_into(add, "content", "Another text.")
    press(add, "Edit and add again")
    shows(add, "The text that you had typed was replaced.")
    press(add, "Undo")
    assert find(add, "#content").get_property("value") == "Another text."
    press(add, "Edit and add again")
    type_into(add, "content", "The train leaves at nine.")
    press(add, "Add")
    wait_until_stored(add)
    memories = system.call("memory_search", {"query": "The train leaves at nine.", "mode": "exact"})["memories"]
    memory = system.call("get_memory", {"id": memories[0]["id"]})
    assert (memory["title"], memory["tags"], memory["session"]) == ("Train", ["travel"], "journey")
    assert (memory["metadata"], memory["timestamp"][:10]) == ({"platform": 3}, "2026-05-05")
