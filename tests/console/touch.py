"""Touch input on a phone: taps and swipes."""

from collections.abc import Iterator
from contextlib import contextmanager

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.chromium import Chromium
from tests.waiting import wait_until

PHONE = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
# The point of a visible element that a finger would touch; null if another element covers it.
POINT = """
const element = arguments[0];
element.scrollIntoView({ block: "center" });
const { left, top, width, height } = (element.closest("label") ?? element).getBoundingClientRect();
const [x, y] = [left + width / 2, top + height / 2];
const there = document.elementFromPoint(x, y);
return there && (element.closest("label") ?? element).contains(there) ? [x, y] : null;
"""
# Notes whether the next touch reaches an element.
WATCH = """
const target = arguments[0].closest("label") ?? arguments[0];
window.isReached = false;
const note = ({ target: touched }) => { window.isReached = target.contains(touched); };
document.addEventListener("pointerdown", note, { once: true, capture: true });
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
    path = f"//*[{kinds}][normalize-space()={quoted} or text()[normalize-space()={quoted}]]"

    def is_tapped() -> bool:
        by = (By.CSS_SELECTOR, target) if is_selector else (By.XPATH, path)
        try:
            elements = [element for element in browser.driver.find_elements(*by) if element.is_displayed()]
            element, point = next((each, point) for each in elements if (point := _point(browser, each)))
            # An element that is still moving, for example in a list that is being loaded, would be missed.
            if point != _point(browser, element):
                return False
            browser.driver.execute_script(WATCH, element)
        except (StaleElementReferenceException, StopIteration):
            return False
        _touch(browser, "touchStart", point)
        _touch(browser, "touchEnd")
        # The element may have moved before the touch. A page that the touch has left no longer knows.
        return bool(browser.driver.execute_script("return window.isReached ?? true"))

    wait_until(is_tapped, f"{target} is tapped", seconds=30)


def _point(browser: Chromium, element: WebElement) -> tuple[float, float] | None:
    """Scroll to an element, and return the point where a finger would touch it."""
    point = browser.driver.execute_script(POINT, element)
    return (point[0], point[1]) if point else None


def swipe(browser: Chromium, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Move a finger from one point of the screen to another."""
    _touch(browser, "touchStart", start)
    for step in range(1, 9):
        part = step / 8
        _touch(browser, "touchMove", (start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part))
    _touch(browser, "touchEnd")
