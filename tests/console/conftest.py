"""The console of a `mnemosyne dev`, in a real browser."""

import base64
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium.common.exceptions import WebDriverException

from tests.chromium import Chromium, chromium
from tests.conformance.conftest import JS, install_javascript
from tests.console.server import ConsoleServer, serving
from tests.console.tab import Tab
from tests.workers import selects_nightly

DESKTOP = (1280, 900)
"""Size of the window, in pixels."""
ARTEFACTS = os.environ.get("CONSOLE_SCREENSHOTS", "")
"""Directory in which the tests save a picture of each page. If it is not set, no pictures are saved."""


NOTES = ("Ada prefers oolong to coffee.", "The oolong is on shelf 7.", "Bob rows.")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this directory as slow, because they start a browser."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def _shared_system() -> Iterator[ConsoleServer]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def system(_shared_system: ConsoleServer) -> ConsoleServer:
    """`mnemosyne dev` with three notes, shared by the modules that do not stop it."""
    _shared_system.database.empty()
    _shared_system.remember_all(
        *(
            {
                "content": f"TITLE: Note {day}\n{content}",
                "timestamp": f"2026-05-{day:02}T12:00:00Z",
                "tags": ["tea"] if "oolong" in content else [],
            }
            for day, content in enumerate(NOTES, 1)
        )
    )
    return _shared_system


@pytest.fixture(scope="session")
def guarded() -> Iterator[ConsoleServer]:
    """`mnemosyne dev --auth-mode oauth`, where people log in and API keys also work."""
    with serving("--auth-mode", "oauth") as server:
        yield server


@pytest.fixture(scope="module")
def site(system: ConsoleServer) -> str:
    """The console's address, without the final slash."""
    return f"http://127.0.0.1:{system.port}"


@pytest.fixture(scope="session")
def _shared_browser(pytestconfig: pytest.Config) -> Iterator[Chromium]:
    with chromium(motion=selects_nightly(pytestconfig)) as opened:
        yield Tab(opened.driver)


def renew(browser: Chromium) -> None:
    """Replace all tabs with a new one at the size of a desktop, without cookies, storage or emulation."""
    driver = browser.driver
    before = driver.window_handles
    address = urlsplit(browser.url)
    driver.switch_to.new_window("tab")
    (tab,) = {*driver.window_handles} - {*before}
    if address.hostname == "127.0.0.1":
        # Open an address of the same host in the new tab. Otherwise the process of the previous tab would end with its
        # last tab, and another process would have to compile the console's scripts again.
        with suppress(WebDriverException):  # the server may have ended
            driver.get(f"http://{address.netloc}/console/none/none")
    for handle in before:
        driver.switch_to.window(handle)
        driver.close()
    driver.switch_to.window(tab)
    driver.set_window_size(*DESKTOP)
    driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    # Allow writing to the clipboard. The complete browser would allow it to a page that the user has clicked, but the
    # headless shell would not.
    driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardSanitizedWrite"]})
    browser.console()


@pytest.fixture(scope="module")
def browser(_shared_browser: Chromium) -> Chromium:
    """The browser, with a new tab for each module."""
    renew(_shared_browser)
    return _shared_browser


@pytest.fixture
def fresh(_shared_browser: Chromium) -> Chromium:
    """The browser, with a new tab for each test."""
    renew(_shared_browser)
    return _shared_browser


@pytest.fixture
def second_tag(system: ConsoleServer) -> Iterator[None]:
    """Store a memory with a tag that no other memory has."""
    memory_id = system.outcome(system.ingest("A cup.", tags=["cup"]))["memory_id"]
    yield
    system.call("delete_memory", {"id": memory_id})


@pytest.fixture(scope="module")
def downloads(browser: Chromium) -> Iterator[Path]:
    """A directory for the files that the browser saves."""
    with tempfile.TemporaryDirectory(prefix="downloads-") as directory:
        parameters = {"behavior": "allow", "downloadPath": directory}
        browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", parameters)
        yield Path(directory)


@pytest.fixture
def picture() -> Callable[[Chromium, str], None]:
    """Function that saves a picture of the complete page."""

    def keep(browser: Chromium, name: str) -> None:
        if ARTEFACTS:
            Path(ARTEFACTS).mkdir(parents=True, exist_ok=True)
            size = browser.driver.execute_script("return [innerWidth, document.documentElement.scrollHeight]")
            clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
            arguments = {"captureBeyondViewport": True, "clip": clip, "optimizeForSpeed": True}
            capture = browser.driver.execute_cdp_cmd("Page.captureScreenshot", arguments)
            (Path(ARTEFACTS) / f"{name}.png").write_bytes(base64.b64decode(capture["data"]))

    return keep


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, a checker of accessibility."""
    install_javascript()
    return (JS / "node_modules/axe-core/axe.min.js").read_text()
