"""Pages about many memories: time, tags, histories, files, outcomes and dead letters."""

import json
import subprocess
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.failing import be_offline
from tests.console.holds import hold, release, wait_until_held
from tests.console.log_ins import use_key
from tests.console.person import click, drop, find, open_page, press, reads, shows, wait_for_titles
from tests.console.server import ConsoleServer
from tests.dev import COMMAND
from tests.fakes import request
from tests.waiting import wait_until

EXPORT = "[aria-labelledby=export] .btn.main"
BAR_TITLES = "return [...document.querySelectorAll('.strip rect title')].map((title) => title.textContent)"
# Dispatches the event that a browser sends before it closes a tab. Returns whether the page asks for confirmation.
CLOSE = """
const closes = new Event("beforeunload", { cancelable: true });
dispatchEvent(closes);
return closes.defaultPrevented;
"""


def _downloaded(downloads: Path, name: str) -> bytes:
    wait_until(lambda: (downloads / name).exists() and not list(downloads.glob("*.crdownload")), f"{name} is saved")
    return (downloads / name).read_bytes()


def test_the_export_has_the_same_memories_as_the_export_command(
    system: ConsoleServer, site: str, browser: Chromium, downloads: Path
) -> None:
    hostile = 'a "quote", a \u2028, \u202e, 😀 and <b>'
    id_ = system.remember(hostile, timestamp="2026-01-09T00:00:00.123456Z")
    browser.open(f"{site}/import")
    shows(browser, "also writes ratings")
    find(browser, "#export")
    browser.driver.find_element(By.XPATH, "//button[starts-with(normalize-space(), 'Export')]").click()
    shows(browser, "the file was saved")
    written = subprocess.run(
        [COMMAND, "export", "--data-dir", str(system.directory / "data")], capture_output=True, check=True
    ).stdout
    rows = [json.loads(line) for line in written.splitlines()]
    memories = [{k: v for k, v in row.items() if k != "mnemosyne_export"} for row in rows if "content" in row]
    assert hostile in [memory["content"] for memory in memories]
    assert [json.loads(line) for line in _downloaded(downloads, "memories.jsonl").splitlines()] == memories
    system.call("delete_memory", {"id": id_})


def test_a_time_selected_on_the_timeline_filters_the_list(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    strip = find(browser, ".strip svg")
    assert (strip.aria_role, strip.accessible_name[:21]) == ("image", "3 memories by the day")
    bars = browser.driver.execute_script(BAR_TITLES)
    assert bars == ["May 1, 2026: 1 memory", "May 2, 2026: 1 memory", "May 3, 2026: 1 memory"]
    # There are notes from three days, so the middle third of the timeline is the second day.
    actions = ActionChains(browser.driver).move_to_element_with_offset(strip, -strip.size["width"] // 10, 0)
    actions.click_and_hold().move_by_offset(strip.size["width"] // 5, 0).release().perform()
    wait_for_titles(browser, "Note 2")
    assert "after=2026-05-02" in browser.url
    click(browser, ".chip.on")
    wait_for_titles(browser, "Note 3", "Note 2", "Note 1")


def test_tags_in_the_side_bar_filter_the_list(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    click(browser, ".rail .facet a")
    wait_for_titles(browser, "Note 2", "Note 1")
    assert find(browser, ".rail .facet a").get_attribute("aria-current") == "true"
    click(browser, ".rail .facet a")
    wait_for_titles(browser, "Note 3", "Note 2", "Note 1")


def test_a_dropped_file_is_imported_line_by_line(site: str, browser: Chromium, downloads: Path) -> None:
    good = [{"content": f"Fact {n}.", "timestamp": f"2026-03-0{n}T00:00:00Z", "mood": "x"} for n in range(1, 4)]
    lines = [*map(json.dumps, good), "not json", json.dumps(good[0])]
    browser.open(f"{site}/import")
    shows(browser, "Drop files or a folder")
    reads(browser, EXPORT, "memories")
    before = int(find(browser, EXPORT).text.split()[1])
    drop(browser, "facts.jsonl", "\n".join(lines))
    shows(browser, "Done. 5 of 5")
    shows(browser, "1 not stored")
    assert "Unknown fields that were left out: mood" in browser.text
    shows(browser, "Line 4 a line must be JSON")
    reads(browser, EXPORT, f"Export {before + 3} memories")
    press(browser, "Save failures")
    (failure,) = map(json.loads, _downloaded(downloads, "facts.jsonl.failures.jsonl").splitlines())
    assert failure["source"] == "facts.jsonl:4"
    click(browser, "main details summary")
    press(browser, "Save all lines")
    outcomes = [json.loads(line) for line in _downloaded(downloads, "facts.jsonl.outcomes.jsonl").splitlines()]
    assert sorted(outcome["line"] for outcome in outcomes) == [1, 2, 3, 4, 5]


def test_an_import_continues_while_other_pages_are_shown_and_can_be_stopped(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    lines = "".join(f'{{"content": "Row {n} of a long file.", "timestamp": "2025-01-01"}}\n' for n in range(20_000))
    browser.open(f"{site}/import")
    shows(browser, "Drop files or a folder")
    drop(browser, "long.jsonl", lines)
    shows(browser, "Importing …")
    open_page(browser, "Overview")
    shows(browser, "Most used tags")
    assert find(browser, ".import-progress").text.startswith("long.jsonl"), "each page shows its progress"
    click(browser, ".import-progress")
    shows(browser, "Import & export")
    assert browser.driver.execute_script(CLOSE) is True, "closing the tab asks for a confirmation"
    press(browser, "Stop")
    shows(browser, "Stopped.")
    assert browser.driver.execute_script(CLOSE) is False
    status_text = find(browser, "main section p .num").text
    stored_count = int(status_text.removeprefix("Stopped. ").split(" of ")[0].replace(",", ""))
    assert 0 < stored_count < 20_000
    shows(browser, f"{stored_count:,} stored")
    result = system.call("list_memories", {"after": "2025-01-01", "before": "2025-01-01", "limit": 100})
    assert result["memories"], "the records sent before the stop are stored"


def test_an_import_waits_while_the_browser_is_offline(site: str, browser: Chromium) -> None:
    lines = "".join(f'{{"content": "Kept offline: {n}.", "timestamp": "2025-03-01"}}\n' for n in range(20))
    browser.open(f"{site}/import")
    shows(browser, "Drop files or a folder")
    hold(browser, "ingest_status")
    drop(browser, "offline.jsonl", lines)
    wait_until_held(browser)
    be_offline(browser, True)
    try:
        release(browser)
        shows(browser, "Waiting: The server cannot be reached.")
    finally:
        be_offline(browser, False)
    shows(browser, "20 stored")
    assert "not stored" not in browser.text and "unknown" not in browser.text


def test_a_corrected_file_can_be_chosen_again(site: str, browser: Chromium, tmp_path: Path) -> None:
    file = tmp_path / "mended.jsonl"
    browser.open(f"{site}/import")
    shows(browser, "Drop files or a folder")
    for text, message in (
        ("not json", "1 not stored"),
        ('{"content": "Mended.", "timestamp": "2025-03-02"}', "1 stored"),
    ):
        file.write_text(text)
        browser.driver.find_element(By.ID, "files").send_keys(str(file))
        shows(browser, message)
    assert len(browser.driver.find_elements(By.CSS_SELECTOR, "[aria-label='mended.jsonl']")) == 2


def test_a_file_with_another_extension_is_not_imported(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/import")
    shows(browser, "Drop files or a folder")
    drop(browser, "wrong.pdf", "x")
    shows(browser, "wrong.pdf cannot be read: its name must end in .jsonl")


def test_a_dead_letter_is_shown_with_its_cause_and_redriven(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    ingest_request = request("Dana sings in a choir.")
    cause = "the embedder was away for a day"
    system.give_up([ingest_request], cause, message_id="4711")
    browser.open(f"{site}/activity?state=dead_lettered")
    shows(browser, "Message 4711")
    wait_until(lambda: browser.text.count(cause) == 2, "the letter and the request have the cause")
    shows(browser, "1 given up after several attempts")
    shows(browser, "Dana sings in a choir.")
    press(browser, "Retry it")
    shows(browser, "1 request is tried again.")
    outcome = system.outcome(str(ingest_request.request_id))
    assert outcome["state"] == "stored"
    id_ = outcome["memory_id"]
    wait_until(lambda: not system.call("list_dead_letters", {})["dead_letters"], "the letter is deleted")
    browser.open(f"{site}/activity")
    click(browser, ".tabs [href='/activity?state=stored']")
    wait_until(
        lambda: bool(browser.driver.find_elements(By.CSS_SELECTOR, f"[href$='{id_}']")), "it is listed as stored"
    )
    system.call("delete_memory", {"id": id_})
    click(browser, ".tabs [href='/activity?state=deleted']")
    shows(browser, "its memory was deleted later")


def test_requests_whose_message_was_deleted_are_not_said_to_be_tried_again(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    several = [request(f"Given up {n}.") for n in range(2)]
    system.give_up(several, "a bad day", message_id="4712")
    system.memories().drop_dead_letters(["4712"])
    browser.open(f"{site}/activity")
    press(browser, "Retry the 2")
    shows(browser, "Not retried: their messages have been deleted.")
    system.give_up(several, "a bad day", message_id="4712")
    browser.open(f"{site}/activity")
    press(browser, "Retry the 2")
    shows(browser, "2 requests are tried again.")
    assert {one["state"] for one in system.outcomes([str(one.request_id) for one in several])} == {"stored"}


@pytest.mark.parametrize("causes", [["another cause"], pytest.param([], marks=pytest.mark.nightly)])
def test_the_dead_letters_of_a_cause_are_deleted_together(
    system: ConsoleServer, site: str, browser: Chromium, causes: list[str]
) -> None:
    for number, cause in enumerate(("a quota of 10", "a quota of 20", *causes)):
        system.store_dead_letter(f"{number}", cause)
    browser.open(f"{site}/activity")
    find(browser, "tbody tr")  # the requests above the dead letters move the button when they are loaded
    shows(browser, "2 dead letters, 0 in flight")
    click(browser, "[aria-label='Delete all of the cause a quota of #']")
    assert find(browser, "dialog h2").text == "Delete 2 dead letters?"
    press(browser, "Delete permanently")
    shows(browser, "Deleted 2 dead letters.")
    assert [dead_letter.cause for dead_letter in system.memories().dead_letters(10)] == causes
    system.memories().drop_dead_letters(["2"])


def test_the_overview_counts_a_dead_letter_without_a_request(guarded: ConsoleServer, browser: Chromium) -> None:
    browser.open(f"http://127.0.0.1:{guarded.port}/overview")
    use_key(browser, guarded.make_key("read", "operate", namespace="unread"))
    shows(browser, "nothing failed")
    guarded.store_dead_letter("unread", "not JSON", "unread")
    open_page(browser, "Memories")
    open_page(browser, "Overview")
    shows(browser, "Some requests need a look")
    reads(browser, ".tile:nth-child(3) .big", "1")
    guarded.memories("unread").drop_dead_letters(["unread"])


def test_requests_of_a_state_are_shown_in_pages(system: ConsoleServer, site: str, browser: Chromium) -> None:
    memories = [{"content": f"One of many: {n}.", "timestamp": "2026-01-02T00:00:00Z"} for n in range(60)]
    system.outcomes(system.call("ingest_memories", {"memories": memories})["request_ids"])
    browser.open(f"{site}/activity?state=stored")
    shows(browser, "Load more")
    stored_state = (By.CSS_SELECTOR, ".table .state.stored")
    assert len(browser.driver.find_elements(*stored_state)) == 50
    press(browser, "Load more")
    wait_until(lambda: len(browser.driver.find_elements(*stored_state)) > 50, "there are more")


def test_failed_lines_of_an_import_are_shown_in_activity(site: str, browser: Chromium, system: ConsoleServer) -> None:
    lines = ["not json", *(json.dumps({"content": f"Seen {n}.", "timestamp": "2024-08-01"}) for n in range(2))]
    browser.open(f"{site}/import")
    shows(browser, "Drop files or a folder")
    drop(browser, "seen.jsonl", "\n".join(lines))
    shows(browser, "2 stored")
    open_page(browser, "Activity")
    group = "//button[normalize-space()='seen.jsonl']"
    wait_until(lambda: bool(browser.driver.find_elements(By.XPATH, group)), "its requests are one group")
    press(browser, "seen.jsonl")
    shows(browser, "a line must be JSON")
    names = [element.text for element in browser.driver.find_elements(By.CSS_SELECTOR, "tr.part .sub.wide")]
    assert sorted(names) == ["Line 1", "Line 2", "Line 3"]
    memories = system.call("list_memories", {"after": "2024-08-01", "before": "2024-08-01"})["memories"]
    system.call("delete_memory", {"ids": [hit["id"] for hit in memories]})
