"""The console's pages and dialogs, and how a test opens them."""

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
IS_COMPLETE = "return Boolean(document.querySelector('main h1')) && !document.querySelector('.loading')"
DIALOGS = {
    "/": [
        ["?"],
        *([f"//button[contains(., '{name}')]"] for name in ("Any time", "Any tag", "Any session", "More filters")),
        ["//main//li//input[@type='checkbox']", "//div[@class='bulk']/button[normalize-space()='Tag']"],
    ],
    "/memories/FIRST": [["r"]],
    "/tags": [
        ["//button[@aria-label='Rename tea']"],
        ["//button[@aria-label='Delete the tag tea']"],
        ["//input[@aria-label='Pick tea']", "//input[@aria-label='Pick cup']", "//button[contains(., 'Merge')]"],
    ],
    "/forget": [
        [
            "//form//input[@type='checkbox']",
            "//button[normalize-space()='Show what would be forgotten']",
            "//section//button[contains(@class, 'danger')]",
        ]
    ],
}
"""The dialogs of each page. Each dialog is opened by a list of keys to press and of XPaths of elements to click."""


def set_width(browser: Chromium, width: int) -> None:
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 768}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def open_page(browser: Chromium, site: str, system: DevServer, path: str) -> str:
    """Open a page, wait until it is complete, and return its name."""
    opened = path
    if "FIRST" in path:
        opened = path.replace("FIRST", system.call("list_memories", {"order": "oldest"})["memories"][0]["id"])
    browser.open(f"{site}{opened}")
    wait_until(lambda: bool(browser.driver.execute_script(IS_COMPLETE)), "the page is complete")
    return path.strip("/?").replace("=", "-").replace("/", "-") or "memories"


def press_opener(browser: Chromium, opener: str) -> None:
    """Press the key `opener` or, if it is an XPath, click its element."""
    if len(opener) == 1:
        keys(browser, opener)
        return
    wait_until(lambda: bool(browser.driver.find_elements(By.XPATH, opener)), f"{opener} is there")
    browser.driver.find_element(By.XPATH, opener).click()
