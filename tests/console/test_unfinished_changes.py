"""Changes whose dialog or page is left before they are saved or have ended."""

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.failing import intercept
from tests.console.holds import hold, release, wait_until_held
from tests.console.person import click, find, keys, open_page, press, reads, type_into, wait_for_titles
from tests.dev import DevServer
from tests.waiting import wait_until


@pytest.mark.parametrize(
    "change",
    [
        ("/tags", "[aria-label='Rename tin']", "zinc", "dialog .main", "change_tag", ".dialog-foot .btn", "Rename"),
        (
            "/memories/ID",
            ".sheet .meta",
            "",
            "[aria-label='Remove tin']",
            "update_memory",
            "[aria-label='Remove iron']",
            "Tags",
        ),
        ("/add", "#content", "The kettle leaks.", "form .main", "ingest_memory", ".nav [href='/tags']", "Add"),
        pytest.param(
            ("/memories/ID", ".sheet .meta", "", "[aria-label=Rate] .btn", "rate_memory", ".nav [href='/']", "Rating"),
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            ("/memories/ID/edit", "#title", "Kettle", ".bar-top .main", "update_memory", "main [data-up]", "Save"),
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["dialog", "memory", "form", "rating", "edit"],
)
def test_the_error_of_a_change_is_shown_after_the_person_has_gone_on(
    system: DevServer, site: str, browser: Chromium, change: tuple[str, ...]
) -> None:
    path, first, text, button, tool, leave, name = change
    id_ = system.remember(f"A kettle, before {tool} from {path}.", tags=["iron", "tin"])
    browser.open(f"{site}{path}".replace("ID", id_))
    click(browser, first)
    keys(browser, *text)
    hold(browser, tool, error="The disk is full.")
    click(browser, button)
    wait_until_held(browser)
    click(browser, leave)
    release(browser)
    reads(browser, ".toast", f"{name}: The disk is full.")


def test_the_end_of_a_change_does_not_close_another_dialog(system: DevServer, site: str, browser: Chromium) -> None:
    for metal in ("gold", "silver"):
        system.remember(f"A ring of {metal}.", tags=[metal])
    browser.open(f"{site}/tags")
    click(browser, "[aria-label='Rename gold']")
    type_into(browser, "name", "aurum")
    hold(browser, "change_tag")
    click(browser, "dialog .main")
    wait_until_held(browser)
    press(browser, "Close")
    click(browser, "[aria-label='Rename silver']")
    type_into(browser, "name", "argentum")
    release(browser)
    reads(browser, ".toast", "1 memory now has the tag aurum.")
    assert find(browser, "dialog #name").get_property("value") == "argentum"


def test_the_changes_of_a_form_are_kept_while_another_page_is_open(
    system: DevServer, site: str, browser: Chromium
) -> None:
    id_ = system.remember("TITLE: Anchor\nOf iron.", tags=["iron"])
    browser.open(f"{site}/memories/{id_}/edit")
    type_into(browser, "title", "Typed for an hour")
    open_page(browser, "Tags")
    reads(browser, "h1", "Tags")
    system.call("update_memory", {"id": id_, "add_tags": ["heavy"]})
    browser.driver.back()
    assert find(browser, "input#title").get_property("value") == "Typed for an hour"
    reads(browser, "form", "They are not saved yet.")
    press(browser, "Save")
    reads(browser, "h1", "Typed for an hour")
    memory = system.call("get_memory", {"id": id_})
    assert (memory["title"], sorted(memory["tags"])) == ("Typed for an hour", ["heavy", "iron"])


def test_new_tags_that_are_not_saved_are_kept(system: DevServer, site: str, browser: Chromium) -> None:
    id_ = system.remember("A mast.", tags=["oak", "pine"])
    browser.open(f"{site}/memories/{id_}")
    press(browser, "Tag")
    type_into(browser, "side-tags", f"ash{Keys.ENTER}")
    click(browser, "[aria-label='Remove pine']")
    wait_until(lambda: system.call("get_memory", {"id": id_})["tags"] == ["oak"], "the tag is removed")
    reads(browser, ".side .tokens", "ash")
    assert browser.driver.execute_script(LEAVE)
    open_page(browser, "Tags")
    reads(browser, "h1", "Tags")
    browser.driver.back()
    reads(browser, ".side .tokens", "ash")
    press(browser, "Save")
    wait_until(lambda: not browser.driver.execute_script(LEAVE), "all is stored")
    assert sorted(system.call("get_memory", {"id": id_})["tags"]) == ["ash", "oak"]


def test_what_is_typed_into_a_form_while_it_is_saved_is_kept(system: DevServer, site: str, browser: Chromium) -> None:
    id_ = system.remember("TITLE: Buoy\nOf cork.")
    browser.open(f"{site}/memories/{id_}/edit")
    type_into(browser, "title", "Red buoy")
    hold(browser, "update_memory")
    press(browser, "Save")
    wait_until_held(browser)
    find(browser, "input#title").send_keys(" at the pier")
    release(browser)
    reads(browser, ".toast", "Saved.")
    assert find(browser, "input#title").get_property("value") == "Red buoy at the pier"
    press(browser, "Save")
    reads(browser, "h1", "Red buoy at the pier")


@pytest.mark.nightly
def test_a_title_that_is_changed_back_while_it_is_saved_is_saved_again(
    system: DevServer, site: str, browser: Chromium
) -> None:
    id_ = system.remember("TITLE: Raft\nOf logs.")
    browser.open(f"{site}/memories/{id_}/edit")
    type_into(browser, "title", "Boat")
    hold(browser, "update_memory")
    press(browser, "Save")
    wait_until_held(browser)
    type_into(browser, "title", "Raft")
    release(browser)
    reads(browser, ".toast", "Saved.")
    press(browser, "Save")
    wait_until(lambda: not browser.url.endswith("/edit"), "it is saved")
    assert system.call("get_memory", {"id": id_})["title"] == "Raft"


LOSE = "await real(...asked); window.fetch = real; throw new TypeError('network error');"
"""Lets the page lose the answer to a call that the server has got."""


def test_a_title_that_is_changed_back_after_a_lost_answer_is_saved_again(
    system: DevServer, site: str, browser: Chromium
) -> None:
    id_ = system.remember("TITLE: Jetty\nOf planks.")
    browser.open(f"{site}/memories/{id_}/edit")
    type_into(browser, "title", "Pier")
    intercept(browser, "update_memory", LOSE)
    press(browser, "Save")
    reads(browser, "form [role=alert]", "The server cannot be reached.")
    type_into(browser, "title", "Jetty")
    press(browser, "Save")
    wait_until(lambda: not browser.url.endswith("/edit"), "it is saved")
    assert system.call("get_memory", {"id": id_})["title"] == "Jetty"


# Returns whether the page lets the browser ask for confirmation before it closes the tab.
LEAVE = "const left = new Event('beforeunload', { cancelable: true }); return !dispatchEvent(left)"


@pytest.mark.parametrize(("path", "field"), [("/add", "content"), ("/memories/ID/edit", "title")])
def test_the_browser_asks_before_it_discards_what_was_typed(
    system: DevServer, site: str, browser: Chromium, path: str, field: str
) -> None:
    id_ = system.remember(f"TITLE: Rope\nFor {field}.")
    browser.open(f"{site}{path}".replace("ID", id_))
    find(browser, f"#{field}")
    assert not browser.driver.execute_script(LEAVE)
    type_into(browser, field, "Typed for an hour")
    assert browser.driver.execute_script(LEAVE)
    press(browser, "Add" if field == "content" else "Save")
    wait_until(lambda: not browser.driver.execute_script(LEAVE), "all is stored")


def test_the_browser_asks_before_it_ends_a_deletion(system: DevServer, site: str, browser: Chromium) -> None:
    ids = [system.remember(f"TITLE: {name}\nOf wood.", tags=["tackle"]) for name in ("Block", "Cleat")]
    browser.open(f"{site}/?tags=tackle")
    wait_for_titles(browser, "Cleat", "Block")
    keys(browser, "j", Keys.DELETE)
    wait_for_titles(browser, "Block")
    assert not browser.driver.execute_script(LEAVE), "closing the tab keeps the memory"
    browser.open(f"{site}/?tags=tackle")
    wait_for_titles(browser, "Cleat", "Block")
    assert system.call("get_memory", {"id": ids[1]})["title"] == "Cleat"
    keys(browser, "j", Keys.DELETE)
    wait_for_titles(browser, "Block")
    hold(browser, "delete_memory")
    keys(browser, "j", Keys.DELETE)  # the second message ends the first one, so the first deletion is final
    wait_until_held(browser)
    assert browser.driver.execute_script(LEAVE)
    release(browser)
    wait_until(lambda: not browser.driver.execute_script(LEAVE), "the memory is deleted")
    assert system.error("get_memory", {"id": ids[1]})
    keys(browser, "z")
    wait_for_titles(browser, "Block")


def test_a_press_outside_of_a_dialog_closes_it_only_if_it_ends_outside(
    system: DevServer, site: str, browser: Chromium
) -> None:
    system.remember("A pan.", tags=["copper"])
    browser.open(f"{site}/tags")
    click(browser, "[aria-label='Rename copper']")
    title = find(browser, "dialog h2")
    actions = ActionChains(browser.driver)
    actions.move_to_element(find(browser, "dialog")).move_by_offset(-500, 0).click_and_hold().move_to_element(title)
    actions.release().perform()
    assert title.is_displayed()
    ActionChains(browser.driver).move_by_offset(-500, 0).click().perform()
    wait_until(lambda: not browser.driver.find_elements(By.CSS_SELECTOR, "dialog"), "the dialog is closed")
