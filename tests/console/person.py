"""What a person sees and does on a page of the console."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import Chromium
from tests.waiting import wait_until


def shows(browser: Chromium, text: str) -> None:
    wait_until(lambda: text in browser.text, f"the page says {text!r}", seconds=60)


def type_into(browser: Chromium, id_: str, text: str) -> None:
    field = browser.driver.find_element(By.ID, id_)
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(text)


def press(browser: Chromium, label: str) -> None:
    browser.driver.find_element(By.XPATH, f"//button[normalize-space()='{label}']").click()


def headings(browser: Chromium) -> list[str]:
    """The titles of the memories listed, read at one moment: the page may be drawn anew between two."""
    script = "return [...document.querySelectorAll('.entry h2')].map((one) => one.textContent.trim())"
    titles: list[str] = browser.driver.execute_script(script)
    return titles
