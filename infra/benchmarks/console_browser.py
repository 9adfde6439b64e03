"""Measure the console in Chromium: a first visit, the time from a key press to the results, and a list of many rows.

The times are measured in the page: from the event of a key press to the frame that shows the results, the durations of
long tasks (https://w3c.github.io/longtasks/), and the durations of frames.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.chromium import Chromium, chromium

KEY_SECONDS = 0.12
"""Seconds between two key presses. This is a typing speed of 100 words a minute."""
LETTERS = 4
"""Of the last word of a typed text, only this number of letters is typed."""
ROWS = 2_500
TYPING = """
const field = document.querySelector("#query");
window.times = [];
let at = 0;
field.form.addEventListener("input", () => { at = performance.now(); }, { capture: true });
const look = () => {
  const list = document.querySelector(".typed");
  if (!list || list.dataset.query !== document.querySelector("#query").value || list === window.seen?.list
    && list.dataset.query === window.seen.query) return;
  window.seen = { list, query: list.dataset.query };
  const start = at;
  requestAnimationFrame(() => setTimeout(() => window.times.push([window.seen.query, performance.now() - start])));
};
new MutationObserver(look).observe(document.querySelector("main"), {
  childList: true, subtree: true, attributes: true, attributeFilter: ["data-query"],
});
"""
WATCH = """
window.long = [];
window.frames = [];
new PerformanceObserver((list) => window.long.push(...list.getEntries().map((entry) => entry.duration)))
  .observe({ type: "longtask" });
let before = performance.now();
const frame = (now) => {
  window.frames.push(now - before);
  before = now;
  requestAnimationFrame(frame);
};
requestAnimationFrame(frame);
"""
SCROLL = """
const done = arguments[0];
window.frames = [];
const step = () => {
  scrollBy(0, 900);
  if (scrollY + innerHeight < document.documentElement.scrollHeight - 1) requestAnimationFrame(step);
  else done(Math.max(...window.frames));
};
step();
"""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Durations of the browser's long tasks (tasks of over 50 ms), in milliseconds, by what happens to the list.

    The rows of the list are loaded, restored after a return to the list, picked (a checkbox is set) or scrolled.
    `frame` is the longest time between two frames while the rows are scrolled.
    """

    loaded: Sequence[float]
    restored: Sequence[float]
    picked: Sequence[float]
    scrolled: Sequence[float]
    frame: float


def visit(port: int, question: str) -> float:
    """Return the milliseconds from a new browser's first request to the first search result on the page."""
    with chromium() as browser:
        browser.open(f"http://127.0.0.1:{port}/")
        field = WebDriverWait(browser.driver, 30).until(lambda driver: driver.find_element(By.ID, "query"))
        ready = browser.driver.execute_script("return performance.now()")
        browser.driver.execute_script(
            "const look = () => { if (document.querySelector('.sure')) window.hit ??= performance.now(); };"
            "new MutationObserver(look).observe(document.body, { childList: true, subtree: true });"
            "window.asked = performance.now(); arguments[0].value = arguments[1];"
            "arguments[0].dispatchEvent(new Event('input', { bubbles: true }));",
            field, question,
        )  # fmt: skip
        field.send_keys(Keys.ENTER)
        took = WebDriverWait(browser.driver, 30).until(
            lambda driver: driver.execute_script("return window.hit && window.hit - window.asked")
        )
        return float(ready) + float(took)


def typing(port: int, questions: Sequence[str]) -> list[float]:
    """Type texts into the search field. Return the milliseconds from each text's last key press to its results.

    Each text is the first two words of a question and the beginning of the third. It is typed into a new page, because
    a page searches less often after a hundred searches in a minute.
    """
    times = []
    with chromium() as browser:
        for question in questions:
            browser.open(f"http://127.0.0.1:{port}/")
            WebDriverWait(browser.driver, 30).until(lambda driver: driver.find_elements(By.CSS_SELECTOR, ".row"))
            browser.driver.execute_script(TYPING)
            first, second, third = question.split()[:3]
            text = f"{first} {second} {third[:LETTERS]}"
            times.append(_type(browser, text))
    return times


def _type(browser: Chromium, text: str) -> float:
    browser.driver.find_element(By.ID, "query").click()
    actions = ActionChains(browser.driver, duration=0)
    for key in text:
        actions.send_keys(key).pause(KEY_SECONDS)
    actions.perform()
    took = WebDriverWait(browser.driver, 30, 0.05).until(
        lambda driver: driver.execute_script("return window.times.find(([query]) => query === arguments[0])", text)
    )
    return float(took[1])


def rows(port: int) -> Rows:
    """Measure a list of many rows: load the rows, scroll, leave the list, return to it and pick a row."""
    with chromium() as browser:
        browser.driver.set_window_size(1280, 900)
        browser.driver.set_script_timeout(60)
        browser.open(f"http://127.0.0.1:{port}/")
        browser.driver.execute_script(WATCH)
        for row_count in range(50, ROWS, 50):
            _wait_for_rows(browser, row_count)
            browser.driver.execute_script("document.querySelector('.list-end button').click()")
        _wait_for_rows(browser, ROWS)
        loaded = _new_long_tasks(browser)
        frame = browser.driver.execute_async_script(SCROLL)
        scrolled = _new_long_tasks(browser)
        browser.driver.execute_script("[...document.querySelectorAll('.row-link')].at(-1).click()")
        WebDriverWait(browser.driver, 30).until(lambda driver: driver.find_elements(By.CSS_SELECTOR, "article, .sheet"))
        _new_long_tasks(browser)
        browser.driver.back()
        _wait_for_rows(browser, ROWS)
        restored = _new_long_tasks(browser)
        browser.driver.execute_script("document.querySelector('.row .pick input').click()")
        return Rows(
            loaded=loaded, restored=restored, picked=_new_long_tasks(browser), scrolled=scrolled, frame=float(frame)
        )  # fmt: skip


def _wait_for_rows(browser: Chromium, count: int) -> None:
    script = "return document.querySelectorAll('.row').length"
    WebDriverWait(browser.driver, 30, 0.02).until(lambda driver: driver.execute_script(script) >= count)


def _new_long_tasks(browser: Chromium) -> list[float]:
    """Return the duration in milliseconds of each long task since the last call of this function.

    First wait half a second, so that the browser has also reported the long tasks of the page's last change.
    """
    script = "setTimeout(() => { arguments[0](window.long); window.long = []; }, 500)"
    long: list[Any] = browser.driver.execute_async_script(script)
    return [float(duration) for duration in long]


def report(visits: Sequence[float], typed: Sequence[float], many: Rows) -> str:
    """Return the figures as lines of text."""
    long = {"loaded": many.loaded, "restored": many.restored, "one picked": many.picked, "scrolled": many.scrolled}
    p95 = statistics.quantiles(typed, n=20)[-1]
    return "\n".join((
        f"  first visit to first hit, each: {', '.join(f'{milliseconds:.0f}' for milliseconds in visits)}",
        f"  last key to results: median {statistics.median(typed):.0f}, p95 {p95:.0f}",
        *(f"  {ROWS:,} rows {name}, long tasks: {list(map(round, times)) or 'none'}" for name, times in long.items()),
        f"  {ROWS:,} rows scrolled, longest frame: {many.frame:.0f}",
    ))  # fmt: skip
