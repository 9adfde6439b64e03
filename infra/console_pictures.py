"""Take pictures of the console's design and of the console, side by side: one PNG for each page of the design.

    python -m infra.console_pictures DESIGN [OUT]

DESIGN is a directory with the pages of the design as static HTML: home.html, memory.html and so on. The script starts a
new local server (`mnemosyne dev`) and stores the memories that home.html shows, so that the console shows the same
memories. Each PNG shows the design and the console, each at a width of 1280 pixels and of 375 pixels.
"""

import argparse
import base64
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "functions"), str(ROOT)]

from selenium.webdriver.common.by import By  # noqa: E402

from tests.chromium import Chromium, chromium  # noqa: E402
from tests.console.person import keys  # noqa: E402
from tests.dev import DevServer, serving  # noqa: E402
from tests.waiting import wait_until  # noqa: E402

OUT = Path("artefacts/side-by-side")
WIDTHS = {1280: 900, 375: 800}
"""Widths of the window in pixels, each with its height."""
PAGES = {
    "home": "/",
    "results": "/?q=label+printer",
    "none": "/?q=zzqqx",
    "memory": "/memories/ID",
    "edit": "/memories/ID/edit",
    "add": "/add",
    "tags": "/tags",
    "activity": "/activity",
    "overview": "/overview",
    "import": "/import",
    "help": "/",
}
"""Pages of the design, each with its address in the console. ID is the id of the first memory about printers."""
# Reads the memories in home.html. All dates are moved by the same number of days, so that the newest is from today.
MEMORIES = """
const rows = [...document.querySelectorAll(".row")].map((row) => {
  const text = (selector) => row.querySelector(selector)?.textContent.trim() ?? "";
  const time = new Date(row.querySelector("time").title.replace(/^\\w+ /u, "").replace(",", ""));
  const more = row.querySelector(".tag.more")?.title.split(", ") ?? [];
  const tags = [...row.querySelectorAll("a.tag")].map((tag) => tag.textContent.trim());
  const line = row.querySelector(".fit").cloneNode(true);
  for (const other of line.querySelectorAll("b, .badge")) other.remove();
  for (const code of line.querySelectorAll("code")) code.textContent = "`" + code.textContent + "`";
  return { title: text(".fit b"), content: line.textContent.trim(), tags: [...tags, ...more], time };
});
const newest = new Date(Math.max(...rows.map(({ time }) => time)));
const days = Math.round((new Date().setHours(0, 0, 0, 0) - newest.setHours(0, 0, 0, 0)) / 86400000);
return rows.map(({ title, content, tags, time }) => {
  const timestamp = new Date(time.getTime() + days * 86400000).toISOString();
  return { content, tags, timestamp, ...(title && { title }) };
});
"""
SHEET = """<!doctype html><meta charset="utf-8"><style>
body { display: flex; gap: 24px; align-items: flex-start; width: max-content; margin: 24px; background: #888 }
figcaption { font: 20px sans-serif }
figure { margin: 0 } figcaption { padding: 8px 0 } img { display: block }
</style>"""


def main() -> int:
    """Write the pictures and return 0, the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("design", type=Path, help="directory with the pages of the design")
    parser.add_argument("out", type=Path, nargs="?", default=OUT, help="directory to write to")
    arguments = parser.parse_args()
    design: Path = arguments.design.resolve()
    if not (design / "home.html").exists():
        parser.error(f"{design} has no home.html: give the directory with the pages of the design")
    arguments.out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser, tempfile.TemporaryDirectory(prefix="pictures-") as scratch:
        browser.driver.set_script_timeout(60)
        product = _take_console(browser, design)
        for name, pictures in product.items():
            for width in WIDTHS:
                _open(browser, width, f"file://{design}/{name}.html")
                pictures[f"design, {width}"] = _picture(browser)
            _join(browser, Path(scratch), arguments.out / f"{name}.png", pictures)
    return 0


def _take_console(browser: Chromium, design: Path) -> dict[str, dict[str, bytes]]:
    """Take pictures of all pages of the console. Returns the pictures of each page, by page and then by caption."""
    pictures: dict[str, dict[str, bytes]] = {name: {} for name in ("empty", *PAGES, "login")}
    with serving() as server:
        site = f"http://127.0.0.1:{server.port}"
        _take_page(browser, pictures["empty"], f"{site}/")
        id_ = _store_memories(browser, server, design)
        for name, path in PAGES.items():
            _take_page(browser, pictures[name], f"{site}{path.replace('ID', id_)}", has_help=name == "help")
    with serving("--auth-mode", "oauth") as server:
        _take_page(browser, pictures["login"], f"http://127.0.0.1:{server.port}/")
    return pictures


def _store_memories(browser: Chromium, server: DevServer, design: Path) -> str:
    """Store the memories that home.html shows, a page of the design. `design` is the directory of the design.

    Returns the id of the memory for the picture of a memory's page: the first memory about printers or, if there is
    none, the last memory.
    """
    browser.open(f"file://{design}/home.html")
    memories: list[dict[str, Any]] = browser.driver.execute_script(MEMORIES)
    requests = server.call("ingest_memories", {"memories": memories})["request_ids"]
    ids = [str(server.outcome(request)["memory_id"]) for request in requests]
    about_printers = (id_ for id_, memory in zip(ids, memories, strict=True) if "printer" in memory["content"])
    return next(about_printers, ids[-1])


def _take_page(browser: Chromium, pictures: dict[str, bytes], address: str, *, has_help: bool = False) -> None:
    for width in WIDTHS:
        _open(browser, width, address)
        wait_until(lambda: bool(browser.driver.find_elements(By.CSS_SELECTOR, "main h1")), "the page is there")
        wait_until(lambda: not browser.driver.find_elements(By.CSS_SELECTOR, ".loading"), "all is shown")
        if has_help:
            keys(browser, "?")
        _settle(browser)
        pictures[f"console, {width}"] = _picture(browser)


def _open(browser: Chromium, width: int, address: str) -> None:
    metrics = {"width": width, "height": WIDTHS[width], "deviceScaleFactor": 1, "mobile": width < 768}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.open(address)


def _settle(browser: Chromium) -> None:
    """Wait until the page has not changed for half a second."""
    browser.driver.execute_async_script("""
      const done = arguments[0];
      let timer = setTimeout(done, 500);
      new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(done, 500); })
        .observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true });""")


def _picture(browser: Chromium) -> bytes:
    """Return a PNG of the whole page. The window is as high as the page, because only rows in the window are drawn."""
    script = "return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    size = browser.driver.execute_script(script)
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 768}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    _settle(browser)
    clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
    arguments = {"captureBeyondViewport": True, "clip": clip}
    return base64.b64decode(browser.driver.execute_cdp_cmd("Page.captureScreenshot", arguments)["data"])


def _join(browser: Chromium, scratch: Path, target: Path, pictures: Mapping[str, bytes]) -> None:
    """Write one PNG with the pictures side by side: design and console at each width."""
    figures = []
    for caption in (f"{kind}, {width}" for width in WIDTHS for kind in ("design", "console")):
        file = scratch / f"{caption}.png"
        file.write_bytes(pictures[caption])
        figures.append(f'<figure><figcaption>{caption}</figcaption><img src="{file.name}"></figure>')
    sheet = scratch / "sheet.html"
    sheet.write_text(SHEET + "".join(figures))
    _open(browser, 1280, f"file://{sheet}")
    target.write_bytes(_picture(browser))


if __name__ == "__main__":
    sys.exit(main())
