"""A person's view of a console page, and actions on it."""

from collections.abc import Callable

from selenium.common.exceptions import ElementNotInteractableException, StaleElementReferenceException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.chromium import Chromium
from tests.waiting import wait_until

# Drops a file as the file manager does: https://github.com/SeleniumHQ/selenium/issues/1421 offers no way.
DROP = """
const [place, name, text] = arguments;
const held = new DataTransfer();
held.items.add(new File([text], name));
place.dispatchEvent(new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true }));
"""
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


def find(browser: Chromium, selector: str) -> WebElement:
    """Wait for the first visible element of a CSS selector, and return it."""
    elements: list[WebElement] = []

    def is_there() -> bool:
        elements[:] = [
            element for element in browser.driver.find_elements(By.CSS_SELECTOR, selector) if element.is_displayed()
        ]
        return bool(elements)

    wait_until(lambda: _settled(is_there), f"{selector} is there", seconds=30)
    return elements[0]


def click(browser: Chromium, selector: str) -> None:
    """Click the first visible element of a CSS selector, also if the page replaces the element meanwhile."""

    def is_clicked() -> bool:
        find(browser, selector).click()
        return True

    wait_until(lambda: _settled(is_clicked), f"{selector} is clicked", seconds=30)


def reads(browser: Chromium, selector: str, text: str) -> None:
    """Wait until the first visible element of a CSS selector has a text."""
    message = f"{selector} reads {text!r}"
    wait_until(lambda: _settled(lambda: text in find(browser, selector).text), message, seconds=30)


def type_into(browser: Chromium, id_: str, text: str) -> None:
    field = find(browser, f"#{id_}")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(text)


def press(browser: Chromium, label: str, kind: str = "button") -> None:
    """Press the visible button with this text."""
    path = f"//{kind}[normalize-space()='{label}']"

    def is_pressed() -> bool:
        visible = [element for element in browser.driver.find_elements(By.XPATH, path) if element.is_displayed()]
        for element in visible[:1]:
            element.click()
        return bool(visible)

    wait_until(lambda: _settled(is_pressed), f"{label} is pressed", seconds=30)


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
    """Return the names of the listed memories, read in one step, because the page may change between two reads."""
    named: list[str] = browser.driver.execute_script(TITLES)
    return named


def wait_for_titles(browser: Chromium, *expected: str) -> None:
    """Wait until the list has exactly the memories with these titles."""
    wait_until(lambda: titles(browser) == [*expected], f"{expected} are listed", seconds=30)


def click_row(browser: Chromium, place: int) -> None:
    """Click the row at a place of the list, also if the list is drawn again meanwhile."""

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
