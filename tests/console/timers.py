"""Timers of a page, which tests end sooner."""

from tests.chromium import Chromium
from tests.waiting import wait_until

MESSAGE_MS = 10_000
"""`SECONDS` of toast.js, in milliseconds."""
RETRY_MS = 5_000
"""`RETRY_MS` of components.js."""
# Keeps the function that the last timer of a length calls.
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
    """Let a test end the messages at the foot of the page, which would be shown for ten seconds."""
    browser.driver.execute_script(_KEEP, MESSAGE_MS)


def end_message(browser: Chromium) -> None:
    """End the message at the foot of the page, as its timer does."""
    wait_until(lambda: bool(browser.driver.execute_script(_END)), "the message is ended")


def retry_soon(browser: Chromium) -> None:
    """Let a page that could not be loaded be loaded again after half a second instead of five."""
    browser.driver.execute_script(_SHORTEN, RETRY_MS)
