"""Every page at five widths, light and dark, in forced colours and reduced motion, by mouse, touch and keyboard.

axe-core finds nothing, no control is covered, and Tab reaches all controls.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.conftest import NOTES
from tests.console.controls import by_keyboard, by_mouse, by_touch, covered, release
from tests.console.pages import PAGES, open_page, set_width, violations
from tests.console.person import find
from tests.console.touch import phone
from tests.dev import DevServer
from tests.waiting import wait_until

Keep = Callable[[Chromium, str], None]
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


class OpenPage(NamedTuple):
    """A page that several tests look at."""

    browser: Chromium
    path: str

    @property
    def name(self) -> str:
        """The name of the page's pictures."""
        return self.path.strip("/?").replace("=", "-").replace("/", "-") or "memories"

    @property
    def controls(self) -> str:
        """The CSS selector of the controls to test. All pages have the same navigation, so one page tests it."""
        return "body" if self.path == "/" else "main"


def _pages(*by_day: str) -> list[Any]:
    """Return all pages as parameters: these pages by day and at night, all others only at night."""
    return [pytest.param(path, marks=[] if path in by_day else [pytest.mark.nightly]) for path in PAGES]


# By day, the results that are not close are left out, because their page is that of other results.
@pytest.fixture(scope="module", params=_pages(*(path for path in PAGES if path != "/?q=zzqqx")))
def opened(request: pytest.FixtureRequest, system: DevServer, site: str, browser: Chromium, axe: str) -> OpenPage:
    """Open each page of the console, one after another. The browser's reports about earlier pages are discarded."""
    browser.console()
    browser.emulate()
    set_width(browser, 1280)
    open_page(browser, site, system, request.param)
    browser.driver.execute_script(axe)
    return OpenPage(browser, request.param)


def by_day(*chosen: str) -> pytest.MarkDecorator:
    """Let a test look only at these pages by day, and at all pages at night."""
    return pytest.mark.parametrize("opened", _pages(*chosen), indirect=True)


def test_axe_reports_no_problem_and_no_element_is_wider_than_the_page(opened: OpenPage, picture: Keep) -> None:
    browser = opened.browser
    overflow: dict[int, int] = {}
    for width in (1280, 1024, 768, 375, 320):
        set_width(browser, width)
        overflow[width] = browser.driver.execute_script(OVERFLOW)
        if width in (1280, 375):
            picture(browser, f"{opened.name}-{width}-light")
    assert overflow == dict.fromkeys(overflow, 0)
    set_width(browser, 1280)
    assert violations(browser) == []
    assert [line for line in browser.console() if "favicon" not in line] == []


# With reduced motion. Without it, the colours would change in a slow transition.
DARK = {"prefers-color-scheme": "dark", "prefers-reduced-motion": "reduce"}
FORCED = {"forced-colors": "active", "prefers-reduced-motion": "reduce"}
VIEWS: dict[str, tuple[int, dict[str, str]]] = {
    "phone": (375, {}),
    "dark": (1280, DARK),
    "dark-phone": (375, DARK),
    "forced": (1280, FORCED),
}


@by_day("/", "/memories/FIRST")
@pytest.mark.parametrize(
    "view", [pytest.param(view, marks=[pytest.mark.nightly] if view == "dark-phone" else []) for view in VIEWS]
)
def test_axe_reports_no_problem_in_another_view(opened: OpenPage, picture: Keep, view: str) -> None:
    width, features = VIEWS[view]
    opened.browser.emulate(**features)
    set_width(opened.browser, width)
    picture(opened.browser, f"{opened.name}-{view}")
    # Violations of the colour contrast do not count in forced colours. The system chooses the colours of text and
    # background, but axe-core reads some of the page's own colours instead.
    ignored = "color-contrast" if features == FORCED else ""
    assert [violation for violation in violations(opened.browser) if violation[0] != ignored] == []


MOVING = """
const style = (one) => ["", "::before", "::after"].map((part) => getComputedStyle(one, part || null));
const isLong = (durations) => durations.split(",").some((duration) => parseFloat(duration) > 0);
const isAnimated = (css) => css.animationName !== "none" && isLong(css.animationDuration);
const moves = (css) => isLong(css.transitionDuration) || isAnimated(css);
return [...document.querySelectorAll("body *")].filter((one) => style(one).some(moves)).map((one) => one.outerHTML);
"""
# Returns the elements whose state is marked by colour only. In forced colours the page's background colours are not
# shown, so a state must also be marked by a line, a check mark or a text.
COLOUR_ONLY = """
const LINES = ["outlineStyle", "borderTopStyle", "borderBottomStyle", "textDecorationLine"];
const hasLine = (css) => LINES.some((name) => css[name] !== "none");
const isMarked = (one) => hasLine(getComputedStyle(one)) || hasLine(getComputedStyle(one, "::after"));
const states = "[aria-current=page], [aria-current=true], .picked, .row.at, .hit.at";
return [...document.querySelectorAll(states)].filter((one) => one.checkVisibility() && !isMarked(one))
  .map((one) => one.outerHTML);
"""


PICK = "document.querySelector('.row .pick input')?.click()"


def test_in_forced_colours_no_state_is_marked_by_colour_only_and_with_reduced_motion_nothing_moves(
    opened: OpenPage,
) -> None:
    browser = opened.browser
    browser.emulate(**FORCED)
    set_width(browser, 1280)
    browser.driver.execute_script(PICK)
    assert browser.driver.execute_script(MOVING) == []
    assert browser.driver.execute_script(COLOUR_ONLY) == []
    browser.driver.execute_script(PICK)
    browser.emulate()


SMALL = """
const inText = (one) => one.closest("p, li, dd, dt, h2, .read, .rows, table") && one.tagName === "A";
const seen = [...document.querySelectorAll("button, a, summary, select, input:not([type=file])")];
const height = (one) => (one.closest("label") ?? one).getBoundingClientRect().height;
return seen.filter((one) => one.checkVisibility() && !inText(one) && !one.matches(".skip, .sr, .tag *"))
  .map((one) => [one.outerHTML.slice(0, 80), height(one)]).filter(([, pixels]) => pixels < 24);
"""


def test_each_control_is_large_enough_for_touch_on_a_phone(opened: OpenPage) -> None:
    browser = opened.browser
    set_width(browser, 375)
    browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    small = browser.driver.execute_script(SMALL)
    browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    assert small == []


@pytest.mark.parametrize("opened", ["/overview"], indirect=True)
def test_on_a_phone_the_chart_of_the_overview_names_its_last_month(opened: OpenPage) -> None:
    set_width(opened.browser, 375)
    month = opened.browser.driver.execute_script("return new Date().toLocaleString(undefined, { month: 'short' })")
    assert find(opened.browser, ".chart-x span:last-child").text == month


@pytest.mark.parametrize(
    ("opened", "links", "word"),
    [("/", ".row-link", "Note {}"), ("/activity", "tbody a.btn", "Open")],
    indirect=["opened"],
)
def test_a_screen_reader_says_which_memory_a_link_opens(opened: OpenPage, links: str, word: str) -> None:
    names = [link.accessible_name for link in opened.browser.driver.find_elements(By.CSS_SELECTOR, links)]
    assert {*names} == {f"{word.format(number)} {text}" for number, text in enumerate(NOTES, 1)}


def test_no_control_is_covered(opened: OpenPage) -> None:
    set_width(opened.browser, 1280)
    assert covered(opened.browser, opened.controls) == []
    with phone(opened.browser):
        assert covered(opened.browser, opened.controls) == [], "on a phone"
    release(opened.browser)


@by_day("/", "/memories/FIRST", "/memories/FIRST/edit", "/add", "/activity", "/forget")
def test_each_control_is_activated_by_keyboard(opened: OpenPage) -> None:
    set_width(opened.browser, 1280)
    assert by_keyboard(opened.browser, opened.controls) == []
    release(opened.browser)


@by_day("/?tags=nothing")
def test_each_control_is_activated_by_mouse_and_touch(opened: OpenPage) -> None:
    set_width(opened.browser, 1280)
    assert by_mouse(opened.browser, "body") == []
    with phone(opened.browser):
        assert by_touch(opened.browser, "body") == []
    release(opened.browser)


def test_the_tab_bar_opens_each_page_by_touch(system: DevServer, site: str, browser: Chromium) -> None:
    set_width(browser, 375)
    open_page(browser, site, system, "/")
    for name, heading in (("Tags", "Tags"), ("Activity", "Activity")):
        browser.driver.find_element(By.XPATH, f"//nav[@class='tabbar']/a[normalize-space()='{name}']").click()
        wait_until(lambda name=heading: _heading(browser) == name, f"{name} is shown")  # type: ignore[misc]
    for name in ("Overview", "Import & export"):
        browser.driver.find_element(By.CSS_SELECTOR, ".tabbar summary").click()
        browser.driver.find_element(By.XPATH, f"//nav[@class='tabbar']//div/a[normalize-space()='{name}']").click()
        wait_until(lambda name=name: _heading(browser) == name, f"{name} is shown")  # type: ignore[misc]
    browser.driver.find_element(By.CSS_SELECTOR, ".tabbar .add").click()
    wait_until(lambda: _heading(browser) == "Add a memory", "the form is shown")


def _heading(browser: Chromium) -> str:
    heading: str = browser.driver.execute_script("return document.querySelector('h1').textContent.trim()")
    return heading


def test_no_page_is_wider_than_the_window_because_of_long_names(
    system: DevServer, site: str, browser: Chromium
) -> None:
    session, *tags = "s" * 200, "t" * 90, f"t-{'t' * 89}"
    memory_id = system.outcome(system.ingest("Long names.", tags=tags, session=session))["memory_id"]
    overflow = {}
    for path in (f"/?session={session}", f"/?tags={tags[0]}", "/tags"):
        open_page(browser, site, system, path)
        browser.driver.execute_script("document.querySelector('.where > :last-child').textContent = 'n'.repeat(64)")
        for width in (1280, 800, 320):
            set_width(browser, width)
            overflow[path[:6], width] = browser.driver.execute_script(OVERFLOW)
    system.call("delete_memory", {"id": memory_id})
    assert overflow == dict.fromkeys(overflow, 0)
