"""Touch input on a phone: taps and swipes."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.chromium import Chromium
from tests.console.person import SHOWN
from tests.waiting import wait_until

PHONE = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
# Scrolls to the first visible element that no other element covers, and returns the point that a finger would touch.
# Returns null if there is none, or if the element is still moving, for example in a list that is being loaded. Notes
# whether the next touch reaches the element.
REACH = f"""
{SHOWN}
const [path, done] = arguments;
const touched = (one) => one.closest("label") ?? one;
const pointOf = (one) => {{
  one.scrollIntoView({{ block: "center" }});
  const {{ left, top, width, height }} = touched(one).getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  return touched(one).contains(document.elementFromPoint(x, y)) ? [x, y] : null;
}};
const element = shown(path).find(pointOf);
const before = element && pointOf(element);
requestAnimationFrame(() => requestAnimationFrame(() => {{
  const point = element && pointOf(element);
  if (String(point) !== String(before)) return done(null);
  window.isReached = false;
  const note = ({{ target }}) => {{ window.isReached = touched(element).contains(target); }};
  document.addEventListener("pointerdown", note, {{ once: true, capture: true }});
  return done(point);
}}));
"""


@contextmanager
def phone(browser: Chromium) -> Iterator[None]:
    """Give the browser's tab the screen of a phone."""
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 1})
    try:
        yield
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def _touch(browser: Chromium, kind: str, *points: tuple[float, float]) -> None:
    arguments = {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]}
    browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", arguments)


def tap(browser: Chromium, target: str) -> None:
    """Tap an element once it can be reached: a CSS selector, or the text of a button, link, label or summary."""
    is_selector = target[0] in "#.[" or target.startswith("main ")
    quoted = f'"{target}"'
    kinds = " or ".join(f"self::{name}" for name in ("button", "a", "label", "summary"))
    named = f"//*[{kinds}][normalize-space()={quoted} or text()[normalize-space()={quoted}]]"

    def is_tapped() -> bool:
        point = browser.driver.execute_async_script(REACH, target if is_selector else named)
        if point is None:
            return False
        _touch(browser, "touchStart", point)
        _touch(browser, "touchEnd")
        # False if the element had moved before the touch. If the touch has opened another page, the value is missing,
        # which means that the element was reached.
        return bool(browser.driver.execute_script("return window.isReached ?? true"))

    wait_until(is_tapped, f"{target} is tapped", seconds=30)


def swipe(browser: Chromium, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Move a finger from one point of the screen to another."""
    _touch(browser, "touchStart", start)
    for step in range(1, 9):
        part = step / 8
        _touch(browser, "touchMove", (start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part))
    _touch(browser, "touchEnd")
