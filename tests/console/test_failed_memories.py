"""Add: a memory that the server accepted and could not store is corrected and added again."""

from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.person import click, find, press, shows, type_into
from tests.dev import DevServer
from tests.waiting import wait_until

# Lets the first memory fail: the server's answer about it is replaced by the answer for a namespace without room.
FAIL_THE_FIRST = """
const real = window.fetch;
window.fetch = async (...asked) => {
  const answer = await real(...asked);
  if (!asked[1]?.body?.includes('"ingest_status"')) return answer;
  const body = await answer.json();
  const [request] = body.result.structuredContent.requests;
  window.fetch = real;
  Object.assign(request, { state: "failed", error: "no room: 500 of 500 new texts today", memory_id: undefined });
  return new Response(JSON.stringify(body));
};
"""


def test_a_memory_that_was_not_stored_is_edited_with_all_its_fields(
    system: DevServer, site: str, browser: Chromium
) -> None:
    browser.open(f"{site}/add")
    type_into(browser, "content", "The trian leaves at nine.")
    find(browser, "#add-tags").send_keys("travel,")
    type_into(browser, "when", "5 May 2026")
    click(browser, ".fold summary")
    type_into(browser, "add-title", "Train")
    type_into(browser, "add-session", "journey")
    type_into(browser, "add-metadata", '{"platform": 3}')
    browser.driver.execute_script(FAIL_THE_FIRST)
    press(browser, "Add")
    shows(browser, "no room")
    type_into(browser, "content", "Another text.")
    press(browser, "Edit and add again")
    shows(browser, "The text that you had typed was replaced.")
    press(browser, "Undo")
    assert find(browser, "#content").get_property("value") == "Another text."
    press(browser, "Edit and add again")
    type_into(browser, "content", "The train leaves at nine.")
    press(browser, "Add")
    wait_until(lambda: bool(browser.driver.find_elements(By.CSS_SELECTOR, ".side .state.stored")), "it is stored")
    memories = system.call("memory_search", {"query": "The train leaves at nine.", "mode": "exact"})["memories"]
    memory = system.call("get_memory", {"id": memories[0]["id"]})
    assert (memory["title"], memory["tags"], memory["session"]) == ("Train", ["travel"], "journey")
    assert (memory["metadata"], memory["timestamp"][:10]) == ({"platform": 3}, "2026-05-05")
