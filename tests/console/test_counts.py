"""Counts, lists, dates and links of several pages agree with each other."""

from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.failing import alter
from tests.console.person import come_back, find, follow, open_page, reads, shows, wait_for_titles
from tests.console.server import ConsoleServer
from tests.dev import DevServer
from tests.waiting import wait_until

BADGE = ".nav .badge"


def test_a_list_and_its_filters_count_only_the_memories_that_are_shown(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    ids = system.remember_all(
        *({"content": f"TITLE: Sail {n}\nSail {n}.", "tags": ["sail"], "timestamp": f"2024-0{n}-01"} for n in (1, 2, 3))
    )
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


def test_the_timeline_of_a_period_is_readable_next_to_a_memory_of_the_year_1(
    system: DevServer, site: str, browser: Chromium
) -> None:
    id_ = system.remember("The first galley.", timestamp="0001-06-01T12:00:00Z")
    browser.open(f"{site}/?after=2026-05-01&before=2026-05-31")
    wait_until(
        lambda: "by the day, from May 1, 2026 to May 3, 2026" in find(browser, ".strip svg").accessible_name,
        "the timeline shows the period",
        seconds=30,
    )
    system.call("delete_memory", {"id": id_})


def test_the_overview_names_the_year_of_the_oldest_memory(system: DevServer, site: str, browser: Chromium) -> None:
    id_ = system.remember("The oldest oar.", timestamp="2021-03-01T12:00:00Z")
    browser.open(f"{site}/overview")
    reads(browser, ".tile", "since Mar 1, 2021")
    system.call("delete_memory", {"id": id_})


def test_a_request_that_has_left_a_state_leaves_the_list_of_this_state(
    system: DevServer, site: str, browser: Chromium
) -> None:
    id_ = system.remember("The skiff leaks.")
    browser.open(f"{site}/activity?state=stored")
    shows(browser, "The skiff leaks.")
    system.call("delete_memory", {"id": id_})
    come_back(browser)
    wait_until(lambda: "The skiff leaks." not in browser.text, "the request is no longer listed as stored")
    assert "Note 1" in browser.text or "oolong" in browser.text


def test_the_badge_of_activity_counts_the_failures_that_were_not_seen(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/overview")
    shows(browser, "nothing failed")
    alter(browser, "list_requests", "content.counts.failed = window.failed ?? 1;")
    come_back(browser)
    reads(browser, BADGE, "1")
    follow(browser, "See Activity")
    shows(browser, "1 error in a request")
    assert browser.url.endswith("/activity?state=failed"), "the link leads to the failed requests"
    wait_until(lambda: not browser.driver.find_elements(By.CSS_SELECTOR, BADGE), "the failure was seen")
    open_page(browser, "Overview")
    reads(browser, ".tile:nth-child(3)", "1")
    browser.driver.execute_script("window.failed = 3")
    come_back(browser)
    reads(browser, BADGE, "2")
