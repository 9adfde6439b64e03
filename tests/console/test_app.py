"""The MCP App inside a host: the official AppBridge of @modelcontextprotocol/ext-apps, in a real browser.

The frame is sandboxed without an origin, and under the policy that the specification has hosts put before a view.
"""

import json
import subprocess
import urllib.parse
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

import httpx
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By

from tests.chromium import Chromium
from tests.conformance.conftest import JS, install_javascript
from tests.console.pages import violations
from tests.console.server import ConsoleServer
from tests.dev import DevServer
from tests.fakes_wire.http import served
from tests.waiting import wait_until

Keep = Callable[[Chromium, str], None]
PAGE = b"""<!doctype html><title>host</title><body style="margin:0">
<iframe sandbox="allow-scripts" style="width:100%;border:0;height:100px"></iframe>
<script type="module" src="/host.js"></script>"""
# Holds back the answers to get_memory. The test releases them in the order that it chooses.
HOLD = """
const real = window.fetch;
Object.assign(window, { held: [], letAllPass: () => { window.fetch = real; } });
window.fetch = (...asked) => {
  if (!asked[1]?.body?.includes?.('"get_memory"')) return real(...asked);
  return new Promise((done) => { window.held.push(() => done(real(...asked))); });
};
"""
# Counts the memories that the view has received from its host. The view's own listener runs before this one.
COUNT_ANSWERS = """
window.answers = 0;
addEventListener("message", ({ data }) => { window.answers += data.result?.structuredContent ? 1 : 0; });
"""
HTML = "<script>document.title='owned'</script><img src=x onerror=\"parent.document.title='owned'\">"


class _Host(BaseHTTPRequestHandler):
    """Serves the host's page, and forwards its calls to the server without an Origin, like a desktop host."""

    def __init__(self, mcp: str, script: bytes, *arguments: Any) -> None:
        self._mcp, self._script = mcp, script
        super().__init__(*arguments)

    def do_GET(self) -> None:
        if self.path.startswith("/?"):
            self._answer(200, "text/html", PAGE)
        elif self.path == "/host.js":
            self._answer(200, "text/javascript", self._script)
        else:
            self._answer(405, "text/plain", b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        forwarded = ("content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name")
        headers = {name: self.headers[name] for name in forwarded if name in self.headers}
        answer = httpx.post(self._mcp, content=body, headers=headers, timeout=30)
        self._answer(answer.status_code, answer.headers.get("content-type", ""), answer.content)

    def _answer(self, status: int, type_: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", type_)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def host(system: DevServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    install_javascript()
    script = tmp_path_factory.mktemp("host") / "host.js"
    esbuild = str(JS / "node_modules/.bin/esbuild")
    arguments = [esbuild, "apps_host.mjs", "--bundle", "--format=esm", f"--outfile={script}"]
    subprocess.run(arguments, cwd=JS, check=True, capture_output=True)
    with served(ThreadingHTTPServer(("127.0.0.1", 0), partial(_Host, system.url, script.read_bytes()))) as address:
        yield address


def _open(browser: Chromium, host: str, tool: str, theme: str = "light", **arguments: Any) -> dict[str, Any]:
    """Open the host's page, which shows the view for a call of the tool. Return the data of the host.

    Afterwards the browser's commands go to the frame of the view.
    """
    browser.driver.switch_to.default_content()
    query = {"tool": tool, "arguments": json.dumps(arguments), "theme": theme}
    browser.open(f"{host}/?{urllib.parse.urlencode(query)}")
    ready = "return Boolean(window.seen?.ready) || document.title.startsWith('failed')"
    wait_until(lambda: browser.driver.execute_script(ready), "the view has its result", seconds=60)
    host_data: dict[str, Any] | None = browser.driver.execute_script("return window.seen")
    assert host_data and not browser.driver.title.startswith("failed"), browser.driver.title
    browser.driver.switch_to.frame(browser.driver.find_element(By.TAG_NAME, "iframe"))
    return host_data


def _send(browser: Chromium, result: Any) -> None:
    """Send another result to the open view."""
    browser.driver.switch_to.default_content()
    browser.driver.execute_script("return window.send(arguments[0])", result)
    browser.driver.switch_to.frame(0)


def _show(browser: Chromium, system: DevServer, tool: str, **arguments: Any) -> None:
    """Send the result of a call to the open view."""
    _send(browser, {"content": [], "structuredContent": system.call(tool, arguments)})


@pytest.fixture
def view(host: str, browser: Chromium) -> Chromium:
    """The view in a host that is opened only once for the tests that send results to it."""
    browser.driver.switch_to.default_content()
    if browser.driver.execute_script("return Boolean(window.isShared)"):
        browser.driver.switch_to.frame(0)
        return browser
    _open(browser, host, "memory_search", query="oolong")
    browser.driver.switch_to.default_content()
    browser.driver.execute_script("window.isShared = true")
    browser.driver.switch_to.frame(0)
    return browser


def _says(browser: Chromium, text: str) -> None:
    wait_until(lambda: browser.shows(text), f"the view says {text!r}", seconds=60)


def _sizes(browser: Chromium) -> list[int]:
    browser.driver.switch_to.default_content()
    sizes: list[int] = browser.driver.execute_script("return window.seen.sizes")
    return sizes


def test_search_results_are_shown_and_a_memory_can_be_read_completely(
    host: str, browser: Chromium, picture: Keep
) -> None:
    state = _open(browser, host, "memory_search", query="oolong")
    assert state["uri"].startswith("ui://") and state["mimeType"] == "text/html;profile=mcp-app"
    assert state["meta"]["ui"]["prefersBorder"] is True
    assert "oolong" in state["model"][0]["text"], "hosts without views get the text"
    _says(browser, "Ada prefers oolong to coffee.")
    browser.driver.find_element(By.XPATH, "//button[.='Note 1']").click()
    _says(browser, "Back to results")
    assert browser.driver.find_element(By.TAG_NAME, "pre").text.endswith("Ada prefers oolong to coffee.")
    assert browser.driver.switch_to.active_element.tag_name == "h1", "the heading has the focus"
    browser.driver.find_element(By.XPATH, "//button[.='Back to results']").click()
    _says(browser, "The oolong is on shelf 7.")
    browser.driver.switch_to.default_content()
    picture(browser, "app-search")


def test_a_single_memory_is_shown_completely(system: DevServer, host: str, browser: Chromium, picture: Keep) -> None:
    memory_id = system.call("list_memories", {"tags": ["tea"]})["memories"][0]["id"]
    _open(browser, host, "get_memory", theme="dark", id=memory_id)
    _says(browser, "The oolong is on shelf 7.")
    assert browser.text.splitlines()[-1] == "The oolong is on shelf 7.", "there is no list to return to"
    assert browser.driver.execute_script("return document.documentElement.className") == "dark"
    scheme = "return getComputedStyle(document.documentElement).colorScheme"
    assert browser.driver.execute_script(scheme) == "dark", "the scroll bars are dark, too"
    browser.driver.switch_to.default_content()
    picture(browser, "app-memory-dark")


def test_a_new_height_is_reported_to_the_host_once(host: str, browser: Chromium) -> None:
    _open(browser, host, "memory_search", query="oolong")
    _says(browser, "Ada prefers oolong to coffee.")
    browser.driver.find_element(By.XPATH, "//button[.='Note 1']").click()
    _says(browser, "Back to results")
    browser.driver.switch_to.default_content()
    settled = (
        "const told = arguments[0]; Promise.all(document.getAnimations().map((one) => one.finished)).then(() => told())"
    )
    browser.driver.execute_async_script(settled)
    sizes = _sizes(browser)
    assert len(sizes) > 1
    assert [two for size, two in pairwise(sizes) if size == two] == [], "a repeated size is not reported"
    assert browser.driver.execute_script("return window.seen.width") is None, "the host decides the width"


@pytest.mark.parametrize(
    ("query", "label", "noted"),
    [
        ("The oolong is on shelf 7.", "strong match · ", False),
        ("zzqqx gibberish", "weak match · ", True),
    ],
)
def test_each_result_has_its_confidence_in_words(
    system: DevServer, view: Chromium, query: str, label: str, noted: bool
) -> None:
    _show(view, system, "memory_search", query=query)
    _says(view, label)
    assert ("Nothing close was found" in view.text) is noted
    said = view.driver.execute_script("return document.querySelector('[role=status]').textContent")
    assert said == view.driver.find_element(By.TAG_NAME, "h1").text, "a screen reader says the title, and no texts"


@pytest.fixture
def held_view(system: DevServer, view: Chromium) -> Iterator[Chromium]:
    """The view of a search, whose host holds back the answers to get_memory."""
    _show(view, system, "memory_search", query="oolong")
    _says(view, "Ada prefers oolong to coffee.")
    view.driver.switch_to.default_content()
    view.driver.execute_script(HOLD)
    view.driver.switch_to.frame(0)
    yield view
    view.driver.switch_to.default_content()
    view.driver.execute_script("window.letAllPass()")


def _held(browser: Chromium) -> int:
    browser.driver.switch_to.default_content()
    count: int = browser.driver.execute_script("return window.held.length")
    browser.driver.switch_to.frame(0)
    return count


def _release(browser: Chromium, place: int) -> None:
    browser.driver.switch_to.default_content()
    browser.driver.execute_script("window.held[arguments[0]]()", place)
    browser.driver.switch_to.frame(0)


def test_a_slow_answer_does_not_replace_a_memory_that_was_opened_later(held_view: Chromium) -> None:
    browser = held_view
    browser.driver.execute_script(COUNT_ANSWERS)
    for count, title in enumerate(("Note 1", "Note 2"), 1):
        browser.driver.find_element(By.XPATH, f"//button[.='{title}']").click()
        wait_until(lambda asked=count: _held(browser) == asked, f"{title} is requested")  # type: ignore[misc]
    _release(browser, 1)
    _says(browser, "Back to results")
    _release(browser, 0)
    wait_until(lambda: browser.driver.execute_script("return window.answers") == 2, "both answers are there")
    assert browser.driver.find_element(By.TAG_NAME, "h1").text == "Note 2"


def test_two_clicks_on_a_memory_send_one_request(held_view: Chromium) -> None:
    browser = held_view
    button = browser.driver.find_element(By.XPATH, "//button[.='Note 1']")
    ActionChains(browser.driver).double_click(button).perform()
    browser.driver.find_element(By.XPATH, "//button[.='Note 2']").click()
    wait_until(lambda: _held(browser) >= 2, "the memories are requested")
    assert _held(browser) == 2, "one request for each memory"


def test_the_versions_of_a_memory_lead_to_each_other(system: DevServer, view: Chromium) -> None:
    old, new = (system.remember(f"The urn is {colour}.") for colour in ("red", "green"))
    system.call("update_memory", {"id": old, "superseded_by": new})
    _show(view, system, "get_memory", id=new)
    _says(view, "The urn is green.")
    view.driver.find_element(By.XPATH, f"//button[.='{old}']").click()
    _says(view, f"Replaced by {new}")
    view.driver.find_element(By.XPATH, "//button[.='Back to the first memory']").click()
    _says(view, "The urn is green.")
    assert "Back to" not in view.text
    system.call("delete_memory", {"ids": [old, new]})


def test_an_earlier_state_is_named_and_its_memories_are_opened_in_that_state(system: DevServer, view: Chromium) -> None:
    id_ = system.remember("The amphora is blue.", tags=["early"])
    moment = system.call("get_memory", {"id": id_})["created_at"]
    system.call("update_memory", {"id": id_, "tags": ["late"]})
    _show(view, system, "memory_search", query="amphora", as_of=moment)
    _says(view, "As of ")
    view.driver.find_element(By.XPATH, "//h2[contains(., 'amphora')]/button").click()
    _says(view, "Back to results")
    assert "As of " in view.text and "early" in view.text and "late" not in view.text
    system.call("delete_memory", {"id": id_})


def test_an_error_leads_back_to_the_results(view: Chromium) -> None:
    results = {"memories": [{"id": "01a1fd98-820d-74ac-bf32-ad3eec4e3d5f", "title": "Deleted since"}]}
    _send(view, {"content": [], "structuredContent": results})
    view.driver.find_element(By.XPATH, "//button[.='Deleted since']").click()
    _says(view, "no memory has the id")
    assert view.driver.switch_to.active_element.tag_name == "h1", "the heading has the focus"
    view.driver.find_element(By.XPATH, "//button[.='Back to results']").click()
    _says(view, "Deleted since")


def test_ids_times_and_titles_are_shown_as_people_read_them(view: Chromium) -> None:
    title = "תה Oolong 7"
    times = {"after": "2026-10-01T00:00:00Z", "before": "2026-10-31T23:59:59.999999Z"}
    results = {"memories": [{"id": "1", "title": title, "supersedes": ["id-2", "id-3"]}], "window": times}
    _send(view, {"content": [], "structuredContent": results})
    _says(view, "Replaces id-2 id-3")
    assert "2026, " in view.text and "T00:00:00Z" not in view.text
    _send(view, {"content": [], "structuredContent": {"title": title, "content": "x"}})
    _says(view, title)
    heading = "return getComputedStyle(document.querySelector('h1')).direction"
    assert view.driver.execute_script(heading) == "rtl"


OF_ANOTHER_VERSION = [
    ({"memories": [{"id": "1", "title": "No time"}]}, "No time"),
    ({"memories": [{"id": "1", "title": "Odd", "timestamp": "soon", "tags": "tea"}]}, "soon"),
    ({"memories": [{"id": "1", "title": "Sure", "confidence": {"level": 1}}]}, "Sure"),
    ({"memories": [], "nothing_close": "Nothing close was found: 3 left out."}, "3 left out"),
    ({"memories": [], "degraded": "Only words were searched."}, "Only words were searched."),
    ({"memories": "none"}, "no list of memories"),
    ({"another": 1}, "no memories"),
]
"""Structured results, and a text that the view shows for each."""


def test_a_result_of_another_version_is_shown_in_part_or_as_text(view: Chromium) -> None:
    for structured, message in OF_ANOTHER_VERSION:
        text = message if message.startswith("no ") else "as a text"
        _send(view, {"content": [{"type": "text", "text": text}], "structuredContent": structured})
        _says(view, message)


def _content(browser: Chromium) -> str | None:
    content: str | None = browser.driver.execute_script("return document.querySelector('pre')?.textContent")
    return content


def test_stored_text_is_shown_as_text_within_500_pixels(system: ConsoleServer, view: Chromium) -> None:
    contents = (HTML, "\u202eright to left\u202c", "\x1b[31mred", "long " * 20_000)
    ids = system.remember_all(*({"content": content} for content in contents))
    for id_, content in zip(ids, contents, strict=True):
        _show(view, system, "get_memory", id=id_)
        wait_until(lambda text=content: _content(view) == text, "it is shown")  # type: ignore[misc]
        assert view.driver.find_elements(By.CSS_SELECTOR, "main script, main img") == []
        assert max(_sizes(view)) <= 500
        assert view.driver.title == "host"
        view.driver.switch_to.frame(0)
    system.delete(ids)


def test_axe_finds_nothing_in_the_view(system: DevServer, view: Chromium, axe: str) -> None:
    _show(view, system, "memory_search", query="oolong")
    _says(view, "Ada prefers oolong to coffee.")
    view.driver.execute_script(axe)
    assert violations(view) == []
