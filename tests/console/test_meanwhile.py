"""A person goes on while the server is slow: types, leaves the page, or goes back."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.holds import hold, release, wait_until_held
from tests.console.person import (
    click,
    click_row,
    find,
    follow,
    keys,
    open_page,
    press,
    reads,
    shows,
    type_into,
    wait_for_titles,
    wait_until_stored,
)
from tests.dev import DevServer
from tests.waiting import wait_until


def test_text_that_is_typed_while_a_memory_is_added_is_kept(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/add")
    type_into(browser, "content", "The kettle is on the stove.")
    hold(browser, "ingest_memory")
    press(browser, "Add")
    find(browser, "#content").send_keys(" The cups are in the sink.")
    release(browser)
    wait_until_stored(browser)
    kept = "The kettle is on the stove. The cups are in the sink."
    assert find(browser, "#content").get_property("value") == kept


def test_the_form_is_empty_after_a_memory_was_added_from_a_page_that_was_left(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/add")
    type_into(browser, "content", "The spoon is in the drawer.")
    hold(browser, "ingest_memory")
    press(browser, "Add")
    open_page(browser, "Tags")
    keys(browser, "a")
    find(browser, "#content")
    assert find(browser, "button[type=submit]").get_attribute("aria-disabled") == "true", "the text is being sent"
    release(browser)
    wait_until_stored(browser)
    assert find(browser, "#content").get_property("value") == ""
    assert find(browser, "button[type=submit]").get_attribute("aria-disabled") is None


def test_a_text_is_stored_already_only_if_the_answer_is_about_this_text(
    system: DevServer, site: str, browser: Chromium
) -> None:
    system.remember("The ladle hangs above the sink.")
    browser.open(f"{site}/add")
    button = find(browser, "button[type=submit]")
    place = button.rect["y"]
    type_into(browser, "content", "The ladle hangs above the sink.")
    shows(browser, "This is stored already")
    assert button.rect["y"] == place, "the note does not move the button"
    hold(browser, "similar_memories")
    find(browser, "#content").send_keys(" The pan hangs beside it.")
    wait_until_held(browser)
    assert "This is stored already" not in browser.text
    release(browser)
    shows(browser, "Similar memory")


def test_going_back_to_a_stored_correction_does_not_correct_again(
    system: DevServer, site: str, browser: Chromium
) -> None:
    id_ = system.remember("The saucer is blue.")
    browser.open(f"{site}/add?replaces={id_}")
    shows(browser, "It replaces")
    button = find(browser, "button[type=submit]")
    place = button.rect["y"]
    assert find(browser, ".note").rect["y"] < place, "the note is above the button"
    type_into(browser, "content", "The saucer was always green.")
    shows(browser, "Similar memory")
    assert button.rect["y"] == place, "the note about the similar memory does not move the button"
    press(browser, "Add")
    wait_until_stored(browser)
    follow(browser, "Open")
    reads(browser, ".sheet", "The saucer was always green.")
    browser.driver.back()
    find(browser, "#content")
    assert "It replaces" not in browser.text


@pytest.mark.parametrize(
    ("path", "field", "button", "tool"),
    [
        ("/memories/ID/edit", "title", "Save", "update_memory"),
        pytest.param("/connect", "first", "Add", "ingest_memory", marks=pytest.mark.nightly),
    ],
)
def test_the_end_of_an_action_changes_the_page_only_if_its_own_page_is_open(
    system: DevServer, site: str, browser: Chromium, path: str, field: str, button: str, tool: str
) -> None:
    browser.open(f"{site}{path}".replace("ID", system.remember(f"The tray of {tool}.")))
    type_into(browser, field, "The lid.")
    hold(browser, tool)
    press(browser, button)
    open_page(browser, "Tags")
    reads(browser, "h1", "Tags")
    release(browser)
    assert browser.url == f"{site}/tags"


def test_texts_about_an_empty_list_are_shown_only_when_the_server_has_answered(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/tags")
    find(browser, ".tagtable")
    find(browser, "main input").send_keys("zz")
    shows(browser, "No tag begins with this.")
    hold(browser, "memory_facets")
    find(browser, "main input").send_keys(Keys.BACKSPACE, Keys.BACKSPACE)
    wait_until_held(browser)
    assert "No tag" not in browser.text
    release(browser)
    find(browser, ".tagtable")


def test_suggested_tags_belong_to_the_typed_text_whatever_the_order_of_the_answers(
    site: str, browser: Chromium
) -> None:
    browser.open(f"{site}/add")
    find(browser, "#content")
    hold(browser, "memory_facets")
    click(browser, "#add-tags")
    wait_until_held(browser)
    find(browser, "#add-tags").send_keys("zz")
    reads(browser, "#add-tags-options", "New tag “zz”")
    release(browser)
    assert find(browser, "#add-tags-options").text == "New tag “zz”"


def test_a_change_that_is_saved_after_its_form_was_left_is_shown_on_the_page_of_the_memory(
    system: DevServer, site: str, browser: Chromium
) -> None:
    id_ = system.remember("TITLE: Green jug\nOf clay.")
    browser.open(f"{site}/memories/{id_}/edit")
    type_into(browser, "title", "Blue jug")
    hold(browser, "update_memory")
    press(browser, "Save")
    follow(browser, "Cancel")
    reads(browser, "h1", "Green jug")
    release(browser)
    reads(browser, "h1", "Blue jug")


def test_the_undo_of_a_replacement_is_shown_on_a_page_that_was_opened_again(
    system: DevServer, site: str, browser: Chromium
) -> None:
    id_ = system.remember("TITLE: Old lid\nThe lid is loose.")
    system.remember("TITLE: New lid\nThe lid is tight.")
    browser.open(f"{site}/memories/{id_}")
    reads(browser, "h1", "Old lid")
    keys(browser, "r")
    click(browser, "dialog .option input")
    press(browser, "Replace it")
    reads(browser, ".sheet", "This memory was replaced.")
    open_page(browser, "Tags")
    hold(browser, "update_memory")
    keys(browser, "z")
    browser.driver.back()
    reads(browser, ".sheet", "This memory was replaced.")
    release(browser)
    wait_until(lambda: "This memory was replaced." not in browser.text, "it is current again")


def test_a_tag_that_is_changed_on_several_memories_is_shown_on_a_page_that_was_opened_before(
    system: DevServer, site: str, browser: Chromium
) -> None:
    system.remember("TITLE: Sieve\nOf steel.", tags=["sifting"])
    browser.open(f"{site}/?tags=sifting")
    wait_for_titles(browser, "Sieve")
    keys(browser, "j", "x", "t")
    type_into(browser, "bulk-tags", "steel,")
    hold(browser, "update_memory")
    press(browser, "Save")
    wait_until_held(browser)
    press(browser, "Close")
    click_row(browser, 0)
    reads(browser, ".sheet", "Of steel.")
    assert "steel" not in [link.text for link in browser.driver.find_elements(By.CSS_SELECTOR, ".side a")]
    release(browser)
    reads(browser, ".side", "steel")
    open_page(browser, "Tags")
    click(browser, "[aria-label='Rename sifting']")
    hold(browser, "change_tag")
    type_into(browser, "name", "baking" + Keys.ENTER)
    press(browser, "Close")
    browser.driver.back()
    reads(browser, ".side", "sifting")
    release(browser)
    reads(browser, ".side", "baking")


def test_saving_metadata_keeps_the_keys_and_tags_that_another_client_changed(
    system: DevServer, site: str, browser: Chromium
) -> None:
    id_ = system.remember("The funnel is red.", metadata={"place": "shelf", "count": 1})
    browser.open(f"{site}/memories/{id_}/edit")
    find(browser, "#metadata")
    system.call("update_memory", {"id": id_, "metadata": {"place": "shelf", "count": 2, "owner": "Ada"}})
    system.call("update_memory", {"id": id_, "add_tags": ["kitchen"]})
    type_into(browser, "metadata", '{"place": "drawer", "count": 1}')
    press(browser, "Save")
    shows(browser, "Saved.")
    memory = system.call("get_memory", {"id": id_})
    assert memory["metadata"] == {"place": "drawer", "count": 2, "owner": "Ada"}
    assert memory["tags"] == ["kitchen"]
