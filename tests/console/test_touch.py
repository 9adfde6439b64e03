"""The actions of every page by touch, on a phone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.person import find, shows, titles, wait_for_titles
from tests.console.server import ConsoleServer
from tests.console.touch import phone, swipe, tap
from tests.dev import DevServer
from tests.fakes import request
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

DAY = "2024-03-01"
FIRST = "Note 1"


@pytest.fixture(scope="module")
def finger(browser: Chromium) -> Iterator[Chromium]:
    with phone(browser):
        yield browser


@pytest.fixture
def stored_ids(system: ConsoleServer) -> Iterator[dict[str, str]]:
    """Three memories of one day; their ids by title."""
    names = "ABC"
    stored = system.remember_all(
        *(
            {
                "content": f"TITLE: {name}\nThe letter {name}.",
                "timestamp": f"{DAY}T0{hour}:00:00Z",
                "tags": ["letter"],
            }
            for hour, name in enumerate(names, 1)
        )
    )
    ids = dict(zip(names, stored, strict=True))
    yield ids
    system.call("delete_memory", {"ids": [*ids.values()]})


def _memory(system: DevServer, id_: str) -> dict[str, object]:
    return system.call("get_memory", {"id": id_})


def test_memories_are_filtered_ordered_and_opened(site: str, finger: Chromium, stored_ids: dict[str, str]) -> None:
    finger.open(f"{site}/")
    tap(finger, "Any time")
    shows(finger, "In words")
    find(finger, "#time").send_keys(DAY)
    tap(finger, "Apply")
    wait_for_titles(finger, "C", "B", "A")
    tap(finger, "Newest first")
    wait_for_titles(finger, "A", "B", "C")
    tap(finger, "Any tag")
    tap(finger, ".choices button")
    wait_for_titles(finger, "A", "B", "C")
    tap(finger, "Clear all")
    wait_until(lambda: FIRST in titles(finger), "all memories are listed")
    tap(finger, f"[data-id='{stored_ids['B']}'] .row-link")
    shows(finger, "The letter B.")


def test_selected_memories_are_tagged_and_deleted_with_an_undo(
    system: DevServer, site: str, finger: Chromium, stored_ids: dict[str, str]
) -> None:
    finger.open(f"{site}/?after={DAY}&before={DAY}")
    wait_for_titles(finger, "C", "B", "A")
    tap(finger, "Pick")
    tap(finger, "[aria-label='Pick: C']")
    tap(finger, "[aria-label='Pick: A']")
    shows(finger, "2 picked")
    tap(finger, "Tag")
    find(finger, "#bulk-tags").send_keys("post,")
    tap(finger, "Save")
    shows(finger, "Tags of 2 memories changed.")
    assert _memory(system, stored_ids["A"])["tags"] == ["letter", "post"]
    tap(finger, "Pick")
    tap(finger, "[aria-label='Pick: B']")
    tap(finger, "Delete")
    wait_for_titles(finger, "C", "A")
    tap(finger, "Undo")
    wait_for_titles(finger, "C", "B", "A")


def test_a_swipe_scrolls_and_selects_no_time(site: str, finger: Chromium) -> None:
    finger.open(f"{site}/")
    strip = find(finger, ".strip-plot")
    x, y = strip.location["x"] + 150, strip.location["y"] + 20
    swipe(finger, (x, y), (x, y - 120))
    swipe(finger, (x, y + 100), (x + 100, y + 100))
    shows(finger, FIRST)
    assert "after=" not in finger.url


@pytest.mark.nightly
def test_a_search_is_typed_run_explained_and_cleared(site: str, finger: Chromium) -> None:
    finger.open(f"{site}/")
    tap(finger, ".search")
    find(finger, "#query").send_keys("oolo")
    shows(finger, "found by words while you type")
    find(finger, "#query").send_keys("ng" + Keys.ENTER)
    tap(finger, ".why summary")
    shows(finger, "Meaning")
    tap(finger, "[aria-label=Clear]")
    wait_until(lambda: "q=" not in finger.url, "the search is cleared")


def test_a_memory_is_read_rated_and_edited(
    system: DevServer, site: str, finger: Chromium, stored_ids: dict[str, str]
) -> None:
    finger.open(f"{site}/?after={DAY}&before={DAY}")
    tap(finger, f"[data-id='{stored_ids['B']}'] .row-link")
    tap(finger, "Source")
    assert "The letter B." in find(finger, "pre.source").text
    tap(finger, "Formatted")
    tap(finger, "It helped")
    wait_until(lambda: system.call("memory_history", {"id": stored_ids["B"]})["ratings"] != [], "it is rated")
    tap(finger, "Edit")
    find(finger, "main input").send_keys(" revised")
    tap(finger, "Save")
    wait_until(lambda: "revised" in str(_memory(system, stored_ids["B"])["title"]), "the title is saved")


@pytest.mark.nightly
def test_a_memory_is_replaced_from_its_menu(
    system: DevServer, site: str, finger: Chromium, stored_ids: dict[str, str]
) -> None:
    finger.open(f"{site}/memories/{stored_ids['A']}")
    tap(finger, "[aria-label=More]")
    tap(finger, "Replace with…")
    find(finger, "dialog input[type=search]").send_keys("The letter C.")
    wait_until(lambda: "C" in find(finger, ".option").text, "the search has answered")
    tap(finger, ".option")
    tap(finger, "Replace it")
    shows(finger, "This memory was replaced.")
    assert _memory(system, stored_ids["A"])["superseded_by"] == stored_ids["C"]


@pytest.mark.nightly
def test_a_memory_is_added_and_deleted(system: DevServer, site: str, finger: Chromium) -> None:
    finger.open(f"{site}/")
    tap(finger, ".tabbar .add")
    find(finger, "#content").send_keys("Kim skates by touch.")
    find(finger, "#add-tags").send_keys("te")
    wait_until(lambda: find(finger, ".options li").text.startswith("tea"), "the tags are known")
    tap(finger, ".options li:first-child")
    tap(finger, "Add")
    tap(finger, ".side .btns .link")
    shows(finger, "deleted. Closing the tab keeps it.")
    tap(finger, "Undo")
    memories = system.call("memory_search", {"query": "Kim skates", "mode": "exact"})["memories"]
    assert [hit["tags"] for hit in memories] == [["tea"]]
    system.call("delete_memory", {"id": memories[0]["id"]})


@pytest.mark.nightly
def test_tags_are_renamed_merged_and_deleted(
    system: DevServer, site: str, finger: Chromium, stored_ids: dict[str, str]
) -> None:
    system.call("update_memory", {"ids": [stored_ids["A"]], "add_tags": ["post"]})
    finger.open(f"{site}/tags")
    tap(finger, "[aria-label='Rename letter']")
    find(finger, "#name").send_keys(Keys.CONTROL, "a")
    find(finger, "#name").send_keys("mail")
    tap(finger, ".dialog-foot .main")
    shows(finger, "3 memories now have the tag mail.")
    tap(finger, "[aria-label='Pick mail']")
    tap(finger, "[aria-label='Pick post']")
    tap(finger, "Merge …")
    tap(finger, ".dialog-foot .main")
    shows(finger, "Merged into")
    wait_until(lambda: len(_tags(system, stored_ids)) == 1, "one tag is left")
    (tag,) = _tags(system, stored_ids)
    tap(finger, f"[aria-label='Delete the tag {tag}']")
    tap(finger, "Delete the tag")
    wait_until(lambda: not _tags(system, stored_ids), "the tag is deleted")


def _tags(system: DevServer, stored_ids: dict[str, str]) -> set[str]:
    return {tag for id_ in stored_ids.values() for tag in system.call("get_memory", {"id": id_})["tags"]}


def test_requests_are_filtered_selected_and_retried(system: ConsoleServer, site: str, finger: Chromium) -> None:
    ingest_request = request("Retried by touch.")
    system.give_up([ingest_request], "away")
    finger.open(f"{site}/")
    tap(finger, ".tabbar [href='/activity']")
    # Wait until the counts in the tabs are shown, because they move the tabs. An earlier tap might miss the tab.
    find(finger, ".tabs [href='/activity?state=dead_lettered'] span")
    find(finger, "[aria-label='Pick: Retried by touch.']")
    tap(finger, ".tabs [href='/activity?state=dead_lettered']")
    states = "return [...document.querySelectorAll('.table .state')].map((state) => state.className)"
    wait_until(lambda: finger.driver.execute_script(states) == ["state failed"], "the others are left out")
    tap(finger, "[aria-label='Pick: Retried by touch.']")
    shows(finger, "1 picked")
    tap(finger, ".bulk button:nth-of-type(1)")
    shows(finger, "1 request is tried again.")
    system.call("delete_memory", {"id": system.outcome(str(ingest_request.request_id))["memory_id"]})


@pytest.mark.nightly
def test_the_export_has_its_format_and_is_saved(site: str, finger: Chromium, downloads: Path) -> None:
    finger.open(f"{site}/")
    tap(finger, ".tabbar summary")
    tap(finger, ".tabbar [href='/import']")
    tap(finger, "Markdown")
    tap(finger, "[aria-labelledby=export] .main")
    wait_until((downloads / "memories.zip").exists, "the file is saved")


def test_files_are_chosen_by_touch(site: str, finger: Chromium) -> None:
    finger.open(f"{site}/import")
    find(finger, ".drop")
    for name in ("files", "folder"):
        finger.driver.execute_script(
            f"document.getElementById('{name}').addEventListener('click', (event) => "
            f"{{ event.preventDefault(); window.opened = '{name}'; }})"
        )
    for label, name in (("Choose files", "files"), ("Choose a folder", "folder")):
        tap(finger, label)
        wait_until(lambda name=name: finger.driver.execute_script("return window.opened") == name, f"{label} opens")  # type: ignore[misc]


@pytest.mark.nightly
def test_the_overview_links_to_other_pages(site: str, finger: Chromium) -> None:
    finger.open(f"{site}/overview")
    shows(finger, "Most used tags")
    tap(finger, "main a[href^='/?tags=']")
    wait_for_titles(finger, "Note 2", "Note 1")


@pytest.mark.nightly
def test_a_client_is_chosen_and_its_text_copied(site: str, finger: Chromium) -> None:
    finger.open(f"{site}/connect")
    tap(finger, "#client-1")
    assert find(finger, "#client-1").get_attribute("aria-selected") == "true"
    tap(finger, ".snippet button")
    shows(finger, "Copied.")


@pytest.mark.nightly
def test_the_account_menu_changes_the_appearance(site: str, finger: Chromium) -> None:
    finger.open(f"{site}/")
    tap(finger, "[aria-label='Account and appearance']")
    tap(finger, "Appearance: as the system")
    assert finger.driver.execute_script("return document.documentElement.dataset.theme") == "light"
    finger.driver.execute_script("localStorage.clear()")
    assert not finger.driver.find_elements(By.CSS_SELECTOR, ".menu[open]"), "the menu is closed after a choice"
