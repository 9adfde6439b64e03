"""Several requests on the page Activity are selected, and retried or deleted together."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.by import By

from mnemosyne.domain.memory import IngestRequest
from tests.chromium import Chromium
from tests.console.conftest import DESKTOP
from tests.console.failing import refuse
from tests.console.holds import hold, release, wait_until_held
from tests.console.person import click, come_back, find, open_page, press, shows
from tests.console.server import ConsoleServer
from tests.dev import DevServer
from tests.fakes import request
from tests.waiting import wait_until

CAUSE = "the embedder was away"


@pytest.fixture
def given_up(system: ConsoleServer, site: str, browser: Chromium) -> Iterator[list[IngestRequest]]:
    """Three dead-lettered requests, shown on the page Activity."""
    browser.driver.set_window_size(*DESKTOP)
    requests = [request(f"Picked request {n}.") for n in range(3)]
    for ingest_request in requests:
        system.give_up([ingest_request], CAUSE)
    browser.open(f"{site}/activity?state=dead_lettered")
    for n in range(3):
        _box(browser, f"Picked request {n}.")
    yield requests
    system.memories().drop_dead_letters([str(request.request_id) for request in requests])
    statuses = system.call("ingest_status", {"request_ids": [str(request.request_id) for request in requests]})
    system.delete([status["memory_id"] for status in statuses["requests"] if status.get("memory_id")])


def _ask_and_hold(browser: Chromium) -> None:
    """Let the page ask the server for changes of the list, and hold back the answer."""
    hold(browser, "list_requests", '"limit":50')
    come_back(browser)
    wait_until_held(browser)


def _box(browser: Chromium, words: str) -> None:
    find(browser, f"[aria-label='Pick: {words}']")


def _pick(browser: Chromium, *numbers: int) -> None:
    for n in numbers:
        click(browser, f"[aria-label='Pick: Picked request {n}.']")
    shows(browser, f"{len(numbers)} picked")


def _states(system: DevServer, requests: list[IngestRequest]) -> list[str]:
    ids = [str(request.request_id) for request in requests]
    return [request["state"] for request in system.call("ingest_status", {"request_ids": ids})["requests"]]


def test_selected_requests_are_retried_together(
    system: DevServer, browser: Chromium, given_up: list[IngestRequest]
) -> None:
    _pick(browser, 0, 2)
    click(browser, ".bulk button")
    shows(browser, "2 requests are tried again.")
    expected = ["stored", "dead_lettered", "stored"]
    wait_until(lambda: _states(system, given_up) == expected, "two are stored, and the third is left")
    assert "picked" not in browser.text


def test_selected_requests_are_deleted_after_a_confirmation(
    system: DevServer, browser: Chromium, given_up: list[IngestRequest]
) -> None:
    _pick(browser, 0, 1)
    click(browser, ".bulk button:nth-of-type(2)")
    shows(browser, "Delete 2 dead letters?")
    press(browser, "Cancel")
    assert len(system.call("list_dead_letters", {})["dead_letters"]) == 3
    shows(browser, "2 picked")
    click(browser, ".bulk button:nth-of-type(2)")
    press(browser, "Delete permanently")
    shows(browser, "2 dead letters deleted.")
    (letter,) = system.call("list_dead_letters", {})["dead_letters"]
    assert letter["message_id"] == str(given_up[2].request_id)
    wait_until(lambda: browser.text.count("Message ") == 1, "the list of dead letters is loaded again")


def test_a_late_answer_to_the_refresh_of_another_tab_changes_nothing(
    system: DevServer, site: str, browser: Chromium, given_up: list[IngestRequest]
) -> None:
    browser.open(f"{site}/activity")
    wait_until(lambda: {"state stored", "state failed"} <= {*_shown_states(browser)}, "all requests are listed")
    _ask_and_hold(browser)
    click(browser, ".tabs [href='/activity?state=dead_lettered']")
    wait_until(lambda: {*_shown_states(browser)} == {"state failed"}, "the others are left out")
    id_ = system.outcome(system.ingest("Stored meanwhile."))["memory_id"]
    release(browser)
    system.call("delete_memory", {"id": id_})
    assert {*_shown_states(browser)} == {"state failed"}


# Moves the pointer over the list until `window.isResting` is true, and counts the page's requests for the list.
MOVE = """
const real = window.fetch;
const list = document.querySelector("main .panel");
const move = () => list.dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
Object.assign(window, { asked: 0, isResting: false });
window.fetch = (...asked) => {
  if (/"list_requests".*"limit":50/u.test(asked[1]?.body)) window.asked += 1;
  return real(...asked);
};
move();
const timer = setInterval(() => (window.isResting ? clearInterval(timer) : move()), 50);
"""
RECORD_TOOLS = """
const real = window.fetch;
window.tools = [];
window.fetch = (...asked) => {
  window.tools.push(JSON.parse(asked[1].body).params.name);
  return real(...asked);
};
"""
ASK = "document.dispatchEvent(new Event('visibilitychange')); return window.asked"


def test_no_row_moves_while_the_pointer_moves_over_the_list(
    system: DevServer, site: str, browser: Chromium, given_up: list[IngestRequest]
) -> None:
    browser.open(f"{site}/activity")
    _box(browser, "Picked request 0.")
    _ask_and_hold(browser)
    before = _shown_states(browser)
    id_ = system.outcome(system.ingest("Stored while the pointer moves."))["memory_id"]
    browser.driver.execute_script(MOVE)
    release(browser)
    assert _shown_states(browser) == before
    assert browser.driver.execute_script(ASK) == 0
    browser.driver.execute_script("window.isResting = true")
    wait_until(lambda: browser.driver.execute_script(ASK) > 0, "the page asks again after the pointer has rested")
    shows(browser, "Stored while the pointer moves.")
    system.call("delete_memory", {"id": id_})


def test_the_dead_letters_are_shown_after_the_requests_above_them(
    system: DevServer, site: str, browser: Chromium, given_up: list[IngestRequest]
) -> None:
    browser.open(f"{site}/tags")
    find(browser, "h1")
    browser.driver.execute_script(RECORD_TOOLS)
    hold(browser, "list_requests")
    open_page(browser, "Activity")
    wait_until_held(browser)
    assert "list_dead_letters" not in browser.driver.execute_script("return window.tools")
    release(browser)
    find(browser, "#dead")


def _shown_states(browser: Chromium) -> list[str]:
    script = "return [...document.querySelectorAll('.table .state')].map((state) => state.className)"
    states: list[str] = browser.driver.execute_script(script)
    return states


def test_only_dead_lettered_requests_can_be_selected(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/activity?state=stored")
    wait_until(lambda: bool(browser.driver.find_elements(By.CSS_SELECTOR, ".table .state.stored")), "they are listed")
    assert not browser.driver.find_elements(By.CSS_SELECTOR, ".pick-request")


def test_names_of_clients_stay_on_one_line(system: DevServer, site: str, browser: Chromium) -> None:
    browser.driver.set_window_size(*DESKTOP)
    browser.open(f"{site}/activity")
    wait_until(lambda: bool(browser.driver.find_elements(By.CSS_SELECTOR, ".table .from")), "the requests are listed")
    browser.driver.execute_script(
        "document.querySelector('.table .from').textContent = 'A coding agent with a rather long name, line 1,234'"
    )
    lines = browser.driver.execute_script("""
      const range = document.createRange();
      range.selectNodeContents(document.querySelector('.table .from'));
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;""")
    assert lines == 1


@pytest.mark.parametrize(
    ("tool", "button"),
    [
        ("list_dead_letters", "//div[contains(@class, 'note')]//button[starts-with(normalize-space(), 'Retry the')]"),
        ("drop_dead_letters", "//section//button[normalize-space()='Delete …']"),
    ],
)
def test_a_refused_question_before_an_action_is_reported(
    browser: Chromium, given_up: list[IngestRequest], tool: str, button: str
) -> None:
    wait_until(lambda: bool(browser.driver.find_elements(By.XPATH, button)), "the button is there")
    refuse(browser, tool, 429)
    browser.driver.find_element(By.XPATH, button).click()
    shows(browser, "try again later")
