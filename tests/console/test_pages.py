"""Search, reading and writing in the console, and the display of content that other people have stored."""

from urllib.parse import quote

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.person import (
    click,
    find,
    focused,
    follow,
    keys,
    press,
    reads,
    shows,
    titles,
    type_into,
    wait_for_titles,
)
from tests.console.server import ConsoleServer
from tests.console.timers import end_message, keep_messages
from tests.dev import DevServer
from tests.waiting import wait_until


def test_a_search_finds_by_meaning_and_explains_each_result(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    shows(browser, "3 memories")
    type_into(browser, "query", "what does Ada like to drink?" + Keys.ENTER)
    wait_until(lambda: titles(browser)[:1] == ["Note 1"], "the note is the best")
    assert "q=what+does+Ada" in browser.url
    why = find(browser, ".hit summary")
    why.click()
    shows(browser, "Score 0.")
    bars = [
        element.get_attribute("aria-label")
        for element in browser.driver.find_elements(By.CSS_SELECTOR, ".why-box progress")
    ]
    assert any((name or "").startswith("Meaning, ") for name in bars)


def test_weak_results_are_collapsed_below_better_ones(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?q={quote('The oolong is on shelf 7.')}")
    shows(browser, "1 strong match")
    assert find(browser, ".group-name .sure").text == "Strong"
    assert "Nothing close was found" not in browser.text
    before = len(titles(browser))
    press(browser, "Show them")
    wait_until(lambda: len(titles(browser)) > before, "the weak ones are shown")


def test_if_nothing_close_is_found_the_page_offers_to_add_the_text(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?q=zzqqx+gibberish")
    shows(browser, "Nothing close was found")
    shows(browser, "None of the 3 memories is about this.")
    assert find(browser, ".group-name .sure").text == "Weak"
    follow(browser, "Add a memory about it")
    assert find(browser, "#content").get_property("value") == "zzqqx gibberish"
    type_into(browser, "content", Keys.DELETE)


def test_a_search_names_the_memories_that_it_leaves_out(site: str, browser: Chromium, system: ConsoleServer) -> None:
    ids = system.remember_all({"content": "Ida mends the weir today."}, {"content": "Ida mends the weir today"})
    browser.open(f"{site}/?q=weir")
    shows(browser, "Nearly the same:")
    links = [element.get_attribute("href") or "" for element in browser.driver.find_elements(By.CSS_SELECTOR, ".hit a")]
    assert {id_ for id_ in ids if any(link.endswith(id_) for link in links)} == set(ids)
    system.call("delete_memory", {"ids": ids})


def test_time_expressions_and_tags_filter_the_list(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    press(browser, "Any time")
    type_into(browser, "time", "on 2 May 2026" + Keys.ENTER)
    wait_for_titles(browser, "Note 2")
    assert find(browser, ".chip.on").text.startswith("May 2"), "the label of the filter has the recognized date"
    click(browser, ".chip.on")
    press(browser, "Any tag")
    click(browser, ".choices button")
    wait_for_titles(browser, "Note 2", "Note 1")
    assert find(browser, ".chip.on").text.startswith("tea")
    press(browser, "Clear all")
    wait_for_titles(browser, "Note 3", "Note 2", "Note 1")


def test_a_filter_that_nothing_matches_can_be_cleared(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?tags=nothing")
    shows(browser, "No memories match")
    follow(browser, "Clear the filters")
    wait_for_titles(browser, "Note 3", "Note 2", "Note 1")


def test_a_memory_is_added_read_edited_rated_and_deleted(system: DevServer, site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    shows(browser, "3 memories")
    keys(browser, "a")
    type_into(browser, "content", "Cy keeps **bees**.")
    type_into(browser, "when", "on 5 March 2026")
    shows(browser, "Stored as ")
    type_into(browser, "add-tags", "cy, bees,")
    keys(browser, Keys.CONTROL + Keys.ENTER + Keys.NULL)
    shows(browser, "Added just now")
    follow(browser, "Open")
    shows(browser, "Did it help?")
    id_ = browser.url.rsplit("/", 1)[1]
    result = system.call("get_memory", {"id": id_})
    assert (result["tags"], result["timestamp"]) == (["cy", "bees"], "2026-03-05T00:00:00Z")
    assert find(browser, ".read strong").text == "bees"
    _edits(browser)
    assert system.call("get_memory", {"id": id_})["metadata"] == {"hives": 3}
    _rates(browser, system, id_)
    click(browser, "[aria-label=More]")
    click(browser, ".menu-list .danger")
    shows(browser, "deleted. Closing the tab keeps it.")
    press(browser, "Undo")
    assert system.call("get_memory", {"id": id_})["title"] == "Bees"
    browser.open(f"{site}/memories/{id_}")
    shows(browser, "Bees")
    keep_messages(browser)
    keys(browser, Keys.DELETE)
    shows(browser, "deleted. Closing the tab keeps it.")
    end_message(browser)
    wait_until(
        lambda: "no memory has the id" in _read(system, id_), "it is deleted when the message has ended", seconds=30
    )


def _read(system: DevServer, id_: str) -> str:
    try:
        return system.error("get_memory", {"id": id_})
    except (AssertionError, KeyError):
        return ""


def _edits(browser: Chromium) -> None:
    """Change title, tags and metadata on the page of a memory."""
    keys(browser, "e")
    type_into(browser, "title", "Bees")
    click(browser, "[aria-label='Remove cy']")
    type_into(browser, "metadata", '{"since": 2026-01-01}')
    press(browser, "Save")
    shows(browser, 'Line 1: a date needs quotes, as in "2026-01-01".')
    type_into(browser, "metadata", '{"hives": 3}' + Keys.CONTROL + Keys.ENTER)
    shows(browser, "Saved.")
    reads(browser, "h1", "Bees")


def _rates(browser: Chromium, system: DevServer, id_: str) -> None:
    """Rate, change the rating and withdraw it."""

    def ratings() -> list[int]:
        return [rating["rating"] for rating in system.call("memory_history", {"id": id_})["ratings"]]

    press(browser, "It helped")
    shows(browser, "Helped once")
    keys(browser, "-")
    shows(browser, "Misled once")
    assert ratings() == [-1], "each person has only one rating"
    press(browser, "It misled")
    wait_until(lambda: "Misled once" not in browser.text, "it is withdrawn")
    assert ratings() == []


def test_one_key_shows_the_source_text(system: DevServer, site: str, browser: Chromium) -> None:
    id_ = system.outcome(system.ingest("TITLE: Marks\n# One\n- two", timestamp="2026-02-01T00:00:00Z"))["memory_id"]
    browser.open(f"{site}/memories/{id_}")
    assert find(browser, ".read h2").text == "One"
    keys(browser, "s")
    assert find(browser, "pre.source").get_property("textContent") == "TITLE: Marks\n# One\n- two"
    press(browser, "Formatted")
    assert find(browser, ".read li").text == "two"
    system.call("delete_memory", {"id": id_})


def test_a_memory_is_replaced_by_one_found_in_a_search(system: ConsoleServer, site: str, browser: Chromium) -> None:
    texts = (
        "TITLE: First\nThe standup is at nine.", "TITLE: Second\nThe standup is at ten.", "TITLE: Third\nAt eleven now."
    )  # fmt: skip
    ids = system.remember_all(
        *({"content": text, "timestamp": f"2026-04-0{day}T12:00:00Z"} for day, text in enumerate(texts, 1))
    )
    system.call("update_memory", {"id": ids[0], "superseded_by": ids[1]})
    browser.open(f"{site}/memories/{ids[1]}")
    shows(browser, "Replaces First")
    keys(browser, "r")
    find(browser, "dialog input[type=search]").send_keys("At eleven now.")
    reads(browser, ".option", "Third")
    click(browser, ".option")
    shows(browser, "Current from now on")
    press(browser, "Replace it")
    shows(browser, "This memory was replaced.")
    assert system.call("get_memory", {"id": ids[1]})["superseded_by"] == ids[2]
    browser.open(f"{site}/?after=2026-04-01&before=2026-04-03")
    wait_for_titles(browser, "Third")
    press(browser, "More filters")
    click(browser, "dialog input[type=checkbox]")
    press(browser, "Apply")
    wait_for_titles(browser, "Third", "Second", "First")
    assert browser.driver.find_element(By.CSS_SELECTOR, ".row .badge").text == "replaced"
    system.call("delete_memory", {"ids": ids})


def test_a_memory_is_shown_with_its_neighbours_in_the_session(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    ids = system.remember_titled("Step 1", "Step 2", "Step 3", session="desk")
    browser.open(f"{site}/memories/{ids[1]}")
    shows(browser, "In the same session")
    names = [element.text.split("\n")[0] for element in browser.driver.find_elements(By.CSS_SELECTOR, ".around li")]
    assert names == ["Step 1", "This memory", "Step 3"]
    follow(browser, "All 3 of this session")
    wait_for_titles(browser, "Step 1", "Step 2", "Step 3")
    system.call("delete_memory", {"ids": ids})


def test_similar_memories_are_shown_while_a_text_is_typed(system: DevServer, site: str, browser: Chromium) -> None:
    browser.open(f"{site}/add")
    type_into(browser, "content", "TITLE: Note 3\nBob rows.")
    shows(browser, "This is stored already")
    press(browser, "Add")
    shows(browser, "Already known")
    type_into(browser, "content", "The oolong is on shelf 8.")
    shows(browser, "Similar memory")
    press(browser, "Replace it with this")
    press(browser, "Add")
    shows(browser, "Delete")
    wait_until(lambda: "Note 2" not in _current(system), "the corrected memory is replaced")
    new = next(id_ for title, id_ in _current(system).items() if title.startswith("The oolong"))
    old = system.call("memory_history", {"id": new})["supersedes"][0]["id"]
    system.call("update_memory", {"id": old, "superseded_by": "none"})
    system.call("delete_memory", {"id": new})


def _current(system: DevServer) -> dict[str, str]:
    listed = system.call("list_memories", {"include_superseded": False, "limit": 100})["memories"]
    return {memory["title"]: memory["id"] for memory in listed}


def test_an_error_keeps_the_typed_text(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/add")
    type_into(browser, "content", "Fay sails.")
    click(browser, "details.fold summary")
    type_into(browser, "add-title", "t" * 501)
    press(browser, "Add")
    shows(browser, "title must have at most 500 characters")
    assert find(browser, "#content").get_property("value") == "Fay sails."
    type_into(browser, "when", "blorp")
    shows(browser, "time_expr 'blorp' is not understood")


def test_the_keyboard_reaches_the_pages_first_and_opens_them(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    wait_for_titles(browser, "Note 3", "Note 2", "Note 1")
    reached: list[str] = []
    for _ in range(4):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(focused(browser))
    assert reached == ["Skip to content", "Mnemosyne", "Memories", "Tags"]
    browser.driver.find_element(By.LINK_TEXT, "Overview").send_keys(Keys.ENTER)
    shows(browser, "Most used tags")
    assert browser.driver.switch_to.active_element.tag_name == "h1", "the new page's heading has the focus"


def test_help_and_appearance_are_in_the_account_menu(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    shows(browser, "3 memories")
    keys(browser, "?")
    shows(browser, "Single letters do nothing while you type.")
    keys(browser, Keys.ESCAPE)
    wait_until(lambda: not browser.driver.find_elements(By.TAG_NAME, "dialog"), "the dialog is closed")
    click(browser, "[aria-label='Account and appearance']")
    press(browser, "Appearance: as the system")
    assert browser.driver.execute_script("return document.documentElement.dataset.theme") == "light"
    browser.open(f"{site}/overview")
    assert browser.driver.execute_script("return document.documentElement.dataset.theme") == "light", (
        "the choice is kept"
    )
    shows(browser, "Memories by month")
    for label in ("Appearance: light", "Appearance: dark"):
        click(browser, "[aria-label='Account and appearance']")
        press(browser, label)
    click(browser, "[aria-label='Account and appearance']")
    press(browser, "Single-key shortcuts: on")
    keys(browser, "?")
    assert not browser.driver.find_elements(By.TAG_NAME, "dialog")
    assert browser.driver.execute_script("return JSON.stringify({...localStorage})") == '{"single-keys":"off"}'
    browser.driver.execute_script("localStorage.clear()")
