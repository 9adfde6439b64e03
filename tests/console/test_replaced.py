"""Memories that another one replaced, after its deletion."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.person import keys, press, shows
from tests.dev import DevServer


@pytest.mark.parametrize("way", ["message", "page"])
def test_what_a_deleted_memory_replaced_can_be_current_again(
    system: DevServer, site: str, browser: Chromium, way: str
) -> None:
    old, new = (system.remember(f"The vase of the {way} is {colour}.") for colour in ("red", "green"))
    system.call("update_memory", {"id": old, "superseded_by": new})
    browser.open(f"{site}/memories/{new}")
    shows(browser, "Did it help?")
    keys(browser, Keys.DELETE)
    shows(browser, "Closing the tab keeps it.")
    shows(browser, "The memory that it replaced stays hidden.")
    if way == "page":
        browser.open(f"{site}/memories/{old}")
    press(browser, "Bring it back")
    shows(browser, "It is current again.")
    assert system.call("get_memory", {"id": old})["superseded_by"] is None
