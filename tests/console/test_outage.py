"""The notice of an outage, and errors of the forms for a log-in."""

from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.failing import be_offline
from tests.console.person import find, press, shows, wait_for_titles
from tests.console.server import ConsoleServer
from tests.waiting import wait_until

# Calls a tool, as the page does every minute to count failed requests.
CALL = """
const address = document.querySelector("script[type=module]").src.replace("app.js", "mcp.js");
import(address).then(({ call }) => call("memory_stats")).catch(() => null);
"""
NOTE = "The server is not responding; this page may be out of date."


def test_an_outage_is_shown_on_the_page_and_the_page_retries(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    wait_for_titles(browser, "Note 3", "Note 2", "Note 1")
    be_offline(browser, True)
    try:
        press(browser, "Oldest first" if "Oldest first" in browser.text else "Newest first")
        shows(browser, NOTE)
        shows(browser, "No connection")
        assert find(browser, ".outage .note").get_attribute("role") == "alert"
        press(browser, "Try now")
        shows(browser, "Trying again in 4 s.")
    finally:
        be_offline(browser, False)
    press(browser, "Try now")
    wait_until(lambda: NOTE not in browser.text, "the note is gone")
    assert "No connection" not in browser.text


def test_the_overview_claims_neither_health_nor_failed_requests_in_an_outage(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/overview")
    shows(browser, "No failed requests")
    be_offline(browser, True)
    try:
        browser.driver.execute_script(CALL)
        shows(browser, NOTE)
        assert find(browser, ".page-head").text == "Overview"
    finally:
        be_offline(browser, False)


def test_a_wrong_key_is_reported_at_its_field(guarded: ConsoleServer, fresh: Chromium) -> None:
    fresh.open(f"http://127.0.0.1:{guarded.port}/")
    find(fresh, "#key").send_keys("mnk_unknown")
    press(fresh, "Use the key")
    error = find(fresh, "#wrong")
    assert "the key is unknown, expired or revoked" in error.text
    field = find(fresh, "#key")
    assert (error.get_attribute("role"), field.get_attribute("aria-describedby")) == ("alert", "wrong")
    assert (field.get_attribute("aria-invalid"), field.get_property("value")) == ("true", "")
    assert not fresh.driver.find_elements(By.CSS_SELECTOR, ".top"), "no page of the console is shown"


def test_a_log_in_that_is_not_offered_has_a_reason_and_is_offered_later(
    guarded: ConsoleServer, fresh: Chromium
) -> None:
    refuse = """
        const real = window.fetch;
        window.fetch = (...asked) => {
          if (window.isCalm || !String(asked[0]).includes("oauth-protected-resource")) return real(...asked);
          return Promise.resolve(new Response("busy", { status: 429 }));
        };
    """
    fresh.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": refuse})
    fresh.open(f"http://127.0.0.1:{guarded.port}/")
    shows(fresh, "The server answered 429.")
    fresh.driver.execute_script("window.isCalm = true")
    press(fresh, "Try again")
    find(fresh, ".or")
