"""A person's view of a console page, and actions on it."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.waiting import wait_until

# Drops a file as the file manager does: https://github.com/SeleniumHQ/selenium/issues/1421 offers no way.
DROP = """
const [place, name, text] = arguments;
const held = new DataTransfer();
held.items.add(new File([text], name));
place.dispatchEvent(new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true }));
"""


def shows(browser: Chromium, text: str) -> None:
    wait_until(lambda: text in browser.text, f"the page says {text!r}", seconds=60)


def type_into(browser: Chromium, id_: str, text: str) -> None:
    field = browser.driver.find_element(By.ID, id_)
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(text)


def press(browser: Chromium, label: str) -> None:
    browser.driver.find_element(By.XPATH, f"//button[normalize-space()='{label}']").click()


def headings(browser: Chromium) -> list[str]:
    """The titles of the listed memories, all read at one moment, because the page may change between two reads."""
    script = "return [...document.querySelectorAll('.entry h2')].map((one) => one.textContent.trim())"
    titles: list[str] = browser.driver.execute_script(script)
    return titles


def drop(browser: Chromium, name: str, text: str) -> None:
    """Drop a file on the page that takes files."""
    browser.driver.execute_script(DROP, browser.driver.find_element(By.CSS_SELECTOR, ".drop"), name, text)
