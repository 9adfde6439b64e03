"""A change whose dialog or page is left before it ends."""

import pytest

from tests.chromium import Chromium
from tests.console.holds import hold, release, wait_until_held
from tests.console.person import click, find, keys, press, reads, type_into
from tests.dev import DevServer


@pytest.mark.parametrize(
    ("path", "first", "text", "button", "tool", "leave", "name"),
    [
        ("/tags", "[aria-label='Rename tin']", "zinc", "dialog .main", "change_tag", ".dialog-foot .btn", "Rename"),
        ("/memories/ID", "h1", "", "[aria-label='Remove tin']", "update_memory", "[aria-label='Remove iron']", "Tags"),
        ("/memories/ID", "h1", "", "[aria-label=Rate] .btn", "rate_memory", ".nav [href='/']", "Rating"),
        ("/memories/ID/edit", "#title", "Kettle", ".bar-top .main", "update_memory", "main [data-up]", "Save"),
        ("/add", "#content", "The kettle leaks.", "form .main", "ingest_memory", ".nav [href='/tags']", "Add"),
    ],
)
def test_the_error_of_a_change_is_shown_after_the_person_has_gone_on(
    system: DevServer,
    site: str,
    browser: Chromium,
    path: str,
    first: str,
    text: str,
    button: str,
    tool: str,
    leave: str,
    name: str,
) -> None:
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
    system.call("delete_memory", {"id": id_})


def test_the_end_of_a_change_does_not_close_another_dialog(system: DevServer, site: str, browser: Chromium) -> None:
    ids = [system.remember(f"A ring of {metal}.", tags=[metal]) for metal in ("gold", "silver")]
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
    system.call("delete_memory", {"ids": ids})
