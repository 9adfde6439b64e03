"""HTML pages of the authorization server. They contain no scripts and cannot be shown in frames."""

from collections.abc import Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.responses import HTMLResponse, Response

from mnemosyne.domain.oauth import Grant
from mnemosyne.domain.principal import Scope
from mnemosyne.domain.redirect_uris import is_on_device, redirect_host
from mnemosyne.oauth.flow import ConsentPage

_TEMPLATES = Path(__file__).parent / "templates"
_PAGES = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=select_autoescape())
STYLE = (_TEMPLATES / "style.css").read_text()
SCOPE_LABELS: Mapping[Scope, str] = {
    Scope.READ: "read and search memories",
    Scope.WRITE: "store, change, rate and delete memories",
    Scope.OPERATE: "retry and delete messages that could not be stored, forget memories, read the audit trail",
    Scope.ADMIN: "do everything",
}


def security_headers(*, secure: bool, may_redirect: bool = False) -> dict[str, str]:
    """Security headers of every response. `may_redirect` is True for a page whose form may redirect to the client.

    The Content-Security-Policy of such a page has no form-action. Chromium checks form-action for each redirect after a
    form (https://github.com/w3c/webappsec-csp/issues/8), and clients redirect the browser further, to addresses that
    they do not register. So form-action would also block the redirects of such clients. Its purpose is to stop a form
    that an attacker adds to the page in a client's name or parameters. The templates prevent such forms instead,
    because they escape all values.

    There is no Cross-Origin-Opener-Policy: some clients open /authorize in a popup, and the policy would separate the
    popup from the client's page, which then never gets the code.
    """
    form_action = "" if may_redirect else "; form-action 'self'"
    headers = {
        "Cache-Control": "no-store",
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'{form_action}"
        ),
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
    return headers | ({"Strict-Transport-Security": "max-age=63072000"} if secure else {})


def message(base: str, heading: str, text: str, status: int = 400, *, back: str = "") -> Response:
    """Page with a message and, if `back` is set, a link back to the client."""
    return _render_page("message", base, status=status, heading=heading, text=text, back=back, host=redirect_host(back))


def log_in(base: str, request: str, problem: str = "") -> Response:
    """Page with the form for the log-in code, which a local server prints in its terminal.

    The page's form may redirect to the client, because a person who has consented before goes to the client directly
    after the log-in, without a consent page.
    """
    status = 403 if problem else 200
    return _render_page("log_in", base, status=status, may_redirect=True, request=request, problem=problem)


def consent(base: str, request: str, question: ConsentPage) -> Response:
    """Page that asks the person to grant the requested scopes to the client."""
    return _render_page(
        "consent",
        base,
        may_redirect=True,
        request=request,
        client=question.client.name,
        client_host=question.client.host,
        redirect_host=redirect_host(question.redirect_uri),
        on_device=is_on_device(question.redirect_uri),
        may=[SCOPE_LABELS[scope] for scope in Scope if scope in question.scopes],
        namespace=question.person.namespace,
        resource=question.resource,
        name=question.person.name,
    )


def account(base: str, request: str, name: str, grants: Sequence[Grant], revoked: str | None) -> Response:
    """Page with the clients that have access, each with its last use and a button to revoke the access.

    `revoked` is the name of the client whose access was revoked, as `client_names` returns it.
    """
    by_client: dict[str, list[Grant]] = {}
    for grant in grants:
        by_client.setdefault(grant.client_id, []).append(grant)
    names = client_names(grants)
    clients = [_client_fields(of_client, names[client_id]) for client_id, of_client in by_client.items()]
    page = _render_page("account", base, request=request, name=name, clients=clients, revoked=revoked)
    page.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    return page


def client_names(grants: Sequence[Grant]) -> dict[str, str]:
    """Return the name of each client by its id. Clients of the same name are numbered in the order of their ids."""
    # If the grants of one client have different names for the client, use the name in the newest grant (the first).
    names = {grant.client_id: grant.client_name for grant in reversed(grants)}
    same = {name: sorted(id_ for id_, other in names.items() if other == name) for name in names.values()}
    return {
        id_: f"{name} ({same[name].index(id_) + 1})" if len(same[name]) > 1 else name for id_, name in names.items()
    }


def _client_fields(grants: Sequence[Grant], name: str) -> dict[str, Any]:
    """Fields of a client on the account page. `grants` has one grant for each log-in, the newest first."""
    newest = grants[0]
    last_use = max((grant.last_used_at for grant in grants if grant.last_used_at), default=None)
    return {
        "id": newest.client_id,
        "name": name,
        "scopes": ", ".join(sorted({scope for grant in grants for scope in grant.scopes})),
        "namespace": newest.namespace,
        "used": last_use and last_use.astimezone(UTC),
    }


def _render_page(
    template: str, base: str, /, *, status: int = 200, may_redirect: bool = False, **values: Any
) -> Response:
    page = _PAGES.get_template(f"{template}.html").render(base=base, **values)
    headers = security_headers(secure=base.startswith("https:"), may_redirect=may_redirect)
    return HTMLResponse(page, status, headers=headers)
