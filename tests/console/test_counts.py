"""Counts, lists, dates and links of several pages agree with each other."""

from tests.chromium import Chromium
from tests.console.person import find, reads, wait_for_titles
from tests.dev import DevServer


def test_a_list_and_its_filters_count_only_the_memories_that_are_shown(
    system: DevServer, site: str, browser: Chromium
) -> None:
    ids = [system.remember(f"TITLE: Sail {n}\nSail {n}.", tags=["sail"], timestamp=f"2024-03-0{n}") for n in (1, 2, 3)]
    system.call("update_memory", {"id": ids[0], "superseded_by": ids[1]})
    browser.open(f"{site}/?tags=sail")
    wait_for_titles(browser, "Sail 3", "Sail 2")
    reads(browser, ".list-head", "2 memories")
    assert find(browser, ".rail .facet").text.split() == ["sail", "2"]
    assert find(browser, ".strip svg").accessible_name.startswith("2 memories")
    browser.open(f"{site}/?tags=sail&old=yes")
    wait_for_titles(browser, "Sail 3", "Sail 2", "Sail 1")
    reads(browser, ".list-head", "3 memories")
    system.call("delete_memory", {"ids": ids})
