"""The console in Debian's Firefox: each page is shown, and a memory can be added and found."""

from collections.abc import Iterator

import pytest

from tests.firefox import ENTER, Firefox, firefox

pytestmark = pytest.mark.nightly  # by day, the console is tested in Chromium


@pytest.fixture(scope="module")
def fox() -> Iterator[Firefox]:
    with firefox() as opened:
        yield opened


PAGES = {
    "/": "The oolong is on shelf 7.",
    "/?q=oolong": "Strong",
    "/tags": "tea",
    "/activity": "Stored",
    "/overview": "Memories by month",
    "/import": "Drop files or a folder here",
    "/add": "Add a memory",
}
"""Pages, each with a text on it."""


@pytest.mark.parametrize(("path", "text"), PAGES.items())
def test_each_page_shows_its_main_content_and_reports_no_problem(fox: Firefox, site: str, path: str, text: str) -> None:
    fox.open(f"{site}{path}")
    fox.shows(text)
    assert fox.problems == []


def test_a_memory_is_added_found_and_opened(fox: Firefox, site: str) -> None:
    fox.open(f"{site}/add")
    fox.type("textarea", "The zeppelin leaves the hangar at dawn.")
    fox.press("button", "Add")
    fox.shows("Stored")
    fox.open(f"{site}/")
    fox.type("#query", f"zeppelin hangar{ENTER}")
    fox.has("mark")
    fox.shows("leaves the hangar at dawn")
    fox.run("document.querySelector('.row-link').click()")
    fox.shows("It helped")
    assert fox.problems == []
