"""Long tags and dates do not leave their places on the page, and printed pages have no controls."""

import pytest
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.pages import set_width
from tests.console.person import find
from tests.dev import DevServer

LONG = "a" * 54
GAPS = """
return [...document.querySelectorAll(".hit")].map((hit) => {
  const [text, date] = [".passage .fit", ".row-date"].map((selector) => {
    const range = document.createRange();
    range.selectNodeContents(hit.querySelector(selector));
    return range.getBoundingClientRect();
  });
  const block = hit.querySelector(":scope > div").getBoundingClientRect();
  return Math.min(date.left - block.right, date.left - text.right);
});
"""


def test_a_long_tag_leaves_the_rows_of_other_tags_as_they_are(system: DevServer, site: str, browser: Chromium) -> None:
    system.outcome(system.ingest("A long tag.", tags=[LONG]))
    browser.open(f"{site}/tags")
    find(browser, f"[aria-label='Rename {LONG}']")
    heights = browser.driver.execute_script(
        "return [...document.querySelectorAll('.tagtable tbody tr')].map((row) => row.getBoundingClientRect().height)"
    )
    assert max(heights) < 60, heights


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.nightly), 375])
def test_a_date_with_a_year_has_a_gap_to_the_text(system: DevServer, site: str, fresh: Chromium, width: int) -> None:
    words = "oolong words of the second book " * 12
    system.outcome(system.ingest(f"TITLE: Left\n{words}", timestamp="2022-02-13T12:00:00Z"))
    system.outcome(system.ingest("TITLE: Right\n" + "شاي oolong في الرف السابع من الكتاب " * 12))
    fresh.driver.execute_cdp_cmd("Emulation.setLocaleOverride", {"locale": "de-DE"})
    set_width(fresh, width)
    fresh.open(f"{site}/?q=oolong")
    find(fresh, ".hit .passage")
    assert min(fresh.driver.execute_script(GAPS)) >= 8


def test_a_printed_memory_has_whole_lines_of_code_and_no_controls(
    system: DevServer, site: str, fresh: Chromium
) -> None:
    id_ = system.remember("Code:\n\n```\n" + "x" * 400 + "\n```\n")
    fresh.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    fresh.open(f"{site}/memories/{id_}")
    find(fresh, ".read pre")
    assert fresh.driver.execute_script(
        "const pre = document.querySelector('.read pre'); return pre.scrollWidth <= pre.clientWidth"
    )
    assert not [button.text for button in fresh.driver.find_elements(By.CSS_SELECTOR, ".btn") if button.is_displayed()]
