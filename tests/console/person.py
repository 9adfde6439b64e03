"""A person's view of a console page, and actions on it."""

import re
from collections.abc import Callable

from selenium.common.exceptions import ElementNotInteractableException, StaleElementReferenceException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.chromium import Chromium
from tests.console.tab import PLAIN_TEXT
from tests.waiting import wait_until

SPECIAL_KEY = re.compile("[\ue000-\uf8ff]")
"""Keys such as Enter, which WebDriver represents by characters for private use."""
# Drops a file on the page, as from a file manager. Selenium cannot do this:
# https://github.com/SeleniumHQ/selenium/issues/1421
DROP = """
const [place, name, text] = arguments;
const held = new DataTransfer();
held.items.add(new File([text], name));
place.dispatchEvent(new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true }));
"""
# Returns the visible elements of a CSS selector or an XPath.
SHOWN = """
const isShown = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true });
const every = (path) => {
  if (!path.startsWith("//")) return [...document.querySelectorAll(path)];
  const found = document.evaluate(path, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
  return Array.from({ length: found.snapshotLength }, (_, place) => found.snapshotItem(place));
};
const shown = (path) => every(path).filter(isShown);
"""
FIND = f"{SHOWN} return shown(arguments[0]).slice(0, 1);"
# Returns the first visible element. Returns null while the element moves, for example because the page shows more
# content above it.
FIND_AT_REST = f"""
{SHOWN}
const [path, done] = arguments;
const [element] = shown(path);
const place = () => JSON.stringify(element?.getBoundingClientRect());
const before = place();
requestAnimationFrame(() => requestAnimationFrame(() => done(place() === before ? element : null)));
"""
READ = f"{SHOWN} {PLAIN_TEXT} return plainText(shown(arguments[0])[0]);"
TITLES = """
const read = (row) => row.querySelector(".line b, .hit-title") ?? row.querySelector(".fit");
return [...document.querySelectorAll("main [data-id]")].map((row) => read(row).textContent.trim());
"""


def shows(browser: Chromium, text: str) -> None:
    wait_until(lambda: browser.shows(text), f"the page says {text!r}", seconds=60)


def _settled(look: Callable[[], bool]) -> bool:
    """Return the result of `look`, or false if the page has changed in the meantime."""
    try:
        return look()
    except (StaleElementReferenceException, ElementNotInteractableException):
        return False


def find(browser: Chromium, path: str) -> WebElement:
    """Wait for the first visible element of a CSS selector or an XPath, and return it."""
    elements: list[WebElement] = []

    def is_there() -> bool:
        elements[:] = browser.driver.execute_script(FIND, path)
        return bool(elements)

    wait_until(is_there, f"{path} is there", seconds=30)
    return elements[0]


def click(browser: Chromium, path: str) -> None:
    """Click the first visible element of a CSS selector or an XPath, also if the page replaces it meanwhile."""

    def is_clicked() -> bool:
        element: WebElement | None = browser.driver.execute_async_script(FIND_AT_REST, path)
        if element is not None:
            element.click()
        return element is not None

    wait_until(lambda: _settled(is_clicked), f"{path} is clicked", seconds=30)


def reads(browser: Chromium, selector: str, text: str) -> None:
    """Wait until the first visible element of a CSS selector has a text."""
    wait_until(lambda: text in browser.driver.execute_script(READ, selector), f"{selector} reads {text!r}", seconds=30)


def type_into(browser: Chromium, id_: str, text: str) -> None:
    """Replace the text of a field.

    Only the last letter is typed by a key press. The letters before it are inserted in one step, to save time.
    """
    field = find(browser, f"#{id_}")
    browser.driver.execute_script("arguments[0].focus(); arguments[0].select()", field)
    letters = len(SPECIAL_KEY.split(text, maxsplit=1)[0])
    if letters > 1:
        browser.driver.execute_cdp_cmd("Input.insertText", {"text": text[: letters - 1]})
    field.send_keys(text[max(letters - 1, 0) :])


def press(browser: Chromium, label: str, kind: str = "button") -> None:
    """Press the visible button with this text."""
    click(browser, f"//{kind}[normalize-space()='{label}']")


def wait_until_stored(browser: Chromium) -> None:
    """Wait until the page Add says that a memory is stored."""
    wait_until(lambda: bool(browser.driver.find_elements(By.CSS_SELECTOR, ".side .state.stored")), "it is stored")


def come_back(browser: Chromium) -> None:
    """Let the page look for changes, as it does when its tab becomes visible."""
    browser.driver.execute_script('document.dispatchEvent(new Event("visibilitychange"))')


def follow(browser: Chromium, label: str) -> None:
    """Follow the visible link with this text."""
    press(browser, label, "a")


def open_page(browser: Chromium, name: str) -> None:
    """Choose a page in the navigation."""
    browser.driver.find_element(By.XPATH, f"//nav[@class='nav']/a[starts-with(normalize-space(), '{name}')]").click()


def keys(browser: Chromium, *pressed: str) -> None:
    """Press keys at the element with the focus."""
    for key in pressed:
        ActionChains(browser.driver).send_keys(key).perform()


def titles(browser: Chromium) -> list[str]:
    """Return the titles of the memories in the list of the console.

    A single script reads all of them, because the list may be drawn again between two commands.
    """
    named: list[str] = browser.driver.execute_script(TITLES)
    return named


def wait_for_titles(browser: Chromium, *expected: str) -> None:
    """Wait until the list has exactly the memories with these titles."""
    wait_until(lambda: titles(browser) == [*expected], f"{expected} are listed", seconds=30)


def click_row(browser: Chromium, place: int) -> None:
    """Click the row with this index in the list, also if the list is drawn again meanwhile."""

    def is_clicked() -> bool:
        browser.driver.find_elements(By.CSS_SELECTOR, ".row-link")[place].click()
        return True

    wait_until(lambda: _settled(is_clicked), f"row {place} is clicked")


def focused(browser: Chromium) -> str:
    text: str = browser.driver.execute_script("return document.activeElement.textContent.trim()")
    return text


def drop(browser: Chromium, name: str, text: str) -> None:
    """Drop a file on the page that takes files."""
    browser.driver.execute_script(DROP, find(browser, ".drop"), name, text)
