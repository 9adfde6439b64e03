"""How the console's files are served: caching, content security policy and compressed size."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mnemosyne.http.console import site
from tests.fakes import FakeServices
from tests.mcp_app import ByName, mcp_app

MOST_BYTES = 160_000


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(mcp_app(FakeServices(), ByName(), issuer="https://issuer.example")) as opened:
        yield opened


@pytest.mark.parametrize("path", ["/", "/add", "/memories/anything", "/memories/x/edit", "/console/callback"])
def test_the_page_may_run_only_its_own_files_and_may_not_be_framed(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert (answer.headers["x-frame-options"], answer.headers["referrer-policy"]) == ("DENY", "no-referrer")
    assert not re.search(r"<script(?![^>]* src=)|\sstyle=|\son\w+=", answer.text), "nothing inline"


@pytest.mark.parametrize(
    ("path", "page"),
    [("/tags/", "/tags"), ("/memories/x/", "/memories/x"), ("/memories/x/edit/", "/memories/x/edit"),
     ("/activity/?state=failed", "/activity?state=failed")],
)  # fmt: skip
def test_a_slash_at_the_end_leads_to_the_page_on_the_same_host(client: TestClient, path: str, page: str) -> None:
    for host in ("testserver", "evil.example"):
        answer = client.get(path, headers={"Host": host}, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (308, page)
    assert "location" not in client.get(f"/other{path}", follow_redirects=False).headers


def test_the_page_may_connect_to_the_authorization_server_if_there_is_one(client: TestClient) -> None:
    assert "connect-src 'self' https://issuer.example;" in client.get("/").headers["content-security-policy"]
    without = TestClient(mcp_app(FakeServices())).get("/")
    assert "connect-src 'self';" in without.headers["content-security-policy"]


def test_an_unchanged_page_is_answered_304(client: TestClient) -> None:
    etag = client.get("/").headers["etag"]
    assert client.get("/", headers={"If-None-Match": etag}).status_code == 304


def test_files_with_their_hash_are_cached_for_ever(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"/console/{site.digest()}/app.js"
    answer = client.get(name)
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert name in client.get("/").text
    before = site.digest.__wrapped__()
    monkeypatch.setattr(site, "files", lambda: {"app.js": b"another"})
    assert site.digest.__wrapped__() != before


@pytest.mark.parametrize(
    "name", ["nothing.js", "index.html", "../site.py", "%2e%2e/site.py", "..%2fsite.py", "/etc/passwd", "", "vendor"]
)
def test_no_other_file_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/console/{site.digest()}/{name}").status_code == 404
    assert client.get("/console/0000000000000000/app.js").status_code == 404


def test_all_files_together_are_small_when_compressed(client: TestClient) -> None:
    size = 0
    for name in site.files():
        if not name.endswith((".txt", ".html")):
            path = f"/console/{site.digest()}/{name}"
            with client.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as answer:
                assert answer.headers["content-encoding"] == "gzip"
                size += sum(map(len, answer.iter_raw()))
    assert size <= MOST_BYTES


def _tokens(block: str) -> dict[str, str]:
    return dict(re.findall(r"(--[a-z0-9-]+):\s*([^;]+);", block))


def _theme(selector: str) -> dict[str, str]:
    """Return the tokens of a selector in tokens.css."""
    css = site.files()["tokens.css"].decode()
    return _tokens(css[css.index(f"{selector} {{") :].partition("}")[0])


def test_the_dark_theme_has_the_same_colours_by_choice_and_by_system_setting() -> None:
    assert _theme(':root:not([data-theme="light"])') == _theme(':root[data-theme="dark"]') != {}


@pytest.mark.parametrize("sheet", ["http/auth/templates/style.css", "mcp/app/view.css"])
def test_pages_that_do_not_load_the_console_s_files_have_the_same_colours(sheet: str) -> None:
    light, dark = _theme(':root[data-theme="light"]'), _theme(':root[data-theme="dark"]')
    copied = (Path(site.__file__).parents[2] / sheet).read_text()
    blocks = re.findall(r"\{([^{}]*--text:[^{}]*)\}", copied)
    assert len(blocks) >= 2
    for block, tokens in zip(blocks, (light, dark, dark), strict=False):
        shared = {name: value for name, value in _tokens(block).items() if name in tokens}
        assert shared and shared == {name: tokens[name] for name in shared}


def test_every_style_sheet_that_the_page_names_is_served() -> None:
    page = site.files()["index.html"].decode()
    sheets = re.findall(r'/console/DIGEST/([a-z_]+\.css)"', page)
    assert {name for name in site.files() if name.endswith(".css")} == {*sheets}


def test_every_module_that_a_module_imports_is_served() -> None:
    texts = [content.decode() for name, content in site.files().items() if name.endswith(".js")]
    imported = {module for text in texts for module in re.findall(r"""(?:from|import) "\./([^"]+)";""", text)}
    assert {"time.js", "components.js", "vendor/htm-preact.js"} <= imported <= site.files().keys()


def test_the_page_preloads_every_module_that_it_needs(client: TestClient) -> None:
    preloaded = re.findall(r'modulepreload" href="/console/[0-9a-f]{16}/([^"]+)"', client.get("/").text)
    assert {*preloaded} == {name for name in site.files() if name.endswith(".js")} - {"theme.js", "callback.js"}


def test_each_vendored_file_has_the_hash_of_the_published_file() -> None:
    published = re.findall(r"SHA-256\s+([0-9a-f]{64})", site.files()["vendor/README.txt"].decode())
    assert [hashlib.sha256(site.files()["vendor/htm-preact.js"]).hexdigest()] == published
