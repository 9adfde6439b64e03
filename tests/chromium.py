"""Debian's Chromium driven by chromedriver: pages, forms and navigation."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tests.fakes_wire.http import Html, JsonServer

SECONDS = 60
_HEADLESS_SHELL = '#!/bin/sh\nexec {} "$@" about:blank\n'
"""Script that starts the headless shell with a page. Without it, the shell opens no page when it starts, but
chromedriver waits for one."""
# Without these options Chromium calls its vendor at each start, and cannot start its sandbox as root.
_ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
    "--host-resolver-rules=MAP *.example ~NOTFOUND",
    # With this option, all tabs of one host share a process. The process then compiles each script only once.
    "--process-per-site",
    # Pages of tests are open for seconds. Compiling their scripts to optimised code takes more CPU time than it saves.
    "--js-flags=--no-opt --no-maglev --single-threaded",
)  # fmt: skip
_CONTAINS = """
const letters = (text) => text.replace(/\\s+/g, "").toLowerCase();
return document.body !== null && letters(document.body.textContent).includes(letters(arguments[0]));
"""


def _is_gone(element: WebElement) -> bool:
    """Whether the element's page has been replaced by another."""
    try:
        element.is_enabled()
    except StaleElementReferenceException:
        return True
    except WebDriverException as error:
        # chromedriver sometimes raises this error if the element's page is being replaced (SeleniumHQ/selenium#15401).
        if "Node with given id does not belong to the document" in str(error.msg):
            return True
        raise
    return False


class Chromium:
    """One browser window."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    @property
    def url(self) -> str:
        return str(self.driver.current_url)

    @property
    def text(self) -> str:
        """Return the text of the page. The text is empty while the browser loads another page."""
        try:
            return self.driver.find_element(By.TAG_NAME, "body").text
        except (NoSuchElementException, StaleElementReferenceException):
            return ""

    def shows(self, text: str) -> bool:
        """Whether the page shows this text.

        Reading the property `self.text` takes fifty milliseconds of CPU time. It is therefore read only if the document
        contains the letters of the text, also in parts that are not visible.
        """
        return bool(self.driver.execute_script(_CONTAINS, text)) and text in self.text

    def open(self, url: str) -> None:
        self.driver.get(url)

    def type(self, name: str, text: str) -> None:
        self.driver.find_element(By.NAME, name).send_keys(text)

    def press(self, label: str) -> None:
        """Press the button with this text, and wait until another page is loaded."""
        before = self.driver.find_element(By.TAG_NAME, "html")
        self.driver.find_element(By.XPATH, f"//button[normalize-space()='{label}']").click()
        WebDriverWait(self.driver, SECONDS).until(lambda _: _is_gone(before))

    def follow(self, text: str) -> None:
        """Follow the link with this text, and wait until another page is loaded."""
        before = self.driver.find_element(By.TAG_NAME, "html")
        self.driver.find_element(By.LINK_TEXT, text).click()
        WebDriverWait(self.driver, SECONDS).until(lambda _: _is_gone(before))

    def emulate(self, **features: str) -> None:
        """Set these CSS media features for the pages. All other media features get their usual values."""
        arguments = {"features": [{"name": name, "value": value} for name, value in features.items()]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", arguments)

    def run_scripts(self, *, allowed: bool) -> None:
        """Allow or forbid the scripts of pages. The scripts of the tests run in both cases."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not allowed})

    def console(self) -> list[str]:
        """Return the violations of the Content-Security-Policy that the browser reported."""
        return [str(entry["message"]) for entry in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]


@contextmanager
def page_elsewhere(html: str) -> Iterator[str]:
    """Serve a page from another site (host name) than Mnemosyne's, and yield the address of the page."""

    class Page(JsonServer):
        def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
            return 200, Html(html)

    with Page().serving() as page:
        yield f"http://evil.localhost:{page.host.partition(':')[2]}/"


def _options(home: Path, browser: str) -> ChromeOptions:
    """Options that start Debian's headless shell, or the complete browser.

    The headless shell is the same Chromium without the user interface, and takes a third less CPU time.
    """
    options = ChromeOptions()
    shell = shutil.which("chromium-headless-shell")
    if shell:
        script = home / "browser"
        script.write_text(_HEADLESS_SHELL.format(shell))
        script.chmod(0o700)
        options.binary_location = str(script)
    else:
        options.binary_location = browser
        options.add_argument("--headless=new")
    for argument in (*_ARGUMENTS, f"--user-data-dir={home}"):
        options.add_argument(argument)
    return options


@contextmanager
def chromium(*, insecure: bool = False, motion: bool = False) -> Iterator[Chromium]:
    """Start a browser; skip the test with a reason if Chromium is missing.

    Without `motion`, pages show no animations, because drawing them takes a sixth of the browser's CPU time.
    """
    driver = shutil.which("chromedriver")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if driver is None or browser is None:
        pytest.skip("NOT TESTED: chromium and chromedriver are not installed, so no browser logs in")
    with tempfile.TemporaryDirectory(prefix="chromium-") as home:
        options = _options(Path(home), browser)
        if not motion:
            options.add_argument("--force-prefers-reduced-motion")
        options.add_experimental_option("prefs", {"download.default_directory": home})
        options.accept_insecure_certs = insecure
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        opened = Chrome(options=options, service=Service(driver, env={**os.environ, "HOME": home}))
        opened.set_page_load_timeout(SECONDS)
        try:
            yield Chromium(opened)
        finally:
            opened.quit()
