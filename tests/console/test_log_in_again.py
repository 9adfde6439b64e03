"""A log-in in the middle of work: typed text is kept, and a change that was refused can be repeated."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.failing import calm, refuse
from tests.console.log_ins import REFUSE_ONE_TOKEN, be_logged_out, two_keys, use_key
from tests.console.person import click, find, follow, keys, press, reads, shows, titles, type_into, wait_for_titles
from tests.console.server import ConsoleServer
from tests.waiting import wait_until


def test_what_was_typed_into_the_form_of_a_memory_is_kept_during_a_log_in(
    guarded: ConsoleServer, browser: Chromium
) -> None:
    first, second = two_keys(guarded, "fay")
    id_ = guarded.outcome(guarded.ingest("TITLE: Of Fay\nHers."))["memory_id"]
    address = f"http://127.0.0.1:{guarded.port}/memories/{id_}/edit"
    browser.open(address)
    use_key(browser, first)
    type_into(browser, "title", "Typed for an hour")
    browser.driver.execute_script(REFUSE_ONE_TOKEN, "update_memory")
    press(browser, "Save")
    shows(browser, "What you typed is kept.")
    use_key(browser, second)
    assert find(browser, "#title").get_property("value") == "Typed for an hour"
    press(browser, "Save")
    shows(browser, "Saved.")
    assert guarded.call("get_memory", {"id": id_})["title"] == "Typed for an hour"
    reads(browser, "h1", "Typed for an hour")
    keys(browser, "e")
    find(browser, "input#title").send_keys(", not saved")
    follow(browser, "Cancel")
    reads(browser, "h1", "Typed for an hour")
    keys(browser, "e")
    assert find(browser, "input#title").get_property("value") == "Typed for an hour"


def test_what_was_typed_is_kept_if_the_server_cannot_say_at_once_who_logged_in(
    guarded: ConsoleServer, browser: Chromium
) -> None:
    first, second = two_keys(guarded, "kit")
    browser.open(f"http://127.0.0.1:{guarded.port}/add")
    use_key(browser, first)
    type_into(browser, "content", "Typed for an hour")
    shows(browser, "kit")
    browser.driver.execute_script(REFUSE_ONE_TOKEN, "ingest_memory")
    refuse(browser, "who_am_i", 429)
    press(browser, "Add")
    shows(browser, "You have been logged out.")
    assert not browser.driver.find_element(By.ID, "content").is_displayed()
    keys(browser, "/")
    assert browser.url.endswith("/add"), "the keyboard belongs to the form of the log-in"
    use_key(browser, second)
    shows(browser, "try again later")
    calm(browser)
    press(browser, "Try again")
    assert find(browser, "#content").get_property("value") == "Typed for an hour"
    assert "Added just now" not in browser.text


@pytest.mark.nightly
def test_the_next_person_to_log_in_has_no_rating_of_the_previous_one(guarded: ConsoleServer, browser: Chromium) -> None:
    first, second = two_keys(guarded, "ida")
    id_ = guarded.outcome(guarded.ingest("A canoe."))["memory_id"]
    browser.open(f"http://127.0.0.1:{guarded.port}/memories/{id_}")
    use_key(browser, first)
    press(browser, "It helped")
    find(browser, "[aria-label=Rate] [aria-pressed=true]")
    be_logged_out(browser)
    use_key(browser, second)
    shows(browser, "Helped once")
    pressed = (By.CSS_SELECTOR, "[aria-label=Rate] [aria-pressed=true]")
    wait_until(lambda: not browser.driver.find_elements(*pressed), "the second person has no rating")
    press(browser, "It helped")
    shows(browser, "Helped twice")


def test_a_change_that_a_log_in_interrupted_can_be_repeated_in_its_dialog(
    guarded: ConsoleServer, browser: Chromium
) -> None:
    first, second = two_keys(guarded, "hal")
    guarded.outcome(guarded.ingest("A canoe.", tags=["boat"]))
    browser.open(f"http://127.0.0.1:{guarded.port}/tags")
    use_key(browser, first)
    click(browser, "[aria-label='Rename boat']")
    type_into(browser, "name", "dinghy")
    browser.driver.execute_script(REFUSE_ONE_TOKEN, "change_tag")
    click(browser, "dialog .btn.main")
    shows(browser, "You have been logged out.")
    use_key(browser, second)
    reads(browser, "dialog", "You have logged in again: repeat the action.")
    click(browser, "dialog .btn.main")
    reads(browser, ".tagtable", "dinghy")


def test_a_correction_that_a_log_in_interrupted_says_that_it_replaces_nothing(
    guarded: ConsoleServer, browser: Chromium
) -> None:
    first, second = two_keys(guarded, "lea")
    id_ = guarded.outcome(guarded.ingest("The boat is red."))["memory_id"]
    browser.open(f"http://127.0.0.1:{guarded.port}/add?replaces={id_}")
    use_key(browser, first)
    type_into(browser, "content", "The boat was painted green.")
    refuse(browser, "ingest_status", 401)
    press(browser, "Add")
    shows(browser, "You have been logged out.")
    calm(browser)
    use_key(browser, second)
    shows(browser, "it replaces nothing: You have logged in again")
    assert guarded.call("get_memory", {"id": id_})["superseded_by"] is None


def test_a_deleted_memory_does_not_come_back_into_the_list_after_a_log_in(
    guarded: ConsoleServer, browser: Chromium
) -> None:
    first, second = two_keys(guarded, "mia")
    for name, day in (("Oar", 3), ("Sail", 2), ("Mast", 1)):
        guarded.outcome(guarded.ingest(f"TITLE: {name}\nOf a boat.", timestamp=f"2026-05-0{day}"))
    browser.open(f"http://127.0.0.1:{guarded.port}/")
    use_key(browser, first)
    wait_for_titles(browser, "Oar", "Sail", "Mast")
    keys(browser, "j", Keys.DELETE)
    wait_for_titles(browser, "Sail", "Mast")
    keys(browser, "j", Keys.DELETE)  # the second message ends the first one, so the first deletion is final
    wait_for_titles(browser, "Mast")
    keys(browser, "z")
    wait_for_titles(browser, "Sail", "Mast")
    wait_until(lambda: len(guarded.call("list_memories", {})["memories"]) == 2, "the first is deleted")
    be_logged_out(browser)
    use_key(browser, second)
    find(browser, ".row-link")
    assert titles(browser) == ["Sail", "Mast"]
