"""Hold back an answer of the server until a test releases it."""

from tests.chromium import Chromium
from tests.waiting import wait_until

# Holds back the answer to the first call that matches a pattern, until the test calls `release`, which returns when the
# page has handled the answer. If the script gets an error message, the page gets this error instead of the answer.
HOLD = """
const [pattern, message] = arguments;
const real = window.fetch;
const error = { jsonrpc: "2.0", id: 1, error: { code: -32000, message } };
window.fetch = (...asked) => {
  if (!new RegExp(pattern, "u").test(asked[1]?.body)) return real(...asked);
  window.fetch = real;
  return new Promise((done) => {
    window.release = async () => {
      const asking = message ? Promise.resolve(new Response(JSON.stringify(error), { status: 400 })) : real(...asked);
      done(asking.then((answer) => answer.clone()));
      await asking.then((answer) => answer.json(), () => null);
    };
  });
};
"""
RELEASE = """
const done = arguments[0];
release().then(() => requestAnimationFrame(() => requestAnimationFrame(() => done())));
"""


def hold(browser: Chromium, tool: str, arguments: str = "", error: str = "") -> None:
    """Hold back the answer to the next call of a tool whose arguments match this regular expression.

    If `error` is given, the page then gets an error with this message instead.
    """
    browser.driver.execute_script(HOLD, f'"{tool}".*{arguments}', error)


def wait_until_held(browser: Chromium) -> None:
    wait_until(lambda: bool(browser.driver.execute_script("return Boolean(window.release)")), "the call is sent")


def release(browser: Chromium) -> None:
    """Release the answer, and wait until the page has handled it."""
    browser.driver.execute_async_script(RELEASE)
