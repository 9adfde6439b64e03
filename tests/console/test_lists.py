"""Lists by keyboard and mouse: walk, pick, tag, export, delete and undo."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.chromium import Chromium
from tests.console.failing import alter
from tests.console.person import (
    click,
    find,
    focused,
    keys,
    open_page,
    press,
    reads,
    shows,
    titles,
    type_into,
    wait_for_titles,
)
from tests.console.server import ConsoleServer
from tests.dev import DevServer
from tests.waiting import wait_until

DAY = "2024-03-01"


@pytest.fixture
def four(system: ConsoleServer, site: str, browser: Chromium) -> Iterator[dict[str, str]]:
    """Four memories of one day, listed from D to A; their ids by title."""
    ids = dict(zip("ABCD", system.remember_titled(*"ABCD", day=DAY), strict=True))
    browser.open(f"{site}/?after={DAY}&before={DAY}")
    wait_for_titles(browser, "D", "C", "B", "A")
    yield ids
    system.call("delete_memory", {"ids": [*ids.values()]})


def _picked(browser: Chromium) -> list[str]:
    script = "return [...document.querySelectorAll('.row.picked b')].map((one) => one.textContent)"
    names: list[str] = browser.driver.execute_script(script)
    return names


def test_items_of_a_list_are_visited_and_selected_by_keyboard(browser: Chromium, four: dict[str, str]) -> None:
    keys(browser, "j", "j")
    assert focused(browser).startswith("C")
    keys(browser, "x", "j", "j", "X")
    wait_until(lambda: _picked(browser) == ["C", "B", "A"], "three are picked")
    shows(browser, "3 picked")
    keys(browser, Keys.ESCAPE)
    wait_until(lambda: _picked(browser) == [], "none is picked")
    keys(browser, "k", Keys.ENTER)
    shows(browser, "The story of B.")
    assert four["B"] in browser.url
    shows(browser, "3 of 4")
    keys(browser, "j")
    shows(browser, "The story of A.")
    browser.driver.back()
    wait_for_titles(browser, "D", "C", "B", "A")


def test_a_range_has_no_result_that_is_not_shown(browser: Chromium, four: dict[str, str]) -> None:
    the_second_is_weak = "content.memories.forEach((one, n) => { one.confidence = n === 1 ? 'weak' : 'strong'; });"
    alter(browser, "memory_search", the_second_is_weak)
    type_into(browser, "query", "story")
    keys(browser, Keys.ENTER)
    shows(browser, "1 weak match")
    press(browser, "Pick")

    def boxes() -> list[WebElement]:
        return browser.driver.find_elements(By.CSS_SELECTOR, ".hit .pick input")

    wait_until(lambda: len(boxes()) == 3, "three results can be picked")
    boxes()[0].click()
    ActionChains(browser.driver).key_down(Keys.SHIFT).click(boxes()[2]).key_up(Keys.SHIFT).perform()
    shows(browser, "3 picked")


def test_selected_memories_are_exported(browser: Chromium, four: dict[str, str], downloads: Path) -> None:
    keys(browser, "j", "x", "j", "x")
    press(browser, "Export")
    shows(browser, "2 memories exported.")
    file = downloads / "memories.jsonl"
    wait_until(file.exists, "the file is saved")
    assert {json.loads(line)["title"] for line in file.read_text().splitlines()} == {"C", "D"}


def test_a_deletion_can_be_undone_by_a_key_even_from_another_page(
    system: DevServer, browser: Chromium, four: dict[str, str]
) -> None:
    keys(browser, "j", "x", "j", "x", Keys.DELETE)
    wait_for_titles(browser, "B", "A")
    shows(browser, "2 memories deleted. Closing the tab keeps them.")
    open_page(browser, "Overview")
    shows(browser, "Memories by month")
    shows(browser, "2 memories deleted.")
    keys(browser, "z")
    browser.driver.back()
    wait_for_titles(browser, "D", "C", "B", "A")
    assert system.call("get_memory", {"id": four["D"]})["title"] == "D"


def test_keyboard_shortcuts_do_nothing_in_a_text_field(browser: Chromium, four: dict[str, str]) -> None:
    keys(browser, "/")
    keys(browser, "j", "x", "a")
    assert find(browser, "#query").get_property("value") == "jxa"
    assert _picked(browser) == []
    keys(browser, Keys.ESCAPE)
    assert find(browser, "#query").get_property("value") == ""


def test_new_memories_appear_without_a_change_of_the_scroll_position(
    system: DevServer, browser: Chromium, four: dict[str, str]
) -> None:
    keys(browser, "j", "j")
    id_ = system.outcome(system.ingest("TITLE: E\nJust now.", timestamp=f"{DAY}T09:00:00Z"))["memory_id"]
    wait_for_titles(browser, "E", "D", "C", "B", "A")
    assert focused(browser).startswith("C")
    system.call("delete_memory", {"id": id_})


@pytest.fixture
def tagged(system: ConsoleServer) -> Iterator[list[str]]:
    """Memories with the tags how-to, how-to and howto."""
    ids = system.remember_all(
        *(
            {"content": f"Recipe {n}.", "timestamp": f"2024-02-0{n}T00:00:00Z", "tags": [tag]}
            for n, tag in enumerate(("how-to", "how-to", "howto"), 1)
        )
    )
    yield ids
    system.call("delete_memory", {"ids": ids})


def _tags(system: DevServer, ids: list[str]) -> list[list[str]]:
    return [system.call("get_memory", {"id": id_})["tags"] for id_ in ids]


def test_selected_tags_are_merged_into_the_chosen_one(
    system: DevServer, site: str, browser: Chromium, tagged: list[str]
) -> None:
    browser.open(f"{site}/tags")
    for name in ("how-to", "howto"):
        click(browser, f"[aria-label='Pick {name}']")
    press(browser, "Merge …")
    browser.driver.find_element(By.XPATH, "//dialog//label[normalize-space()='howto']").click()
    press(browser, "Merge")
    shows(browser, "Merged into howto: 2 memories changed.")
    assert _tags(system, tagged) == [["howto"], ["howto"], ["howto"]]


def test_a_tag_is_found_renamed_and_deleted(system: DevServer, site: str, browser: Chromium, tagged: list[str]) -> None:
    browser.open(f"{site}/tags")
    find(browser, "[aria-label='Find a tag']").send_keys("HOWT")
    wait_until(lambda: "how-to" not in browser.text, "one tag is left")
    click(browser, "[aria-label='Rename howto']")
    type_into(browser, "name", "guide" + Keys.ENTER)
    shows(browser, "1 memory now has the tag guide.")
    field = find(browser, "[aria-label='Find a tag']")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("guide")
    click(browser, "[aria-label='Delete the tag guide']")
    shows(browser, "1 memory loses this tag. The memories stay.")
    press(browser, "Delete the tag")
    shows(browser, "Tag guide removed from 1 memory.")
    assert _tags(system, tagged) == [["how-to"], ["how-to"], []]


def test_titles_are_listed_with_the_first_words_and_end_with_a_whole_word(
    system: DevServer, site: str, browser: Chromium
) -> None:
    text = "Extraordinarily uninterrupted sentences " * 12
    id_ = system.outcome(system.ingest(text, timestamp="2024-01-05T00:00:00Z"))["memory_id"]
    browser.open(f"{site}/?after=2024-01-05&before=2024-01-05")
    wait_until(lambda: bool(browser.driver.find_elements(By.CSS_SELECTOR, ".line.cut")), "the line is marked as cut")
    assert titles(browser)[0].startswith("Extraordinarily uninterrupted"), "a truncated title is not shown"
    assert browser.driver.find_elements(By.CSS_SELECTOR, ".line b") == []
    system.call("delete_memory", {"id": id_})


def test_the_expiry_and_the_pin_of_a_memory_are_edited(site: str, browser: Chromium, system: DevServer) -> None:
    id_ = system.outcome(system.ingest("TITLE: Lease\nThe lease ends soon."))["memory_id"]
    browser.open(f"{site}/memories/{id_}/edit")
    day = datetime.now().astimezone().date() + timedelta(days=9)
    find(browser, "#expiry").send_keys(f"{day:%m%d%Y}")
    click(browser, "form .check input")
    press(browser, "Save")
    shows(browser, "pinned")
    memory = system.call("get_memory", {"id": id_})
    assert (datetime.fromisoformat(memory["expires_at"]).astimezone().date(), memory["pinned"]) == (day, True)
    for path in ("/", "/?q=lease"):
        browser.open(f"{site}{path}")
        reads(browser, f"[data-id='{id_}'] .badge", "expires in 9 days")
    system.call("delete_memory", {"id": id_})


def test_a_change_of_tags_keeps_tags_that_were_added_after_the_page_was_opened(
    site: str, browser: Chromium, system: DevServer
) -> None:
    """Another tab of the console, or an agent, may add a tag while the page is open."""
    id_ = system.outcome(system.ingest("A hive stands by the wall.", tags=["bees", "wall"]))["memory_id"]
    browser.open(f"{site}/memories/{id_}")
    remove = find(browser, "[aria-label='Remove wall']")
    system.call("update_memory", {"id": id_, "add_tags": ["garden"]})
    remove.click()
    wait_until(
        lambda: sorted(system.call("get_memory", {"id": id_})["tags"]) == ["bees", "garden"], "one tag was removed"
    )
    system.call("delete_memory", {"id": id_})


# Returns whether the last letter of an element's text is to the left of the first letter.
RUNS_LEFT = """
const [from, until] = [document.createRange(), document.createRange()];
const texts = document.createTreeWalker(arguments[0], NodeFilter.SHOW_TEXT);
const nodes = [];
while (texts.nextNode()) nodes.push(texts.currentNode);
from.setStart(nodes[0], 0);
from.setEnd(nodes[0], 1);
until.setStart(nodes.at(-1), nodes.at(-1).length - 1);
until.setEnd(nodes.at(-1), nodes.at(-1).length);
return until.getBoundingClientRect().right <= from.getBoundingClientRect().left;
"""
DOTS = "const { left, right } = getComputedStyle(arguments[0], '::after'); return parseFloat(left) < parseFloat(right);"


def test_text_from_right_to_left_is_shown_and_typed_from_right_to_left(
    site: str, browser: Chromium, system: ConsoleServer
) -> None:
    hebrew = "האולונג נמצא על מדף 7. "
    content = f"English first.\n\n{hebrew.strip()}\n\n- {hebrew.strip()}"
    stored = system.remember_all(
        *({"content": text, "timestamp": "2024-02-05T00:00:00Z"} for text in (hebrew * 20, content))
    )
    browser.open(f"{site}/?after=2024-02-05&before=2024-02-05")
    line = find(browser, f"[data-id='{stored[0]}'] .line.cut")
    assert browser.driver.execute_script(DOTS, line), "the dots are at the end of the line, on the left"
    browser.open(f"{site}/memories/{stored[1]}")
    find(browser, "article .read li")
    for selector in ("p:nth-of-type(2)", "li"):
        assert browser.driver.execute_script(RUNS_LEFT, find(browser, f"article .read {selector}")), selector
    assert not browser.driver.execute_script(RUNS_LEFT, find(browser, "article .read p"))
    browser.open(f"{site}/add")
    for selector in ("#content", "#add-tags"):
        bidi = find(browser, selector).value_of_css_property("unicode-bidi")
        assert bidi == "plaintext", "each line is aligned by its first letter"
    find(browser, "#content").send_keys(hebrew)
    assert find(browser, "#content").value_of_css_property("direction") == "rtl"
    system.call("delete_memory", {"ids": stored})
