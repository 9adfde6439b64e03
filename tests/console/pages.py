"""The console's pages and dialogs, and how a test opens them."""

from typing import Any

from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.person import keys
from tests.dev import DevServer
from tests.waiting import wait_until

PAGES = [
    "/audit", "/", "/?q=oolong", "/?q=zzqqx", "/?tags=nothing", "/memories/FIRST", "/memories/FIRST/edit", "/add",
    "/tags", "/activity", "/overview", "/import", "/forget", "/connect",
]  # fmt: skip
"""Paths of all pages. FIRST is the id of the oldest memory. The audit trail is the first page, because it has only few
events at that time."""
DIALOG, MENU = "dialog[open]", ".menu[open] .menu-list"
IS_COMPLETE = "return Boolean(document.querySelector('main h1')) && !document.querySelector('.loading')"
OVERLAYS = {
    "/": [
        (["?"], DIALOG),
        *(([f"//button[contains(., '{name}')]"], DIALOG) for name in ("Any time", "Any tag", "More filters")),
        (["//summary[@aria-label='Account and appearance']"], MENU),
        (["//main//li//input[@type='checkbox']"], ".bulk"),
        (["//div[@class='bulk']/button[normalize-space()='Tag']"], DIALOG),
    ],
    "/memories/FIRST": [(["//summary[@aria-label='More']"], MENU), (["r"], DIALOG)],
    "/tags": [
        (["//button[@aria-label='Rename tea']"], DIALOG),
        (["//button[@aria-label='Delete the tag tea']"], DIALOG),
        (["//input[@aria-label='Pick tea']", "//input[@aria-label='Pick cup']"], ".bulk"),
        (["//button[contains(., 'Merge')]"], DIALOG),
    ],
    "/forget": [
        (
            [
                "//form//input[@type='checkbox']",
                "//button[normalize-space()='Show what would be forgotten']",
                "//section//button[contains(@class, 'danger')]",
            ],
            DIALOG,
        )
    ],
}
"""The dialogs, menus and bars of each page: a list of keys to press and of XPaths of elements to click, and the CSS
selector of what then opens. They are opened one after another, and dialogs and menus are closed in between."""
# Checks the open dialog, or else the page with all that is folded on it.
AXE = """
const [done] = arguments;
const folded = [...document.querySelectorAll("main details:not([open])")];
for (const one of folded) one.open = true;
axe.run(document.querySelector("dialog[open]") ?? document, { resultTypes: ["violations"] }).then((all) => {
  for (const one of folded) one.open = false;
  done(all.violations.map((one) => [one.id, one.nodes.map((node) => node.html)]));
});
"""


def set_width(browser: Chromium, width: int) -> None:
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 768}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def open_page(browser: Chromium, site: str, system: DevServer, path: str) -> None:
    """Open a page, and wait until it is complete."""
    opened = path
    if "FIRST" in path:
        opened = path.replace("FIRST", system.call("list_memories", {"order": "oldest"})["memories"][0]["id"])
    browser.open(f"{site}{opened}")
    wait_until(lambda: bool(browser.driver.execute_script(IS_COMPLETE)), "the page is complete")


def press_opener(browser: Chromium, opener: str) -> None:
    """Press the key `opener` or, if it is an XPath, click its element."""
    if len(opener) == 1:
        keys(browser, opener)
        return
    wait_until(lambda: bool(browser.driver.find_elements(By.XPATH, opener)), f"{opener} is there")
    browser.driver.find_element(By.XPATH, opener).click()


def violations(browser: Chromium) -> list[Any]:
    """Return the violations that axe-core finds on the page or in its open dialog."""
    found: list[Any] = browser.driver.execute_async_script(AXE)
    return found
