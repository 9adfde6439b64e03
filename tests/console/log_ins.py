"""Log-ins with API keys, and their end."""

from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.chromium import Chromium
from tests.console.person import come_back, press, shows, type_into
from tests.console.server import ConsoleServer
from tests.oauth_person import Terminal
from tests.waiting import wait_until

# Lets all calls with the page's present token fail, as if the token had expired. Calls with other tokens go to the
# server. If the script gets the name of a tool, the token expires only at the first call of this tool, because the page
# also calls other tools without an action of the person.
REFUSE_ONE_TOKEN = """
const [tool] = arguments;
const real = window.fetch;
let [expired, isExpired] = [undefined, !tool];
Object.assign(window, { refused: 0, refreshed: 0, others: new Set() });
window.fetch = (address, asked) => {
  if (asked?.body instanceof URLSearchParams && asked.body.get("grant_type") === "refresh_token") window.refreshed += 1;
  const token = asked?.headers?.Authorization;
  if (!token) return real(address, asked);
  expired ??= token;
  isExpired ||= Boolean(asked.body?.includes?.(`"${tool}"`));
  if (token !== expired || !isExpired) {
    window.others.add(token);
    return real(address, asked);
  }
  window.refused += 1;
  const error = { jsonrpc: "2.0", id: null, error: { code: -32001, message: "the token has expired" } };
  return Promise.resolve(new Response(JSON.stringify(error), { status: 401 }));
};
"""


def use_key(browser: Chromium, key: str) -> None:
    shows(browser, "API key")
    type_into(browser, "key", key)
    press(browser, "Use the key")


def two_keys(guarded: ConsoleServer, namespace: str) -> tuple[str, str]:
    """Create two keys of a person, and let the test's own client use the first."""
    first, second = (guarded.make_key("read", "write", namespace=namespace) for _ in range(2))
    guarded.client.headers["Authorization"] = f"Bearer {first}"
    return first, second


def be_logged_out(browser: Chromium) -> None:
    """Let the page notice that its token has expired."""
    browser.driver.execute_script(REFUSE_ONE_TOKEN)
    come_back(browser)
    shows(browser, "You have been logged out.")


def log_in(guarded: ConsoleServer, fresh: Chromium) -> None:
    """Log in from the open page, in the window that it opens, and return to the page."""
    terminal = Terminal(guarded)
    wait_until(lambda: bool(fresh.driver.find_elements(By.XPATH, "//button[.='Log in']")), "a log-in is offered")
    console = fresh.driver.current_window_handle
    fresh.driver.find_element(By.XPATH, "//button[.='Log in']").click()
    WebDriverWait(fresh.driver, 60).until(lambda driver: len(driver.window_handles) == 2)
    (window,) = {*fresh.driver.window_handles} - {console}
    fresh.driver.switch_to.window(window)
    WebDriverWait(fresh.driver, 60).until(lambda driver: driver.find_elements(By.NAME, "code"))
    fresh.type("code", terminal.code())
    fresh.press("Log in")
    assert "Allow Mnemosyne's console to use your memory?" in fresh.text
    fresh.driver.find_element(By.XPATH, "//button[normalize-space()='Allow']").click()
    fresh.driver.switch_to.window(console)
