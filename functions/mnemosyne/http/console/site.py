"""What the console is served as: one page, and files under a name that changes with any of them.

The page calls `/mcp` as any client does; nothing here knows who looks at it. Its policy lets it run its own files,
and reach this host and the authorization server, and nothing else; nobody may frame it.
"""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mnemosyne.mcp.icon import SVG

STATIC = Path(__file__).parent / "static"
PAGES = {
    **dict.fromkeys(("/", "/newest", "/store", "/files", "/outcomes", "/figures", "/memories/{id}"), "index.html"),
    "/console/callback": "callback.html",
}
"""The pages; `index.html` reads from its address what to show."""
FILES = "/console/{digest}/{name:path}"
YEAR = 31_536_000
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}


@cache
def files() -> Mapping[str, bytes]:
    """Return every file by its name, read once."""
    read = {str(file.relative_to(STATIC)): file.read_bytes() for file in STATIC.rglob("*.*")}
    return read | {"icon.svg": SVG.encode()}


@cache
def digest() -> str:
    """Return what changes with any file: the first 16 hex digits of the SHA-256 of all names and contents."""
    hashed = hashlib.sha256()
    for name, content in sorted(files().items()):
        hashed.update(f"{name} {len(content)} ".encode() + content)
    return hashed.hexdigest()[:16]


def policy(issuer: str) -> str:
    """Return the page's Content-Security-Policy; `issuer` is the authorization server's URL, empty without one."""
    scheme, _, rest = issuer.partition("://")
    log_in = f" {scheme}://{rest.partition('/')[0]}" if issuer else ""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'{log_in}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def routes(issuer: str) -> list[Route]:
    """Return the routes of the page and its files."""

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
        whole = files()[name].replace(b"DIGEST", digest().encode())
        return Response(whole, media_type="text/html; charset=utf-8", headers=headers)

    pages = (Route(path, partial(page, name=name), methods=["GET"]) for path, name in PAGES.items())
    return [*pages, Route(FILES, _file, methods=["GET"])]


async def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if request.path_params["digest"] != digest() or Path(name).suffix not in _TYPES or name not in files():
        return PlainTextResponse("no such file\n", status_code=404)
    headers = {
        "Cache-Control": f"public, max-age={YEAR}, immutable",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    content = files()[name]
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        content = _packed(name)
    return Response(content, media_type=f"{_TYPES[Path(name).suffix]}; charset=utf-8", headers=headers)


@cache
def _packed(name: str) -> bytes:
    """Return the file compressed; the platform's front end passes answers on as they are."""
    return gzip.compress(files()[name], mtime=0)
