"""The renewal of an expired token while the form for logging in is shown."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.chromium import Chromium
from tests.console.log_ins import REFUSE_ONE_TOKEN, log_in
from tests.console.person import come_back, find, shows, type_into
from tests.console.server import ConsoleServer
from tests.console.timers import end_message, keep_messages
from tests.waiting import wait_until

# Refuses the renewal of the token until `isCalm` is true. Then `isRenewed` becomes true after the page has read the
# renewed token and has rendered.
REFUSE_RENEWAL = """
const real = window.fetch;
window.fetch = async (address, asked) => {
  if (!(asked?.body instanceof URLSearchParams)) return real(address, asked);
  if (!window.isCalm) return new Response("", { status: 503 });
  const answer = await real(address, asked);
  const text = await answer.text();
  answer.json = async () => {
    setTimeout(() => { window.isRenewed = true; });
    return JSON.parse(text);
  };
  return answer;
};
"""


def _use(browser: Chromium, way: str) -> None:
    if way == "types a key":
        find(browser, "#key").send_keys("mnemo")
    elif way == "opens the window":
        find(browser, "//button[.='Log in']").click()
        WebDriverWait(browser.driver, 60).until(lambda driver: len(driver.window_handles) == 2)
        shows(browser, "Continue in the new window")


@pytest.mark.parametrize(
    "way", ["does nothing", "types a key", pytest.param("opens the window", marks=pytest.mark.nightly)]
)
def test_a_renewal_removes_the_form_unless_the_person_uses_it(
    guarded: ConsoleServer, fresh: Chromium, way: str
) -> None:
    fresh.open(f"http://127.0.0.1:{guarded.port}/add")
    log_in(guarded, fresh)
    type_into(fresh, "content", "Typed for an hour")
    keep_messages(fresh)  # the timer of the renewal is as long as that of a message
    fresh.driver.execute_script(REFUSE_ONE_TOKEN)
    fresh.driver.execute_script(REFUSE_RENEWAL)
    come_back(fresh)
    shows(fresh, "You have been logged out.")
    _use(fresh, way)
    fresh.driver.execute_script("window.isCalm = true")
    end_message(fresh)
    wait_until(lambda: bool(fresh.driver.execute_script("return window.isRenewed")), "the token is renewed")
    is_form_shown = bool(fresh.driver.find_elements(By.ID, "key"))
    assert is_form_shown == (way != "does nothing")
    if way == "types a key":
        assert fresh.driver.switch_to.active_element.get_attribute("id") == "key"
        assert find(fresh, "#key").get_property("value") == "mnemo"
    elif way == "does nothing":
        assert find(fresh, "#content").get_property("value") == "Typed for an hour"
