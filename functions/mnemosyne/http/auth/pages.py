"""The pages that people see: HTML without scripts, from nobody else, in no frame."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.responses import HTMLResponse, Response

from mnemosyne.domain.oauth import is_on_device, redirect_host
from mnemosyne.domain.principal import Scope
from mnemosyne.oauth.flow import Question

_TEMPLATES = Path(__file__).parent / "templates"
_PAGES = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=select_autoescape())
STYLE = (_TEMPLATES / "style.css").read_text()
MAY: Mapping[Scope, str] = {
    Scope.READ: "read, search and rate what is remembered",
    Scope.WRITE: "remember, change and delete",
    Scope.OPERATE: "put back on the queue what was given up",
    Scope.ADMIN: "all that there is",
}


def security_headers(*, secure: bool, redirect_uri: str = "") -> dict[str, str]:
    """Return what every answer says to a browser; `redirect_uri` is where the page's form may lead in the end.

    Chromium holds a form's redirections to form-action too: https://github.com/w3c/webappsec-csp/issues/8.
    """
    parts = urlsplit(redirect_uri)
    origin = f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") else f"{parts.scheme}:"
    leads = f" {origin}" if redirect_uri else ""
    policy = f"default-src 'none'; style-src 'self'; form-action 'self'{leads}; frame-ancestors 'none'; base-uri 'none'"
    headers = {
        "Cache-Control": "no-store",
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
    return headers | ({"Strict-Transport-Security": "max-age=63072000"} if secure else {})


def told(base: str, heading: str, text: str, status: int = 400, *, back: str = "") -> Response:
    """Return a page that says what is the matter, with a link to where the client awaits the answer."""
    return _page("message", base, status=status, heading=heading, text=text, back=back, host=redirect_host(back))


def log_in(base: str, request: str, redirect_uri: str, problem: str = "") -> Response:
    """Return the page that asks for the code of the terminal; who has agreed before goes on to the client from it."""
    status = 403 if problem else 200
    return _page("log_in", base, redirect_uri, status=status, request=request, problem=problem)


def consent(base: str, request: str, asked: Question) -> Response:
    """Return the page that names the client, where its answers go, and what it may do."""
    return _page(
        "consent",
        base,
        asked.redirect_uri,
        request=request,
        client=asked.client.name,
        client_host=asked.client.host,
        redirect_host=redirect_host(asked.redirect_uri),
        on_device=is_on_device(asked.redirect_uri),
        may=[MAY[one] for one in Scope if one in asked.scopes],
        namespace=asked.person.namespace,
        resource=asked.resource,
        name=asked.person.name,
    )


def account(base: str, request: str, name: str, clients: Any, ended: int | None) -> Response:
    """Return the page of what a person has granted, each with a button that ends it."""
    return _page("account", base, request=request, name=name, clients=clients, ended=ended)


def _page(template: str, base: str, redirect_uri: str = "", /, *, status: int = 200, **values: Any) -> Response:
    page = _PAGES.get_template(f"{template}.html").render(base=base, **values)
    headers = security_headers(secure=base.startswith("https:"), redirect_uri=redirect_uri)
    return HTMLResponse(page, status, headers=headers)
