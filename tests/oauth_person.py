"""A person with a real browser, who reads the log-in code in the terminal of `mnemosyne dev`."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mnemosyne.cli.local.data_dir import DataDir
from tests.chromium import Chromium
from tests.dev import DevServer
from tests.fakes_wire.http import JsonServer
from tests.waiting import wait_until


class Terminal:
    """A terminal that shows the output of `mnemosyne dev`."""

    def __init__(self, dev: DevServer) -> None:
        self._printed = dev.printed
        # Earlier codes are counted in the file of log-in codes. `mnemosyne dev` writes a code to this file before it
        # prints the code, so the output may still lack earlier codes.
        self._seen = len(DataDir.at(str(dev.directory / "data")).log_in_codes.read_text().splitlines())

    def code(self) -> str:
        """Wait for a new log-in code, and return it."""
        wait_until(lambda: len(self._codes()) > self._seen, "the terminal shows a log-in code")
        self._seen = len(codes := self._codes())
        return codes[-1]

    def _codes(self) -> list[str]:
        return re.findall(r"Log-in code for .*: ([A-Z0-9]{4}-[A-Z0-9]{4})", self._printed())


class Person:
    """A person who logs in at the authorization server, to which an OAuth client has sent the person's browser."""

    def __init__(self, browser: Chromium, show_who: Callable[[Chromium], None]) -> None:
        self.browser = browser
        self._show_who = show_who

    @classmethod
    def at(cls, dev: DevServer, browser: Chromium) -> "Person":
        """Return a person at the machine of `mnemosyne dev`."""
        terminal = Terminal(dev)

        def type_the_code(browser: Chromium) -> None:
            browser.type("code", terminal.code().lower())
            browser.press("Log in")

        return cls(browser, type_the_code)

    def log_in(self, url: str) -> None:
        """Open the address that a client gives, and log in."""
        self.browser.open(url)
        self._show_who(self.browser)

    def allow(self, url: str) -> str:
        """Log in and allow access. Return the text of the consent page."""
        self.log_in(url)
        text = self.browser.text
        self.browser.press("Allow")
        return text


class Callback(JsonServer):
    """A listener of an OAuth client on the loopback interface, which receives the redirect after the log-in."""

    def __init__(self) -> None:
        super().__init__()
        self.url = f"{self.url}/callback"
        self.told: dict[str, str] = {}

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        if urlsplit(path).path == "/callback":
            self.told = dict(parse_qsl(urlsplit(path).query))
        return 200, "You may close this."
