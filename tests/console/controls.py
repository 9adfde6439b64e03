"""Activate every control of a page by mouse, touch and keyboard, without the effect that the control usually has."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from tests.chromium import Chromium
from tests.waiting import wait_until

# Lists the visible controls within the elements of a selector. Controls that need not be reached one by one are left
# out: radio buttons and tabs that arrow keys reach, and tags on phones, which are text. Also records each click that is
# made by a pointer or key, and prevents its effect.
WATCH = """
const [scope] = arguments;
const all = "a[href], button, summary, input, select, textarea, [tabindex]";
const typed = "input:not([type=checkbox]), select, textarea, pre, h1";
const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.matches(".sr")
  && getComputedStyle(one).pointerEvents !== "none";
const isReached = (one) => one.tabIndex >= 0 && (one.type !== "radio" || one.checked);
const reached = [...document.querySelectorAll(all)].filter((one) => isShown(one) && isReached(one));
window.watching?.abort();
window.watching = new AbortController();
Object.assign(window, {
  stops: reached.length,
  controls: reached.filter((one) => one.closest(scope)),
  activated: new Set(),
  isTyped: (one) => one.matches(typed),
});
const options = { capture: true, signal: window.watching.signal };
const note = (one) => window.activated.add(window.controls.indexOf(one));
addEventListener("click", (event) => {
  event.preventDefault();
  event.stopImmediatePropagation();
  const { target, isTrusted } = event;
  if (isTrusted) note(target.closest("label")?.control ?? target.closest(all));
}, options);
addEventListener("focusin", ({ target }) => window.isTyped(target) && note(target), options);
// The browser's list of options would cover other controls.
addEventListener("mousedown", (event) => event.target.matches("select") && event.preventDefault(), options);
return window.controls.map((one) => (one.ariaLabel || one.textContent.trim() || one.id || one.outerHTML).slice(0, 60));
"""
# Returns the middle of a control, where a pointer would hit it. Returns null if another element covers this point.
_FIND_POINT = """
const pointOf = (one) => {
  const seen = one.closest("label") ?? one;
  document.activeElement.blur(); // a field for tags covers others with its options while it has the focus
  seen.scrollIntoView({ block: "center" });
  const [{ left, top, width, height }] = seen.getClientRects();
  const [x, y] = [left + width / 2, top + height / 2];
  const there = document.elementFromPoint(x, y);
  return there && seen.contains(there) ? [x, y] : null;
};
"""
POINT = f"{_FIND_POINT} return pointOf(window.controls[arguments[0]]);"
COVERED = f"{_FIND_POINT} return window.controls.flatMap((one, index) => (pointOf(one) ? [] : [index]));"
FOCUSED = """
const { activeElement: one } = document;
const isBox = one.matches("input[type=checkbox], input[type=radio]");
const isComplete = window.controls.every((_, index) => window.activated.has(index));
return [window.controls.indexOf(one), isBox, window.isTyped(one), isComplete];
"""
# Moves the focus, so that the next Tab goes to the first control in a part of the page.
START = """
const part = document.querySelector(arguments[0]);
document.activeElement.blur();
scrollTo(0, 0);
if (part !== document.body) {
  part.tabIndex = -1;
  part.focus();
}
"""
SKIP = "Skip to content"
"""The link that is visible only while it has the focus."""
DATE_STOPS = 12
"""Allowed additional presses of Tab, because Tab also stops within the fields for dates."""
ROUNDS = 2
"""Number of times that a control is pressed if it gets no click. At the first press, another element may have covered
it, because the page had not been drawn again."""
KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " ")}


def _mouse(browser: Chromium, x: float, y: float) -> None:
    for kind in ("mousePressed", "mouseReleased"):
        arguments = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
        browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", arguments)


def _finger(browser: Chromium, x: float, y: float) -> None:
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def _key(browser: Chromium, name: str) -> None:
    code, text = KEYS[name]
    arguments = {"key": name, "code": name, "windowsVirtualKeyCode": code}
    browser.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "text": text, **arguments})
    if name == " ":  # Tab and Enter act when they are pressed
        browser.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", **arguments})


def _by_pointer(browser: Chromium, scope: str, press: Callable[[Chromium, float, float], None]) -> list[str]:
    labels: list[str] = browser.driver.execute_script(WATCH, scope)
    indexes = [index for index, label in enumerate(labels) if label != SKIP]
    for _ in range(ROUNDS):
        for index in indexes:
            point = browser.driver.execute_script(POINT, index)
            if point is not None:
                press(browser, *point)
        indexes = _not_activated(browser, indexes)
    return [labels[index] for index in indexes]


def covered(browser: Chromium, scope: str) -> list[str]:
    """Return the labels of the controls that another element covers, so that no pointer hits them."""
    labels: list[str] = browser.driver.execute_script(WATCH, scope)

    def missed() -> list[str]:
        names = [labels[index] for index in browser.driver.execute_script(COVERED)]
        return [name for name in names if name != SKIP]

    with suppress(AssertionError):  # a control may be covered until the page is drawn again
        wait_until(lambda: not missed(), "no control is covered", seconds=0.3)
    return missed()


def by_mouse(browser: Chromium, scope: str) -> list[str]:
    """Click every control, and return the labels of the controls that got no click."""
    return _by_pointer(browser, scope, _mouse)


def by_touch(browser: Chromium, scope: str) -> list[str]:
    """Tap every control, and return the labels of the controls that got no click."""
    return _by_pointer(browser, scope, _finger)


def by_keyboard(browser: Chromium, scope: str) -> list[str]:
    """Press every control that Tab reaches, and return the labels of the controls that got neither click nor focus."""
    labels: list[str] = browser.driver.execute_script(WATCH, scope)
    browser.driver.execute_script(START, scope)
    for _ in range(browser.driver.execute_script("return window.stops") + DATE_STOPS):
        _key(browser, "Tab")
        index, is_box, is_typed, is_complete = browser.driver.execute_script(FOCUSED)
        if is_complete:
            break
        if index >= 0 and not is_typed:
            _key(browser, " " if is_box else "Enter")
    return [labels[index] for index in _not_activated(browser, range(len(labels)))]


def release(browser: Chromium) -> None:
    """Let the controls have their effects again."""
    browser.driver.execute_script("window.watching.abort()")


def _not_activated(browser: Chromium, indexes: Sequence[int]) -> list[int]:
    def missing() -> set[int]:
        return {*indexes} - {*browser.driver.execute_script("return [...window.activated]")}

    with suppress(AssertionError):  # the click of a tap comes after the end of the touch
        wait_until(lambda: not missing(), "all controls are activated", seconds=0.3)
    return sorted(missing())
