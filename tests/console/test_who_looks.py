"""Credentials of the console's users, and attacks from other pages."""

import json

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium, page_elsewhere
from tests.console.log_ins import REFUSE_ONE_TOKEN, be_logged_out, log_in, use_key
from tests.console.person import (
    click,
    drop,
    find,
    keys,
    open_page,
    press,
    reads,
    shows,
    type_into,
    wait_until_stored,
)
from tests.console.server import ConsoleServer
from tests.dev import DevServer
from tests.waiting import wait_until

# Records the names of the tools whose calls the server refuses.
WATCH_REFUSALS = """
const real = window.fetch;
window.refusals = [];
window.fetch = async (...asked) => {
  const answer = await real(...asked);
  if (answer.status === 403) window.refusals.push(JSON.parse(asked[1].body).params.name);
  return answer;
};
"""


def _stored_by_browser(browser: Chromium) -> str:
    """Return all that the browser stores for the page: the address, both storages and the cookies."""
    script = "return JSON.stringify([location.href, {...localStorage}, {...sessionStorage}, document.cookie])"
    return str(browser.driver.execute_script(script))


def test_a_key_opens_the_pages_that_its_scopes_allow_and_is_not_stored(guarded: ConsoleServer, fresh: Chromium) -> None:
    key = guarded.make_key("read")
    fresh.open(f"http://127.0.0.1:{guarded.port}/")
    use_key(fresh, key)
    shows(fresh, "No memories yet")
    assert "Overview" in fresh.text
    assert not fresh.driver.find_elements(By.CSS_SELECTOR, "[href='/add']"), "the key has only the scope read"
    assert key not in _stored_by_browser(fresh)
    fresh.open(f"http://127.0.0.1:{guarded.port}/")
    shows(fresh, "API key")


def test_the_console_says_what_a_key_with_only_the_scope_write_cannot_do(
    guarded: ConsoleServer, browser: Chromium
) -> None:
    reader, writer = guarded.make_key("read", "write"), guarded.make_key("write")
    guarded.client.headers["Authorization"] = f"Bearer {reader}"
    id_ = guarded.remember("The gate is green.")
    browser.open(f"http://127.0.0.1:{guarded.port}/add?replaces={id_}")
    use_key(browser, writer)
    find(browser, "#content")
    browser.driver.execute_script(WATCH_REFUSALS)
    type_into(browser, "content", "The gate was painted blue.")
    type_into(browser, "add-tags", "gate,")
    assert "drop it here" not in browser.text
    type_into(browser, "when", "yesterday")
    reads(browser, "#when-help", "Write a date, such as")
    press(browser, "Add")
    shows(browser, "your key lacks the scope read, which a time in words needs")
    type_into(browser, "when", "2026-05-01")
    press(browser, "Add")
    shows(browser, "It replaces nothing, because your key lacks the scope read.")
    assert "Sent to be stored" in browser.text
    assert browser.driver.execute_script("return window.refusals") == [], "no tool was called without its scope"
    wait_until(lambda: len(guarded.call("list_memories", {})["memories"]) == 2, "it is stored")
    assert guarded.call("get_memory", {"id": id_})["superseded_by"] is None
    guarded.call("delete_memory", {"ids": [memory["id"] for memory in guarded.call("list_memories", {})["memories"]]})


def test_people_log_in_in_a_separate_window_and_no_token_is_stored(guarded: ConsoleServer, fresh: Chromium) -> None:
    grants = len(guarded.owner.grants.every(None))  # of the log-ins of other tests
    fresh.open(f"http://127.0.0.1:{guarded.port}/add")
    log_in(guarded, fresh)
    type_into(fresh, "content", "Dee logged in.")
    press(fresh, "Add")
    wait_until_stored(fresh)
    assert len(guarded.owner.grants.every(None)) == grants + 1
    stored_key = _stored_by_browser(fresh)
    assert "eyJ" not in stored_key and "code=" not in stored_key
    click(fresh, "[aria-label='Account and appearance']")
    press(fresh, "Log out")
    shows(fresh, "API key")
    wait_until(lambda: len(guarded.owner.grants.every(None)) == grants, "what was granted has ended")


# The server ends the log-in, but the page gets an error (503) as the answer.
FAIL_REVOCATION = """
const real = window.fetch;
window.fetch = async (address, ...asked) => {
  const answer = await real(address, ...asked);
  return String(address).endsWith("/revoke") ? new Response("", { status: 503 }) : answer;
};
"""


def test_a_log_out_that_the_server_has_not_confirmed_says_so(guarded: ConsoleServer, fresh: Chromium) -> None:
    fresh.open(f"http://127.0.0.1:{guarded.port}/add")
    log_in(guarded, fresh)
    find(fresh, "#content")
    fresh.driver.execute_script(FAIL_REVOCATION)
    click(fresh, "[aria-label='Account and appearance']")
    press(fresh, "Log out")
    shows(fresh, "Logged out of this tab only")
    shows(fresh, "The server answered 503.")
    assert str(find(fresh, "[role=alert] a").get_property("href")).endswith("/account")
    press(fresh, "Log in")
    shows(fresh, "API key")


def test_an_import_does_not_continue_when_another_person_logs_in(guarded: ConsoleServer, browser: Chromium) -> None:
    eve, dan = (guarded.make_key("read", "write", namespace=name) for name in ("eve", "dan"))
    browser.open(f"http://127.0.0.1:{guarded.port}/import")
    use_key(browser, eve)
    shows(browser, "Drop files or a folder")
    lines = "".join(f'{{"content": "Of Eve, {n}.", "timestamp": "2026-01-01"}}\n' for n in range(20_000))
    drop(browser, "eve.jsonl", lines)
    shows(browser, "Importing …")
    browser.driver.execute_script(REFUSE_ONE_TOKEN)
    shows(browser, "You have been logged out.")
    use_key(browser, dan)
    shows(browser, "Drop files or a folder")
    assert "eve.jsonl" not in browser.text, "another person's files are not shown"
    guarded.client.headers["Authorization"] = f"Bearer {dan}"
    assert guarded.call("list_memories", {})["memories"] == []


def test_the_next_person_to_log_in_sees_nothing_of_the_previous_one(guarded: ConsoleServer, browser: Chromium) -> None:
    ivy, jan = (guarded.make_key("read", "write", namespace=name) for name in ("ivy", "jan"))
    browser.open(f"http://127.0.0.1:{guarded.port}/add")
    use_key(browser, ivy)
    type_into(browser, "content", "TITLE: Of Ivy\nHer secret harbour.")
    press(browser, "Add")
    wait_until_stored(browser)
    type_into(browser, "content", "Her other secret.")
    open_page(browser, "Memories")
    type_into(browser, "query", "secret harbour" + Keys.ENTER)
    click(browser, ".row-link")
    shows(browser, "Did it help?")
    id_ = browser.url.split("/")[-1].partition("?")[0]
    keys(browser, Keys.DELETE)
    shows(browser, "“Of Ivy” deleted.")
    assert "secret+harbour" in browser.url
    be_logged_out(browser)
    use_key(browser, jan)
    shows(browser, "No memories yet")
    assert "Of Ivy" not in browser.text
    assert "harbour" not in browser.url and "harbour" not in browser.driver.title
    assert find(browser, "#query").get_property("value") == ""
    keys(browser, "a")
    assert find(browser, "#content").get_property("value") == ""
    assert "secret" not in browser.text
    guarded.client.headers["Authorization"] = f"Bearer {ivy}"
    assert guarded.call("get_memory", {"id": id_})["title"] == "Of Ivy", "the deletion did not happen"


def test_a_caller_with_only_the_write_scope_starts_on_the_page_add(guarded: ConsoleServer, browser: Chromium) -> None:
    browser.open(f"http://127.0.0.1:{guarded.port}/")
    use_key(browser, guarded.make_key("write"))
    find(browser, "#content")
    tabs = browser.driver.find_elements(By.CSS_SELECTOR, ".tabbar > *")
    assert [tab.get_attribute("href") for tab in tabs] == [f"http://127.0.0.1:{guarded.port}/add"]
    browser.driver.execute_script("history.pushState(null, '', '/tags'); dispatchEvent(new PopStateEvent('popstate'))")
    shows(browser, "Your key does not have the scope for this page.")


def test_the_address_of_another_namespace_s_memory_shows_the_page_for_an_unknown_memory(
    guarded: ConsoleServer, browser: Chromium
) -> None:
    theirs, own = (guarded.make_key("read", "write", namespace=name) for name in ("theirs", "own"))
    guarded.client.headers["Authorization"] = f"Bearer {theirs}"
    outcome = guarded.outcome(guarded.ingest("The vault is behind the oak."))
    never = "01a1fd98-820d-74ac-bf32-ad3eec4e3d5f"
    texts = []
    for id_ in (outcome["memory_id"], never):
        browser.open(f"http://127.0.0.1:{guarded.port}/memories/{id_}")
        use_key(browser, own)
        shows(browser, "no memory has the id")
        markup = "return document.documentElement.outerHTML"
        texts.append(str(browser.driver.execute_script(markup)).replace(id_, "ID"))
    assert texts[0] == texts[1]
    assert "ID" in texts[0] and "oak" not in texts[0]


def test_another_site_can_neither_frame_the_console_nor_call_the_server(
    system: DevServer, site: str, fresh: Chromium
) -> None:
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    page = f"""<iframe src="{site}/"></iframe><p id="said">waiting</p><script>
      fetch("{system.url}", {{method: "POST", headers: {{"Content-Type": "application/json"}}, body: '{call}'}})
        .then(() => "called", () => "refused").then((said) => document.getElementById("said").textContent = said);
    </script>"""
    with page_elsewhere(page) as elsewhere:
        fresh.open(elsewhere)
        shows(fresh, "refused")
        fresh.driver.switch_to.frame(0)
        assert fresh.driver.find_elements(By.ID, "app") == []
