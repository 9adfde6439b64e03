"""Actions by touch, on a phone. `test_appearance.py` tests that a finger reaches each control of each page."""

from collections.abc import Iterator

import pytest

from tests.chromium import Chromium
from tests.console.person import find, shows, wait_for_titles
from tests.console.server import ConsoleServer
from tests.console.touch import phone, swipe, tap
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def finger(browser: Chromium) -> Iterator[Chromium]:
    with phone(browser):
        yield browser


def test_selected_memories_are_tagged_and_deleted_with_an_undo(
    system: ConsoleServer, site: str, finger: Chromium
) -> None:
    ids = system.remember_titled("1", "2", "3")
    finger.open(f"{site}/?after=2024-03-01&before=2024-03-01")
    wait_for_titles(finger, "3", "2", "1")
    tap(finger, "Pick")
    tap(finger, "[aria-label='Pick: 3']")
    tap(finger, "[aria-label='Pick: 1']")
    shows(finger, "2 picked")
    tap(finger, "Tag")
    find(finger, "#bulk-tags").send_keys("post,")
    tap(finger, "Save")
    shows(finger, "Tags of 2 memories changed.")
    assert [system.call("get_memory", {"id": id_})["tags"] for id_ in ids] == [["post"], [], ["post"]]
    tap(finger, "Pick")
    tap(finger, "[aria-label='Pick: 2']")
    tap(finger, "Delete")
    wait_for_titles(finger, "3", "1")
    tap(finger, "Undo")
    wait_for_titles(finger, "3", "2", "1")
    system.delete(ids)


def test_a_swipe_scrolls_and_selects_no_time(site: str, finger: Chromium) -> None:
    finger.open(f"{site}/")
    strip = find(finger, ".strip-plot")
    x, y = strip.location["x"] + 150, strip.location["y"] + 20
    swipe(finger, (x, y), (x, y - 120))
    swipe(finger, (x, y + 100), (x + 100, y + 100))
    shows(finger, "Note 1")
    assert "after=" not in finger.url


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
