"""Answers of the server that wait until a test releases them."""

from tests.chromium import Chromium
from tests.waiting import wait_until

# The first answer of a tool waits for `release`, which ends when the page has handled the answer. With an error, the
# server refuses the call instead.
HOLD = """
const [tool, message] = arguments;
const real = window.fetch;
const error = { jsonrpc: "2.0", id: 1, error: { code: -32000, message } };
window.fetch = (...asked) => {
  if (!asked[1]?.body?.includes(`"${tool}"`)) return real(...asked);
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


def hold(browser: Chromium, tool: str, error: str = "") -> None:
    """Hold the next answer of a tool. With `error`, the answer is an error with this message."""
    browser.driver.execute_script(HOLD, tool, error)


def wait_until_held(browser: Chromium) -> None:
    wait_until(lambda: bool(browser.driver.execute_script("return Boolean(window.release)")), "the call is sent")


def release(browser: Chromium) -> None:
    """Release the answer, and wait until the page has handled it."""
    browser.driver.execute_async_script(RELEASE)
