"""Every control of every dialog, menu and bar: none is covered, Tab reaches all, and axe-core finds nothing.

`test_appearance.py` tests the controls of the pages.
"""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.controls import by_keyboard, covered, release
from tests.console.pages import DIALOG, MENU, OVERLAYS, open_page, press_opener, set_width, violations
from tests.console.person import find, keys
from tests.console.touch import phone
from tests.dev import DevServer
from tests.waiting import wait_until


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("path", OVERLAYS)
@pytest.mark.usefixtures("second_tag")
def test_no_control_is_covered_and_each_is_activated_by_keyboard(
    system: DevServer, site: str, fresh: Chromium, axe: str, path: str, theme: str
) -> None:
    fresh.emulate(**{"prefers-color-scheme": theme})
    set_width(fresh, 1280)
    open_page(fresh, site, system, path)
    fresh.driver.execute_script(axe)
    pressed: set[str] = set()
    for openers, scope in OVERLAYS[path]:
        for opener in openers:
            press_opener(fresh, opener)
        find(fresh, scope)
        assert scope != DIALOG or violations(fresh) == [], openers
        if scope not in pressed or theme == "dark":  # by day, only the first dialog of a page, its menu and its bar
            pressed.add(scope)
            assert covered(fresh, scope) == [], openers
            with phone(fresh):
                assert covered(fresh, scope) == [], ("on a phone", openers)
            assert by_keyboard(fresh, scope) == [], openers
            release(fresh)
        # A menu closes when Tab has left it.
        if scope in (DIALOG, MENU) and fresh.driver.find_elements(By.CSS_SELECTOR, scope):
            keys(fresh, Keys.ESCAPE)
            wait_until(lambda of=scope: not fresh.driver.find_elements(By.CSS_SELECTOR, of), "it is closed")  # type: ignore[misc]
