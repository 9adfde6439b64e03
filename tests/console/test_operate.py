"""Pages about many memories: time, tags, histories, files, outcomes and dead letters."""

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import expected_conditions

from mnemosyne.cli.open_services import open_services
from mnemosyne.domain.memory import DeadLetter
from mnemosyne.domain.message import IngestMessage, encode
from tests.chromium import Chromium, chromium
from tests.console.person import drop, headings, press, shows, type_into
from tests.dev import COMMAND, DevServer
from tests.fakes import request
from tests.waiting import wait_until

Keep = Callable[[Chromium, str], None]


BAR_TITLES = "return [...document.querySelectorAll('.plot g > title')].map((title) => title.textContent)"
# Fire the event before a tab closes; return whether the page asks for confirmation.
CLOSE = """
const closes = new Event("beforeunload", { cancelable: true });
dispatchEvent(closes);
return closes.defaultPrevented;
"""


@pytest.fixture(scope="module")
def downloads() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="downloads-") as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def browser(downloads: Path) -> Iterator[Chromium]:
    with chromium(downloads=str(downloads)) as opened:
        yield opened


def _downloaded(downloads: Path, name: str) -> bytes:
    wait_until(lambda: (downloads / name).exists() and not list(downloads.glob("*.crdownload")), f"{name} is saved")
    return (downloads / name).read_bytes()


def test_a_stretch_that_is_marked_on_the_timeline_filters_the_list(site: str, browser: Chromium, picture: Keep) -> None:
    browser.open(f"{site}/newest")
    wait_until(lambda: bool(browser.driver.find_elements(By.CSS_SELECTOR, ".plot svg")), "the plot is drawn")
    plot = browser.driver.find_element(By.CSS_SELECTOR, ".plot svg")
    assert (plot.aria_role, plot.accessible_name) == ("image", "Memories by the day")
    titles = browser.driver.execute_script(BAR_TITLES)
    assert titles == ["May 1, 2026: 1", "May 2, 2026: 1", "May 3, 2026: 1"], "a bar under the pointer has its value"
    # The notes are of three days: the middle third of the plot is the second.
    actions = ActionChains(browser.driver).move_to_element_with_offset(plot, -plot.size["width"] // 10, 0)
    actions.click_and_hold().move_by_offset(plot.size["width"] // 5, 0).release().perform()
    wait_until(lambda: headings(browser) == ["Note 2"], "one day's memories are left")
    assert "after=2026-05-02" in browser.url
    picture(browser, "timeline")
    browser.driver.find_element(By.LINK_TEXT, "Show all").click()
    wait_until(lambda: len(headings(browser)) >= 3, "all are shown")


def test_a_day_of_the_timeline_is_chosen_by_keyboard(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/newest")
    shows(browser, "List by day")
    browser.driver.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    browser.driver.find_element(By.XPATH, "//button[.='2026-05-03']").send_keys(Keys.ENTER)
    wait_until(lambda: headings(browser) == ["Note 3"], "one day's memories are left")


def test_tags_are_facets_of_what_is_shown(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/newest?after=2026-05-01T00:00:00Z&before=2026-05-03T23:59:59Z")
    wait_until(lambda: len(headings(browser)) == 3, "the three are shown")
    shows(browser, "tea 2")
    facet = browser.driver.find_element(By.CSS_SELECTOR, "[aria-label='Tags to filter by'] a")
    assert facet.text == "tea 2"
    facet.click()
    wait_until(lambda: sorted(headings(browser)) == ["Note 1", "Note 2"], "those with the tag are left")
    browser.driver.find_element(By.CSS_SELECTOR, "[aria-label='Tags to filter by'] a").click()
    wait_until(lambda: len(headings(browser)) == 3, "the tag is no filter any more")


def test_a_memory_shows_what_it_replaces_what_replaces_it_and_how_it_was_rated(
    system: DevServer, site: str, browser: Chromium, picture: Keep
) -> None:
    ids = [
        system.outcome(system.ingest(f"TITLE: {title}\n{content}", timestamp=f"2026-04-0{day}T12:00:00Z"))["memory_id"]
        for day, (title, content) in enumerate(
            [("First", "The standup is at nine."), ("Second", "The standup is at ten."), ("Third", "At eleven now.")], 1
        )
    ]
    system.call("update_memory", {"id": ids[0], "superseded_by": ids[1]})
    browser.open(f"{site}/memories/{ids[1]}")
    shows(browser, "Replaces")
    type_into(browser, "successor", ids[2])
    press(browser, "Save changes")
    shows(browser, "Replaced by")
    press(browser, "Misleading")
    shows(browser, "Ratings")
    said = browser.text
    assert said.index("Replaced by") < said.index("Third") < said.index("Replaces") < said.index("First")
    picture(browser, "history")
    for one in ids:
        system.call("delete_memory", {"id": one})


def test_a_file_that_is_dropped_is_imported_line_by_line(
    site: str, browser: Chromium, downloads: Path, picture: Keep
) -> None:
    good = [{"content": f"Fact {n}.", "timestamp": f"2026-03-0{n}T00:00:00Z", "mood": "x"} for n in range(1, 4)]
    lines = [*map(json.dumps, good), "not json", json.dumps(good[0])]
    browser.open(f"{site}/files")
    shows(browser, "Drop JSON lines")
    drop(browser, "facts.jsonl", "\n".join(lines))
    shows(browser, "Done. 5 of 5")
    assert "1 failed" in browser.text and "Unknown fields that were left out: mood" in browser.text
    browser.driver.find_element(By.TAG_NAME, "summary").click()
    shows(browser, "4: failed – a line must be JSON")
    picture(browser, "files")
    press(browser, "Save failures")
    (failure,) = map(json.loads, _downloaded(downloads, "facts.jsonl.failures.jsonl").splitlines())
    assert failure["source"] == "facts.jsonl:4"
    press(browser, "Save outcomes")
    outcomes = [json.loads(one) for one in _downloaded(downloads, "facts.jsonl.outcomes.jsonl").splitlines()]
    assert sorted(one["line"] for one in outcomes) == [1, 2, 3, 4, 5]


def test_an_import_goes_on_beside_other_pages_and_is_stopped_in_the_midst(
    system: DevServer, site: str, browser: Chromium
) -> None:
    lines = "".join(f'{{"content": "Row {n} of a long file.", "timestamp": "2025-01-01"}}\n' for n in range(20_000))
    browser.open(f"{site}/files")
    shows(browser, "Drop JSON lines")
    drop(browser, "long.jsonl", lines)
    shows(browser, "Importing …")
    browser.driver.find_element(By.LINK_TEXT, "Overview").click()
    shows(browser, "Embedding model")
    browser.driver.find_element(By.LINK_TEXT, "Files").click()
    shows(browser, "long.jsonl")
    assert browser.driver.execute_script(CLOSE) is True, "who closes the tab is asked first"
    press(browser, "Stop")
    shows(browser, "Stopped.")
    assert browser.driver.execute_script(CLOSE) is False
    browser.driver.find_element(By.TAG_NAME, "summary").click()
    told = browser.driver.find_element(By.CSS_SELECTOR, "article [role=status]").text
    done = int(told.removeprefix("Stopped. ").split(" of ")[0].replace(",", ""))
    assert 0 < done < 20_000
    assert told.endswith(f"{done:,} stored")
    there = system.call("list_memories", {"after": "2025-01-01", "before": "2025-01-01", "limit": 100})
    assert there["memories"], "what was handed over is stored"


def test_an_import_waits_for_a_server_that_is_away(system: DevServer, site: str, browser: Chromium) -> None:
    lines = "".join(f'{{"content": "Kept through an outage: {n}.", "timestamp": "2025-03-01"}}\n' for n in range(3_000))
    browser.open(f"{site}/files")
    shows(browser, "Drop JSON lines")
    drop(browser, "outage.jsonl", lines)
    shows(browser, "Importing …")
    system.stop()
    shows(browser, "Waiting: The server cannot be reached.")
    system.start()
    wait_until(lambda: "Done. 3,000 of 3,000" in browser.text, "all of it is imported", seconds=240)
    assert "failed" not in browser.text and "unknown" not in browser.text


def test_a_file_that_was_mended_is_chosen_again(site: str, browser: Chromium, tmp_path: Path) -> None:
    file = tmp_path / "mended.jsonl"
    browser.open(f"{site}/files")
    shows(browser, "Drop JSON lines")
    for text, said in (("not json", "1 failed"), ('{"content": "Mended.", "timestamp": "2025-03-02"}', "1 stored")):
        file.write_text(text)
        browser.driver.find_element(By.ID, "files").send_keys(str(file))
        shows(browser, said)
    assert browser.text.count("mended.jsonl") == 2


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("shopping.txt", "a plain text", "1 stored"),
        ("wrong.pdf", "x", "wrong.pdf cannot be read: its name must end in .jsonl"),
    ],
)
def test_files_are_imported_by_their_endings(site: str, browser: Chromium, name: str, text: str, said: str) -> None:
    browser.open(f"{site}/files")
    shows(browser, "Drop JSON lines")
    drop(browser, name, text)
    wait_until(lambda: said in browser.text, f"{said} of {browser.text}", seconds=60)


def test_the_export_is_the_command_s_byte_for_byte(
    system: DevServer, site: str, browser: Chromium, downloads: Path
) -> None:
    hostile = 'a "quote", a \u2028, \u202e, 😀 and <b>'
    system.outcome(system.ingest(hostile, timestamp="2026-01-09T00:00:00.123456Z"))
    browser.open(f"{site}/files")
    shows(browser, "byte for byte")
    press(browser, "Export")
    shows(browser, "the file was saved")
    written = subprocess.run(
        [COMMAND, "export", "--data-dir", str(system.directory / "data")], capture_output=True, check=True
    ).stdout
    assert hostile.split()[-1].encode() in written
    assert _downloaded(downloads, "memories.jsonl") == written


def test_what_was_given_up_is_seen_with_its_reason_and_put_back(
    system: DevServer, site: str, browser: Chromium, picture: Keep
) -> None:
    asked = request("Dana sings in a choir.")
    data, attributes = encode("default", [asked], "")
    with open_services(str(system.directory / "data")) as services:
        services.memories.give_up(
            "default",
            DeadLetter(
                message_id="4711", data=data, attributes=attributes, cause="the embedder was away for a day",
                dead_lettered_at=datetime.now(UTC),
            ),
            IngestMessage("default", (asked,)).waiting("the embedder was away for a day"),
            contents={asked.request_id: asked.content_hash},
        )  # fmt: skip
    browser.open(f"{site}/activity?state=dead_lettered")
    shows(browser, str(asked.request_id))
    shows(browser, "Message 4711")
    assert browser.text.count("the embedder was away for a day") == 2
    picture(browser, "outcomes")
    press(browser, "Redrive")
    shows(browser, "Published again: 1 request.")
    assert system.outcome(str(asked.request_id))["state"] == "stored"
    wait_until(lambda: not system.call("list_dead_letters", {})["dead_letters"], "the letter is deleted")
    browser.open(f"{site}/activity")
    shows(browser, "No dead letters.")
    browser.driver.find_element(By.LINK_TEXT, "Stored").click()
    shows(browser, str(asked.request_id))
    system.call("delete_memory", {"id": system.outcome(str(asked.request_id))["memory_id"]})
    browser.driver.find_element(By.LINK_TEXT, "Deleted").click()
    shows(browser, "its memory was deleted later")


@pytest.mark.parametrize("others", [["another cause"], []])
def test_the_dead_letters_of_a_cause_are_deleted_together(
    system: DevServer, site: str, browser: Chromium, others: list[str]
) -> None:
    with open_services(str(system.directory / "data")) as services:
        for number, cause in enumerate(("a quota of 10", "a quota of 20", *others)):
            letter = DeadLetter(
                message_id=f"{number}",
                data=b"%d" % number,
                attributes={},
                cause=cause,
                dead_lettered_at=datetime.now(UTC),
            )
            services.memories.store_dead_letter("default", letter)
        browser.open(f"{site}/activity")
        shows(browser, "2 dead letters, 0 in flight")
        browser.driver.find_element(By.CSS_SELECTOR, "[aria-label='Delete all of the cause a quota of #']").click()
        wait_until(lambda: bool(expected_conditions.alert_is_present()(browser.driver)), "a confirmation is asked for")
        question = browser.driver.switch_to.alert
        assert question.text == "Delete 2 dead letters permanently?"
        question.accept()
        shows(browser, "Deleted 2 dead letters.")
        assert [one.cause for one in services.memories.dead_letters("default", 10)] == others
        services.memories.drop_dead_letters("default", ["2"])


def test_outcomes_of_a_state_are_shown_page_by_page(system: DevServer, site: str, browser: Chromium) -> None:
    memories = [{"content": f"One of many: {n}.", "timestamp": "2026-01-02T00:00:00Z"} for n in range(60)]
    for one in system.call("ingest_memories", {"memories": memories})["request_ids"]:
        system.outcome(one)
    browser.open(f"{site}/activity?state=stored")
    shows(browser, "Show older")
    assert len(browser.driver.find_elements(By.CSS_SELECTOR, ".outcome.stored")) == 50
    press(browser, "Show older")
    wait_until(lambda: len(browser.driver.find_elements(By.CSS_SELECTOR, ".outcome.stored")) > 50, "there are more")


def test_more_is_shown_where_more_was_found(system: DevServer, site: str, browser: Chromium) -> None:
    numbered = [{"content": f"Parcel {n} is blue.", "timestamp": "2025-02-01"} for n in range(30)]
    system.outcomes(system.call("ingest_memories", {"memories": numbered})["request_ids"])
    browser.open(f"{site}/?q=is+blue.&mode=exact")
    shows(browser, "20 memories")
    press(browser, "Show up to 100")
    shows(browser, "30 memories")
