"""What an address or a form says is what is asked for and shown: tags with commas, the time zone, the latest."""

from selenium.webdriver.common.by import By

from tests.chromium import Chromium, chromium
from tests.console.person import headings, press, shows, type_into
from tests.dev import DevServer
from tests.waiting import wait_until

GO = "history.pushState(null, '', arguments[0]); dispatchEvent(new PopStateEvent('popstate'));"
# The first search's answer is kept back until it is let go.
HOLD_FIRST_SEARCH = """
const real = window.fetch;
let held = false;
window.fetch = (...asked) => {
  if (held || !asked[1].body.includes("memory_search")) return real(...asked);
  held = true;
  return new Promise((done) => {
    window.letGo = async () => {
      const answer = await real(...asked);
      done(answer.clone());
      await answer.json();
    };
  });
};
"""
LET_GO = """
const told = arguments[0];
letGo().then(() => requestAnimationFrame(() => requestAnimationFrame(() => told())));
"""


def test_a_tag_with_a_comma_or_a_quote_stays_one_tag(system: DevServer, site: str, browser: Chromium) -> None:
    tags = ["red, green", 'say "hi"']
    memory_id = system.outcome(system.ingest("Traffic lights.", tags=tags))["memory_id"]
    browser.open(f"{site}/memories/{memory_id}")
    shows(browser, "Traffic lights.")
    field = browser.driver.find_element(By.ID, "new-tags")
    assert field.get_property("value") == '"red, green", "say ""hi"""'
    field.send_keys(", amber")
    press(browser, "Change")
    shows(browser, "amber")
    assert set(system.call("get_memory", {"id": memory_id})["tags"]) == {*tags, "amber"}
    browser.driver.find_element(By.LINK_TEXT, "red, green").click()
    shows(browser, "1 memory")
    browser.open(f"{site}/newest")
    shows(browser, "red, green 1")
    browser.driver.find_element(By.PARTIAL_LINK_TEXT, 'say "hi"').click()
    wait_until(lambda: headings(browser) == ["Traffic lights."], "the facet filters by its tag alone")
    system.call("delete_memory", {"id": memory_id})


def test_words_of_time_are_meant_where_the_person_is_and_the_window_is_shown_there(site: str) -> None:
    with chromium() as opened:
        opened.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
        opened.open(f"{site}/?time=on+2+May+2026")
        shows(opened, "from May 2, 2026, 12:00 AM to May 2, 2026, 11:59 PM (Asia/Tokyo)")


def test_an_address_that_is_no_text_is_answered_as_one_that_names_no_memory(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/memories/%")
    shows(browser, "id must be a UUID")


def test_a_late_answer_to_an_earlier_search_does_not_replace_the_latest(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    shows(browser, "What are you looking for?")
    browser.driver.execute_script(HOLD_FIRST_SEARCH)
    browser.driver.execute_script(GO, "/?q=Bob+rows&mode=exact")
    browser.driver.execute_script(GO, "/?q=shelf+7&mode=exact")
    shows(browser, "Note 2")
    browser.driver.execute_async_script(LET_GO)
    assert headings(browser) == ["Note 2"]


def test_a_search_that_is_left_leaves_nothing_behind(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/?q=oolong")
    shows(browser, "Note 1")
    browser.driver.find_element(By.LINK_TEXT, "Search").click()
    wait_until(lambda: headings(browser) == [], "what was found is gone")
    type_into(browser, "time", "blorp")
    press(browser, "Search")
    shows(browser, "time_expr 'blorp' is not understood")


def test_what_is_chosen_from_is_in_the_order_it_grows(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    shows(browser, "Quality counts")
    options = [one.text for one in browser.driver.find_elements(By.CSS_SELECTOR, "#quality option")]
    assert options == ["as usual", "not at all", "as much as relevance", "alone"]
