"""Lists, messages and replaced memories after a deletion."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.failing import calm, refuse
from tests.console.person import keys, press, shows, type_into, wait_for_titles
from tests.console.server import ConsoleServer
from tests.console.timers import end_message, keep_messages


@pytest.mark.parametrize("way", ["page", "message after an outage"])
def test_what_a_deleted_memory_replaced_can_be_current_again(
    system: ConsoleServer, site: str, browser: Chromium, way: str
) -> None:
    old, new = system.remember_all(*({"content": f"The vase of the {way} is {colour}."} for colour in ("red", "green")))
    system.call("update_memory", {"id": old, "superseded_by": new})
    browser.open(f"{site}/memories/{new}")
    shows(browser, "Did it help?")
    keep_messages(browser)
    keys(browser, Keys.DELETE)
    shows(browser, "Closing the tab keeps it.")
    if "outage" in way:
        refuse(browser, "delete_memory", 503)
    end_message(browser)
    if "outage" in way:
        shows(browser, "Not deleted yet: ")
        calm(browser)
    shows(browser, "The memory that it replaced stays hidden.")
    if way == "page":
        browser.open(f"{site}/memories/{old}")
    press(browser, "Bring it back")
    shows(browser, "It is current again.")
    assert system.call("get_memory", {"id": old})["superseded_by"] is None


def test_all_that_several_deleted_memories_replaced_can_be_current_again(
    system: ConsoleServer, site: str, browser: Chromium
) -> None:
    day = "2023-04-01"
    old = system.remember_all(*({"content": f"The old jug {n}."} for n in range(2)))
    new = system.remember_titled("Jug 0", "Jug 1", day=day)
    for id_, replacement in zip(old, new, strict=True):
        system.call("update_memory", {"id": id_, "superseded_by": replacement})
    browser.open(f"{site}/?after={day}&before={day}")
    wait_for_titles(browser, "Jug 1", "Jug 0")
    keep_messages(browser)
    keys(browser, "j", "x", "j", "x", Keys.DELETE)
    shows(browser, "2 memories deleted.")
    end_message(browser)
    shows(browser, "2 memories that they replaced stay hidden.")
    press(browser, "Bring them back")
    shows(browser, "2 memories are current again.")
    assert [system.call("get_memory", {"id": id_})["superseded_by"] for id_ in old] == [None, None]


def test_messages_and_counts_leave_out_deleted_memories(system: ConsoleServer, site: str, browser: Chromium) -> None:
    day = "2023-03-01"
    ids = system.remember_titled("A", "B", day=day)
    browser.open(f"{site}/?after={day}&before={day}")
    wait_for_titles(browser, "B", "A")
    shows(browser, "2 memories")
    system.call("delete_memory", {"id": ids[0]})
    keys(browser, "j", "x", "j", "x", "t")
    type_into(browser, "bulk-tags", "vase,")
    press(browser, "Save")
    shows(browser, "Tags of 1 memory changed. 1 memory had been deleted.")
    shows(browser, "1 memory")
    keys(browser, "x", "k", "x")
    press(browser, "Export")
    shows(browser, "1 memory exported. 1 memory had been deleted.")
    keep_messages(browser)
    keys(browser, Keys.ESCAPE, Keys.DELETE)
    shows(browser, "Closing the tab keeps it.")
    end_message(browser)
    shows(browser, "0 memories")
