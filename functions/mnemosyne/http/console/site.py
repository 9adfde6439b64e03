"""Serve the console: one HTML page, and its files at a URL that changes when the content of any file changes.

The page and the files are the same for all callers, because the page reads all data from `/mcp`, as any client does.
The page's Content-Security-Policy allows only its own files, this host and the authorization server. No site can show
the page in a frame.
"""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from mnemosyne.http.common.encoding import accepts_gzip
from mnemosyne.mcp.app import time_script
from mnemosyne.mcp.icon import SVG

STATIC = Path(__file__).parent / "static"
PAGES = {
    **dict.fromkeys((
        "/", "/add", "/tags", "/activity", "/overview", "/audit", "/import", "/forget", "/connect", "/memories/{id}",
        "/memories/{id}/edit",
    ), "index.html"),
    "/console/callback": "callback.html",
}  # fmt: skip
"""HTML file of each path. The script of `index.html` chooses the page by the path."""
FILES = "/console/{digest}/{name:path}"
YEAR = 31_536_000
_CLASSIC = frozenset({"theme.js", "callback.js"})
"""Scripts that are not modules. The page's list of modules therefore leaves them out."""
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}


@cache
def files() -> Mapping[str, bytes]:
    """Contents of all files of the console by name. The icon and `time.js` are shared with the MCP server."""
    contents = {str(file.relative_to(STATIC)): file.read_bytes() for file in STATIC.rglob("*.*")}
    return contents | {"icon.svg": SVG.encode(), "time.js": time_script().encode()}


@cache
def digest() -> str:
    """First 16 hex digits of the SHA-256 of the names and contents of all files of the console."""
    sha256 = hashlib.sha256()
    for name, content in sorted(files().items()):
        sha256.update(f"{name} {len(content)} ".encode() + content)
    return sha256.hexdigest()[:16]


def policy(issuer: str) -> str:
    """Build the page's Content-Security-Policy. `issuer` is the URL of the authorization server; empty without one."""
    scheme, _, rest = issuer.partition("://")
    log_in = f" {scheme}://{rest.partition('/')[0]}" if issuer else ""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'{log_in}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def routes(issuer: str) -> list[Route]:
    """Build the routes of the console's pages and files."""

    async def page(request: Request, name: str) -> Response:
        etag = f'"{digest()}"'
        headers = {
            "Cache-Control": "no-cache",
            "Content-Security-Policy": policy(issuer),
            "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
            "ETag": etag,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(_render_page(name), media_type="text/html; charset=utf-8", headers=headers)

    pages = (Route(path, partial(page, name=name), methods=["GET"]) for path, name in PAGES.items())
    slashes = (Route(f"{path}/", _redirect_without_slash, methods=["GET"]) for path in PAGES if path != "/")
    return [*pages, *slashes, Route(FILES, _serve_file, methods=["GET"])]


async def _redirect_without_slash(request: Request) -> Response:
    """Redirect to the same path without the final slash, on the host that the browser has called."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{request.url.path.removesuffix('/')}{query}", status_code=308)


@cache
def _render_page(name: str) -> bytes:
    """Return an HTML file with the URLs of the files that it loads.

    The page lists all modules, so that the browser loads all of them at once. Otherwise the browser would load the
    imports of a module only after it has loaded this module.
    """
    modules = (file for file in sorted(files()) if file.endswith(".js") and file not in _CLASSIC)
    links = "\n".join(f'<link rel="modulepreload" href="/console/DIGEST/{file}">' for file in modules)
    page = files()[name].decode().replace("<!-- MODULES -->", links)
    return page.replace("DIGEST", digest()).encode()


async def _serve_file(request: Request) -> Response:
    name = request.path_params["name"]
    if request.path_params["digest"] != digest() or Path(name).suffix not in _TYPES or name not in files():
        return PlainTextResponse("no such file\n", status_code=404)
    headers = {
        "Cache-Control": f"public, max-age={YEAR}, immutable",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    content = files()[name]
    if accepts_gzip(request.headers):
        headers["Content-Encoding"] = "gzip"
        content = _compress_file(name)
    return Response(content, media_type=f"{_TYPES[Path(name).suffix]}; charset=utf-8", headers=headers)


@cache
def _compress_file(name: str) -> bytes:
    """Compress a file with gzip, because Cloud Run compresses no responses."""
    return gzip.compress(files()[name], mtime=0)
