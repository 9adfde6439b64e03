"""Five tasks of a new user, with the number of clicks for each. Typing is not counted."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.conftest import DESKTOP
from tests.console.person import click, find, follow, keys, open_page, press, shows, titles, type_into
from tests.console.server import ConsoleServer
from tests.dev import DevServer
from tests.fakes import request
from tests.waiting import wait_until

by_night = pytest.mark.nightly
"""By day, test_typing.py, test_pages.py and test_requests.py do the same tasks without counting clicks."""
COUNT = """
window.clicks = 0;
document.addEventListener("click", ({ isTrusted }) => { window.clicks += isTrusted ? 1 : 0; }, { capture: true });
"""


@pytest.fixture
def newcomer(site: str, browser: Chromium) -> Iterator[Chromium]:
    """The first page, whose clicks are counted."""
    browser.driver.set_window_size(*DESKTOP)
    browser.open(f"{site}/")
    wait_until(lambda: "Note 1" in titles(browser), "the memories are listed")
    browser.driver.execute_script(COUNT)
    yield browser


def _clicks(browser: Chromium) -> int:
    clicks: int = browser.driver.execute_script("return window.clicks")
    return clicks


@by_night
def test_a_fact_is_found_with_one_click(newcomer: Chromium) -> None:
    click(newcomer, "#query")
    keys(newcomer, *"oolong shelf")
    shows(newcomer, "The oolong is on shelf 7.")
    wait_until(lambda: titles(newcomer)[0] == "Note 2", "it is the first result")
    assert _clicks(newcomer) == 1


@by_night
def test_a_fact_is_corrected_with_three_clicks_on_its_page(system: DevServer, newcomer: Chromium) -> None:
    old = system.outcome(system.ingest("TITLE: Badge\nThe badge is red."))["memory_id"]
    newcomer.open(newcomer.url.split("?")[0] + f"memories/{old}")
    shows(newcomer, "The badge is red.")
    newcomer.driver.execute_script(COUNT)
    click(newcomer, "[aria-label=More]")
    press(newcomer, "Write a correction")
    shows(newcomer, "It replaces this memory.")
    type_into(newcomer, "content", "The new badge for visitors of the harbour is green.")
    press(newcomer, "Add")
    wait_until(lambda: system.call("get_memory", {"id": old})["superseded_by"] is not None, "it is replaced")
    assert _clicks(newcomer) == 3
    newcomer.driver.back()
    follow(newcomer, "Read the current one")
    shows(newcomer, "The new badge for visitors of the harbour is green.")
    system.call("delete_memory", {"ids": [old, system.call("get_memory", {"id": old})["superseded_by"]]})


def test_two_tags_are_merged_with_three_clicks(system: DevServer, newcomer: Chromium) -> None:
    tags = ("how-to", "how-to", "howto")
    ids = [system.outcome(system.ingest(f"Recipe {n}.", tags=[tag]))["memory_id"] for n, tag in enumerate(tags)]
    open_page(newcomer, "Tags")
    press(newcomer, "Merge into how-to")
    press(newcomer, "Merge")
    shows(newcomer, "Merged into how-to: 1 memory changed.")
    assert _clicks(newcomer) == 3
    assert [system.call("get_memory", {"id": id_})["tags"] for id_ in ids] == [["how-to"]] * 3
    system.call("delete_memory", {"ids": ids})


@by_night
def test_a_failed_request_is_retried_with_two_clicks(system: ConsoleServer, newcomer: Chromium) -> None:
    ingest_request = request("Retried with two clicks.")
    system.give_up([ingest_request], "away")
    open_page(newcomer, "Activity")
    click(newcomer, "[aria-label='Retry Retried with two clicks.']")
    shows(newcomer, "1 request is tried again.")
    assert _clicks(newcomer) == 2
    system.call("delete_memory", {"id": system.outcome(str(ingest_request.request_id))["memory_id"]})


def test_a_folder_is_imported_with_two_clicks_and_the_browser_s_dialog(
    system: DevServer, newcomer: Chromium, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.md").write_text("# One\n\nThe first note of the folder.")
    (folder / "deep" / "two.md").write_text("# Two\n\nThe second note of the folder.")
    (folder / "picture.png").write_bytes(b"no memory")
    (folder / ".trash").mkdir()
    (folder / ".trash" / "gone.md").write_text("A deleted note of the folder.")
    open_page(newcomer, "Import & export")
    find(newcomer, ".drop")
    # The file dialog of the operating system is not opened, because a test cannot operate it.
    newcomer.driver.execute_script(
        "document.getElementById('folder').addEventListener('click', (event) => event.preventDefault())"
    )
    press(newcomer, "Choose a folder")
    clicks = _clicks(newcomer)
    newcomer.driver.find_element(By.ID, "folder").send_keys(str(folder))
    wait_until(lambda: newcomer.text.count("1 stored") == 2, "both notes are stored")
    assert clicks == 2 and "picture.png" not in newcomer.text
    memories = system.call("memory_search", {"query": "note of the folder", "mode": "exact"})["memories"]
    assert len(memories) == 2
    system.call("delete_memory", {"ids": [hit["id"] for hit in memories]})
