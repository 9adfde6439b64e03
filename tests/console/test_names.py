"""Names of links and buttons, as a screen reader says them."""

from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.console.person import find, wait_for_titles


def test_the_name_of_a_row_is_its_title_and_its_text(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/")
    wait_for_titles(browser, "Note 3", "Note 2", "Note 1")
    names = [link.accessible_name for link in browser.driver.find_elements(By.CSS_SELECTOR, ".row-link")]
    assert names == ["Note 3 Bob rows.", "Note 2 The oolong is on shelf 7.", "Note 1 Ada prefers oolong to coffee."]


def test_each_link_of_the_requests_names_its_memory(site: str, browser: Chromium) -> None:
    browser.open(f"{site}/activity")
    find(browser, "tbody tr")
    links = browser.driver.find_elements(By.CSS_SELECTOR, "tbody a.btn")
    assert {link.text for link in links} == {"Open"}
    assert {link.accessible_name for link in links} == {
        "Open Bob rows.",
        "Open The oolong is on shelf 7.",
        "Open Ada prefers oolong to coffee.",
    }
