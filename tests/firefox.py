"""Debian's Firefox, driven over WebDriver BiDi (https://w3c.github.io/webdriver-bidi/).

This protocol needs no geckodriver, which Debian does not package.
"""

import itertools
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import websocket

from tests.waiting import wait_until

SECONDS = 60
PREFERENCES = {
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "remote.log.level": "Info",
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}
"""Preferences without which Firefox contacts its vendor at every start."""
ENTER = "\ue007"


class Firefox:
    """A tab of Firefox."""

    def __init__(self, url: str) -> None:
        self._socket = websocket.create_connection(url, timeout=SECONDS, suppress_origin=True)
        self._ids = itertools.count(1)
        self.problems: list[str] = []
        """Errors and warnings that pages have logged, among them violations of the Content-Security-Policy."""
        self._send("session.new", capabilities={})
        self._send("session.subscribe", events=["log.entryAdded"])
        self._context = self._send("browsingContext.getTree")["contexts"][0]["context"]

    def _send(self, method: str, **parameters: Any) -> Any:
        """Send a command to Firefox and return its result. Add errors and warnings that arrive before to `problems`."""
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] in ("error", "warn"):
                self.problems.append(str(answer["params"]["text"]))
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                return answer["result"]

    def open(self, url: str) -> None:
        self._send("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def run(self, expression: str) -> Any:
        """Evaluate an expression in the page, and return its value: a string, a number or a boolean."""
        result = self._send(
            "script.evaluate", expression=expression, target={"context": self._context}, awaitPromise=True
        )
        assert result["type"] == "success", result
        return result["result"].get("value")

    @property
    def text(self) -> str:
        return str(self.run("document.body.innerText"))

    def shows(self, text: str) -> None:
        wait_until(lambda: text in self.text, f"the page says {text!r}", seconds=SECONDS)

    def has(self, selector: str) -> None:
        """Wait until the page has an element."""
        is_present = f"Boolean(document.querySelector({json.dumps(selector)}))"
        wait_until(lambda: self.run(is_present) is True, f"{selector} is there", seconds=SECONDS)

    def press(self, selector: str, label: str) -> None:
        """Click the middle of the element that matches the selector and has this text."""
        named = f"(e) => e.innerText.trim() === {json.dumps(label)}"
        element = f"[...document.querySelectorAll({json.dumps(selector)})].find({named})"
        wait_until(lambda: self.run(f"Boolean({element})") is True, f"{label} can be pressed", seconds=SECONDS)
        place = self.run(
            f"(() => {{ const e = {element}; e.scrollIntoView({{ block: 'center' }});"
            " const r = e.getBoundingClientRect();"
            " return JSON.stringify([Math.round(r.x + r.width / 2), Math.round(r.y + r.height / 2)]); })()"
        )
        x, y = json.loads(place)
        steps: Sequence[dict[str, Any]] = (
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        )
        actions = [{"type": "pointer", "id": "mouse", "actions": steps}]
        self._send("input.performActions", context=self._context, actions=actions)

    def type(self, selector: str, text: str) -> None:
        """Focus the field that matches the selector, and type a text."""
        self.has(selector)
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keyboard", "actions": keys}]
        self._send("input.performActions", context=self._context, actions=actions)

    def close(self) -> None:
        self._socket.close()


@contextmanager
def firefox() -> Iterator[Firefox]:
    """Start Firefox with a new profile."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("NOT TESTED: there is no Firefox; on Debian, `apt-get install firefox-esr`")
    with tempfile.TemporaryDirectory(prefix="mnemosyne-firefox-") as profile:
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()]
        (Path(profile) / "user.js").write_text("".join(lines))
        arguments = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        with subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
            assert process.stderr is not None
            try:
                opened = Firefox(f"{_address(process.stderr)}/session")
                try:
                    yield opened
                finally:
                    opened.close()
            finally:
                process.terminate()
                process.communicate(timeout=SECONDS)


def _address(lines: Iterator[str]) -> str:
    """Return the address that Firefox prints when it begins to accept WebDriver connections."""
    for line in lines:
        if match := re.search(r"WebDriver BiDi listening on (ws://\S+)", line):
            return match[1]
    raise AssertionError("Firefox ended before it listened")
