"""Long lists are rendered in slices: a frame adds a bounded number of rows, unchanged rows stay."""

import pytest
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.person import click, keys, shows
from tests.console.server import ConsoleServer
from tests.waiting import wait_until

DAY = "2024-06-01"
ROWS = 130
SLICE = 50
"""The value of the constant `SLICE` in slices.js: the number of rows that are rendered at a time."""
# Counts the rows that are added in each frame, and the changed elements within rows. The observer reports changes at
# the end of the browser's task that made them.
WATCH = """
window.watching?.disconnect();
Object.assign(window, { frame: 0, added: {}, changed: 0 });
const count = () => requestAnimationFrame(() => { window.frame += 1; count(); });
count();
window.watching = new MutationObserver((changes) => {
  for (const { target, addedNodes, type } of changes) {
    if (type === "attributes" || target.closest?.(".row")) window.changed += Boolean(target.closest?.(".row"));
    for (const node of addedNodes) {
      const rows = (node.matches?.(".row") ? 1 : 0) + (node.querySelectorAll?.(".row").length ?? 0);
      window.added[window.frame] = (window.added[window.frame] ?? 0) + rows;
    }
  }
});
window.watching.observe(document.body, {
  childList: true, subtree: true, attributes: true, attributeFilter: ["class"],
});
"""


@pytest.fixture(scope="module")
def many(system: ConsoleServer, site: str, browser: Chromium) -> Chromium:
    """A list with more rows than a slice, loaded page by page."""
    system.remember_all(
        *({"content": f"Row {n}.", "timestamp": f"{DAY}T{n // 60:02}:{n % 60:02}:00Z"} for n in range(ROWS))
    )
    browser.open(f"{site}/?after={DAY}&before={DAY}")
    for row_count in range(50, ROWS, 50):
        _wait_for(browser, row_count)
        click(browser, ".list-end button")
    _wait_for(browser, ROWS)
    return browser


def _wait_for(browser: Chromium, rows: int) -> None:
    wait_until(lambda: len(browser.driver.find_elements(By.CSS_SELECTOR, ".row")) == rows, f"{rows} rows are shown")


def test_a_restored_list_adds_a_bounded_number_of_rows_per_frame(many: Chromium) -> None:
    many.driver.execute_script("document.querySelector('.row-link').click()")
    shows(many, f"Row {ROWS - 1}.")
    many.driver.execute_script(WATCH)
    many.driver.back()
    _wait_for(many, ROWS)
    added = [rows for rows in many.driver.execute_script("return Object.values(window.added)") if rows]
    assert sum(added) == ROWS
    assert max(added) <= SLICE


def test_moving_the_selection_in_a_list_renders_only_two_rows_again(many: Chromium) -> None:
    keys(many, "j")
    many.driver.execute_script(WATCH)
    keys(many, "j")
    wait_until(lambda: many.driver.execute_script("return window.changed") > 0, "the mark of the row has moved")
    assert many.driver.execute_script("return window.changed") == 2


FAR = """
const rows = [...document.querySelectorAll(".row")];
return [rows[0], rows.at(-1)].map((row) => row.querySelector("a").checkVisibility({ contentVisibilityAuto: true }));
"""
HEIGHT = "return document.documentElement.scrollHeight"


def test_rows_outside_the_window_are_skipped_with_their_height_and_found_by_the_browser_s_search(
    many: Chromium,
) -> None:
    many.driver.execute_script("document.activeElement.blur(); scrollTo(0, 0)")  # a row with the focus is not skipped
    wait_until(lambda: many.driver.execute_script(FAR) == [True, False], "the last row is skipped")
    height = many.driver.execute_script(HEIGHT)
    assert many.driver.execute_script("return window.find('Row 3.')"), "find in page finds a skipped row"
    many.driver.execute_script("scrollTo(0, document.documentElement.scrollHeight)")
    wait_until(
        lambda: many.driver.execute_script(FAR) == [False, True], "the last row is laid out, the first is skipped"
    )
    assert many.driver.execute_script(HEIGHT) == height
    lists = "return document.querySelectorAll('main [role=list]').length"
    assert many.driver.execute_script(lists) == 1, "a screen reader counts all rows of a day in one list"
