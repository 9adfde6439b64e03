"""Lists have no gaps after many new entries, for example after a night in which the tab was hidden."""

from datetime import UTC, datetime, timedelta

import pytest
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.person import find
from tests.dev import DevServer
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

PAGE = 50
MORE = PAGE + 10
COME_BACK = 'document.dispatchEvent(new Event("visibilitychange"))'


def _store(system: DevServer, night: str, count: int) -> None:
    now = datetime.now(UTC) + timedelta(days=1)
    memories = [
        {"content": f"Event {n} of night {night}.", "timestamp": (now + timedelta(minutes=n)).isoformat()}
        for n in range(count)
    ]
    system.outcomes(system.call("ingest_memories", {"memories": memories})["request_ids"])


@pytest.mark.parametrize(("path", "selector"), [("/", ".row .fit"), ("/activity", ".table .fit")])
def test_more_new_entries_than_a_page_are_all_in_the_list(
    system: DevServer, site: str, browser: Chromium, path: str, selector: str
) -> None:
    browser.open(f"{site}{path}")
    find(browser, selector)
    _store(system, path, MORE)
    browser.driver.execute_script(COME_BACK)
    listed: list[str] = []

    def is_new() -> bool:
        script = f"return [...document.querySelectorAll({selector!r})].map((one) => one.textContent)"
        listed[:] = browser.driver.execute_script(script)
        return f"night {path}." in listed[0]

    wait_until(is_new, "the new entries are listed")
    more = browser.driver.find_elements(By.XPATH, "//button[.='Load more']")
    assert [f"night {path}." in text for text in listed] == [True] * PAGE, "only the newest page is shown"
    assert more, "the other new entries are on the next page"
