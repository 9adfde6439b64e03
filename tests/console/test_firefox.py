"""The console in Debian's Firefox: each page is shown, and a memory can be added and found."""

from collections.abc import Iterator

import pytest

from tests.firefox import ENTER, Firefox, firefox

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fox() -> Iterator[Firefox]:
    with firefox() as opened:
        yield opened


BY_DAY = {"/": "The oolong is on shelf 7.", "/overview": "Memories by month"}
BY_NIGHT = {
    "/?q=oolong": "Strong",
    "/tags": "tea",
    "/activity": "Stored",
    "/import": "Drop files or a folder here",
    "/add": "Add a memory",
}
"""Pages that are tested only at night, each with a text on it. By day, the tests of single actions open the results and
the page Add."""


@pytest.mark.parametrize(
    ("path", "text"), [*BY_DAY.items(), *(pytest.param(*page, marks=pytest.mark.nightly) for page in BY_NIGHT.items())]
)
def test_each_page_shows_its_main_content_and_reports_no_problem(fox: Firefox, site: str, path: str, text: str) -> None:
    fox.open(f"{site}{path}")
    fox.shows(text)
    assert fox.problems == []


def test_a_memory_is_added_and_found(fox: Firefox, site: str) -> None:
    fox.open(f"{site}/add")
    fox.type("textarea", "The zeppelin leaves the hangar at dawn.")
    fox.press("button", "Add")
    fox.shows("Stored")
    fox.open(f"{site}/")
    fox.type("#query", f"zeppelin hangar{ENTER}")
    fox.has("mark")
    fox.shows("leaves the hangar at dawn")


def test_a_hit_opens_its_memory(fox: Firefox, site: str) -> None:
    fox.open(f"{site}/?q=oolong+shelf")
    fox.has(".row-link")
    fox.run("document.querySelector('.row-link').click()")
    fox.shows("It helped")
