"""The console of a `mnemosyne dev`, in a real browser."""

import base64
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chromium import Chromium, chromium
from tests.conformance.conftest import JS, install_javascript
from tests.dev import DevServer, serving

DESKTOP = (1280, 900)
"""Size of the window, in pixels."""
ARTEFACTS = os.environ.get("CONSOLE_SCREENSHOTS", "")
"""A directory for a picture of each page; none is kept without it."""


@pytest.fixture(scope="module")
def system() -> Iterator[DevServer]:
    """`mnemosyne dev` with a few memories."""
    with serving() as server:
        for day, content in enumerate(("Ada prefers oolong to coffee.", "The oolong is on shelf 7.", "Bob rows."), 1):
            asked = {"timestamp": f"2026-05-{day:02}T12:00:00Z", "tags": ["tea"] if "oolong" in content else []}
            server.outcome(server.ingest(f"TITLE: Note {day}\n{content}", **asked))
        yield server


@pytest.fixture(scope="module")
def site(system: DevServer) -> str:
    """The console's address, without the final slash."""
    return f"http://127.0.0.1:{system.port}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as opened:
        opened.driver.set_window_size(*DESKTOP)
        yield opened


@pytest.fixture
def picture() -> Callable[[Chromium, str], None]:
    """Function that saves a picture of the complete page."""

    def keep(browser: Chromium, name: str) -> None:
        if ARTEFACTS:
            Path(ARTEFACTS).mkdir(parents=True, exist_ok=True)
            size = browser.driver.execute_script("return [innerWidth, document.documentElement.scrollHeight]")
            clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
            asked = {"captureBeyondViewport": True, "clip": clip}
            taken = browser.driver.execute_cdp_cmd("Page.captureScreenshot", asked)
            (Path(ARTEFACTS) / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))

    return keep


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, a checker of accessibility."""
    install_javascript()
    return (JS / "node_modules/axe-core/axe.min.js").read_text()
