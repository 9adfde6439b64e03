"""Timers of a page, which tests end sooner."""

from tests.chromium import Chromium
from tests.waiting import wait_until

MESSAGE_MS = 10_000
"""The value of the constant `SECONDS` in toast.js, in milliseconds."""
RETRY_MS = 5_000
"""The value of the constant `RETRY_MS` in components.js."""
# Keeps the function that the latest timer of this length will call, so that `_END` can call it sooner.
_KEEP = """
const [long] = arguments;
const real = window.setTimeout;
window.setTimeout = (work, milliseconds, ...rest) => {
  if (milliseconds === long) window.end = work;
  return real(work, milliseconds, ...rest);
};
"""
_END = """
const { end } = window;
window.end = null;
end?.();
return Boolean(end);
"""
_SHORTEN = """
const [long] = arguments;
const real = window.setTimeout;
window.setTimeout = (work, milliseconds, ...rest) => real(work, milliseconds === long ? 500 : milliseconds, ...rest);
"""


def keep_messages(browser: Chromium) -> None:
    """Prepare the page for `end_message`. Otherwise a message at the foot of the page is shown for ten seconds."""
    browser.driver.execute_script(_KEEP, MESSAGE_MS)


def end_message(browser: Chromium) -> None:
    """End the message at the foot of the page, as its timer does."""
    wait_until(lambda: bool(browser.driver.execute_script(_END)), "the message is ended")


def retry_soon(browser: Chromium) -> None:
    """Shorten the timer that loads a page again if it could not be loaded, from five seconds to half a second."""
    browser.driver.execute_script(_SHORTEN, RETRY_MS)
