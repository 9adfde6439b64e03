"""While a person composes letters with an input method, keys control the input method and not the page."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.person import click, find, keys, type_into
from tests.dev import DevServer


def _compose(browser: Chromium, text: str) -> None:
    """Compose a text in the field with the focus, as an input method does."""
    arguments = {"text": text, "selectionStart": len(text), "selectionEnd": len(text)}
    browser.driver.execute_cdp_cmd("Input.imeSetComposition", arguments)


@pytest.mark.parametrize(
    ("path", "field", "key"),
    [
        ("/?q=oolong", "#query", Keys.ESCAPE),
        ("/add", "#add-tags", Keys.ENTER),
        ("/connect", "#first", Keys.CONTROL + Keys.ENTER),
        pytest.param("/", "#query", Keys.ESCAPE, marks=pytest.mark.nightly),
        pytest.param("/add", "#content", Keys.ESCAPE, marks=pytest.mark.nightly),
        pytest.param("/add", "#add-tags", Keys.ESCAPE, marks=pytest.mark.nightly),
    ],
)
def test_a_key_within_a_composition_does_nothing_else(
    system: DevServer, site: str, browser: Chromium, path: str, field: str, key: str
) -> None:
    before = system.call("memory_stats", {})["memories"]
    browser.open(f"{site}{path}")
    type_into(browser, field[1:], "oolong")
    address = browser.url
    _compose(browser, "お茶")
    keys(browser, key)
    assert str(find(browser, field).get_property("value")).startswith("oolong")
    assert browser.url == address
    assert system.call("memory_stats", {})["memories"] == before


def test_escape_within_a_composition_leaves_a_dialog_open(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    click(browser, ".filters [aria-haspopup]")
    click(browser, "#time")
    _compose(browser, "先週")
    keys(browser, Keys.ESCAPE)
    assert browser.driver.find_elements(By.CSS_SELECTOR, "dialog[open] #time")
