"""Every page at five widths, light and dark, in forced colours and reduced motion; axe-core finds nothing."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.console.pages import DIALOGS, PAGES, open_page, press_opener, set_width
from tests.console.person import find, keys
from tests.dev import DevServer
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

Keep = Callable[[Chromium, str], None]
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
AXE = """
const [options, done] = arguments;
for (const one of document.querySelectorAll("main details")) one.open = true;
axe.run(document.querySelector("dialog[open]") ?? document, { resultTypes: ["violations"], ...options })
  .then((all) => done(all.violations.map((one) => [one.id, one.nodes.map((node) => node.html)])));
"""
RULES_OF_COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""Options for axe-core: the rules whose results depend on the theme."""


@pytest.fixture(scope="module", params=[False, True], ids=["light", "dark"])
def themed(request: pytest.FixtureRequest, browser: Chromium, axe: str) -> tuple[Chromium, str]:
    """A browser with axe-core on each page, and its theme."""
    theme = "dark" if request.param else "light"
    browser.driver.set_script_timeout(60)
    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": axe})
    _emulate(browser, **{"prefers-color-scheme": theme})
    return browser, theme


def _violations(browser: Chromium, **options: Any) -> list[Any]:
    """Return the violations that axe-core finds on the page."""
    violations: list[Any] = browser.driver.execute_async_script(AXE, options)
    return violations


def _emulate(browser: Chromium, **features: str) -> None:
    """Set these CSS media features for the pages. All other media features get their usual values."""
    arguments = {"features": [{"name": name, "value": value} for name, value in features.items()]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", arguments)


# These tests need the dark theme only at night: in forced colours, the system chooses the colours of both themes, and
# sizes do not depend on the theme.
BY_NIGHT_IN_DARK = pytest.mark.parametrize(
    "themed",
    [pytest.param(False, id="light"), pytest.param(True, id="dark", marks=pytest.mark.nightly)],
    indirect=True,
)


class OpenPage(NamedTuple):
    """A page that several tests look at."""

    browser: Chromium
    theme: str
    name: str


@pytest.fixture(scope="module", params=PAGES)
def opened(request: pytest.FixtureRequest, system: DevServer, site: str, themed: tuple[Chromium, str]) -> OpenPage:
    """Open each page of the console, one after another. The browser's reports about earlier pages are discarded."""
    browser, theme = themed
    browser.console()
    set_width(browser, 1280)
    name = open_page(browser, site, system, request.param)
    return OpenPage(browser, theme, name)


@BY_NIGHT_IN_DARK
def test_axe_reports_no_problem_and_no_element_is_wider_than_the_page(opened: OpenPage, picture: Keep) -> None:
    browser, theme, name = opened
    by_width: dict[int, Any] = {}
    overflow: dict[int, int] = {}
    for width in (1280, 1024, 768, 375, 320):
        set_width(browser, width)
        overflow[width] = browser.driver.execute_script(OVERFLOW)
        if width in (1280, 375):
            picture(browser, f"{name}-{width}-{theme}")
            by_width[width] = _violations(browser)
    assert by_width == {1280: [], 375: []}
    assert overflow == dict.fromkeys(overflow, 0)
    # Turn on reduced motion. Without it, the colours would change in a slow transition.
    _emulate(browser, **{"prefers-color-scheme": "dark", "prefers-reduced-motion": "reduce"})
    set_width(browser, 1280)
    assert _violations(browser, **RULES_OF_COLOURS) == [], "in the dark theme"
    _emulate(browser, **{"prefers-color-scheme": theme})
    assert [line for line in browser.console() if "favicon" not in line] == []


@BY_NIGHT_IN_DARK
@pytest.mark.parametrize("path", DIALOGS)
@pytest.mark.usefixtures("second_tag")
def test_axe_reports_no_problem_in_dialogs(
    system: DevServer, site: str, path: str, themed: tuple[Chromium, str]
) -> None:
    browser, _ = themed
    set_width(browser, 1280)
    open_page(browser, site, system, path)
    for openers in DIALOGS[path]:
        for opener in openers:
            press_opener(browser, opener)
        find(browser, "dialog[open]")
        assert _violations(browser) == [], openers
        keys(browser, Keys.ESCAPE)
        wait_until(lambda: not browser.driver.find_elements(By.CSS_SELECTOR, "dialog[open]"), "it is closed")


FORCED = {"forced-colors": "active", "prefers-reduced-motion": "reduce"}
CHECKED_BY_DAY = ("/", "/memories/FIRST")
"""Pages that axe-core checks in forced colours by day. By day, it checks the other pages only in the light theme."""
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


@BY_NIGHT_IN_DARK
def test_in_forced_colours_no_state_is_marked_by_colour_only_and_with_reduced_motion_nothing_moves(
    opened: OpenPage,
) -> None:
    browser, theme, _ = opened
    _emulate(browser, **{"prefers-color-scheme": theme}, **FORCED)
    set_width(browser, 1280)
    moving, colour_only = browser.driver.execute_script(MOVING), browser.driver.execute_script(COLOUR_ONLY)
    _emulate(browser, **{"prefers-color-scheme": theme})
    assert (moving, colour_only) == ([], [])


@BY_NIGHT_IN_DARK
@pytest.mark.parametrize(
    "opened",
    [pytest.param(path, marks=[] if path in CHECKED_BY_DAY else [pytest.mark.nightly]) for path in PAGES],
    indirect=True,
)
def test_axe_reports_no_problem_in_forced_colours(opened: OpenPage) -> None:
    browser, theme, _ = opened
    _emulate(browser, **{"prefers-color-scheme": theme}, **FORCED)
    set_width(browser, 1280)
    violations = _violations(browser)
    _emulate(browser, **{"prefers-color-scheme": theme})
    # Violations of the colour contrast do not count. The system chooses the colours of text and background, but
    # axe-core reads some of the page's own colours instead.
    assert [violation for violation in violations if violation[0] != "color-contrast"] == []


def test_forced_colours_and_reduced_motion_are_supported(
    system: DevServer, site: str, themed: tuple[Chromium, str]
) -> None:
    browser, theme = themed
    scheme = {"prefers-color-scheme": theme}
    _emulate(browser, **scheme, **FORCED)
    set_width(browser, 1280)
    open_page(browser, site, system, "/")
    browser.driver.find_element(By.CSS_SELECTOR, ".row .pick input").click()
    style = "return getComputedStyle(document.querySelector(arguments[0])).getPropertyValue(arguments[1]).trim()"
    assert browser.driver.execute_script(style, ".row.picked", "outline-style") == "solid", "not marked by colour only"
    assert browser.driver.execute_script(style, ":root", "--calm") == "0ms"
    _emulate(browser, **scheme)


SMALL = """
const inText = (one) => one.closest("p, li, dd, dt, h2, .read, .rows, table") && one.tagName === "A";
const seen = [...document.querySelectorAll("button, a, summary, select, input:not([type=file])")];
const height = (one) => (one.closest("label") ?? one).getBoundingClientRect().height;
return seen.filter((one) => one.checkVisibility() && !inText(one) && !one.matches(".skip, .sr, .tag *"))
  .map((one) => [one.outerHTML.slice(0, 80), height(one)]).filter(([, pixels]) => pixels < 24);
"""


@BY_NIGHT_IN_DARK
def test_each_control_is_large_enough_for_touch_on_a_phone(opened: OpenPage) -> None:
    browser = opened.browser
    set_width(browser, 375)
    browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    small = browser.driver.execute_script(SMALL)
    browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    assert small == []


@BY_NIGHT_IN_DARK
def test_on_a_phone_the_chart_of_the_overview_names_its_last_month(
    system: DevServer, site: str, themed: tuple[Chromium, str]
) -> None:
    browser, _ = themed
    set_width(browser, 375)
    open_page(browser, site, system, "/overview")
    month = browser.driver.execute_script("return new Date().toLocaleString(undefined, { month: 'short' })")
    assert find(browser, ".chart-x span:last-child").text == month


@BY_NIGHT_IN_DARK
def test_the_tab_bar_opens_each_page_by_touch(system: DevServer, site: str, themed: tuple[Chromium, str]) -> None:
    browser, _ = themed
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


@BY_NIGHT_IN_DARK
def test_no_page_is_wider_than_the_window_because_of_long_names(
    system: DevServer, site: str, themed: tuple[Chromium, str]
) -> None:
    browser, _ = themed
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
