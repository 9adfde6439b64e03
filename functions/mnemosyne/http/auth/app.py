"""The `auth` function: metadata and token endpoints for clients; pages of log-in, consent and grants for people."""

from functools import partial
from typing import Any

from authlib.oauth2.rfc6749 import OAuth2Error
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from mnemosyne.domain.oauth import DEFAULT_SCOPES, Client
from mnemosyne.errors import InvalidRequest, MnemosyneError, OverBudget, Unauthorized, Unavailable
from mnemosyne.http.auth import pages, rate_limits
from mnemosyne.http.auth.call import FORM, Call, Gateway, Handler, new_secret, redirect
from mnemosyne.http.auth.rate_limits import EndpointLimit
from mnemosyne.http.common.health import health_routes
from mnemosyne.oauth.clients import DOCUMENT_SECONDS, Clients
from mnemosyne.oauth.errors import UNKNOWN_CLIENT
from mnemosyne.oauth.flow import START_OVER, Flow
from mnemosyne.oauth.request import OAuthRequest
from mnemosyne.oauth.server import Answer

KEYS_SECONDS = 300
WRONG_REQUEST = "The request of your application is not valid"
UNREADABLE_CLIENT = "Your application cannot be identified"
METADATA_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


class AuthHandlers:
    """Handlers of the authorization server's endpoints."""

    def __init__(self, flow: Flow, clients: Clients, gateway: Gateway) -> None:
        self._flow = flow
        self._clients = clients
        self._issuer = flow.issuer.url
        self.gateway = gateway

    # -- for clients

    async def metadata(self, request: Request) -> Response:
        """Return the server's metadata (RFC 8414).

        It is also served at OpenID's path, which many clients read first.
        """
        issuer = self._issuer
        metadata: dict[str, Any] = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "revocation_endpoint": f"{issuer}/revoke",
            "registration_endpoint": f"{issuer}/register",
            "jwks_uri": f"{issuer}/jwks.json",
            "scopes_supported": [*DEFAULT_SCOPES],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
            "protected_resources": list(self._flow.issuer.resources),
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }
        return JSONResponse(metadata, headers={"Cache-Control": f"public, max-age={KEYS_SECONDS}"})

    def keys(self, call: Call) -> Response:
        """Return the public keys that verify tokens, as a JWK set: RFC 7517."""
        keys = [dict(key) for key in self._flow.issuer.signer.public_keys()]
        return JSONResponse({"keys": keys}, headers={"Cache-Control": f"public, max-age={KEYS_SECONDS}"})

    def token(self, call: Call) -> Response:
        """Issue tokens: RFC 6749, section 3.2."""
        return _json_response(self._flow.token(_form_request(call, f"{self._issuer}/token")))

    def revoke(self, call: Call) -> Response:
        """Revoke a token: RFC 7009."""
        return _json_response(self._flow.revoke(_form_request(call, f"{self._issuer}/revoke")))

    def register(self, call: Call) -> Response:
        """Register a client: RFC 7591."""
        try:
            return JSONResponse(dict(self._clients.register(call.body)), 201)
        except InvalidRequest as exc:
            error = "invalid_redirect_uri" if str(exc).startswith("redirect_uris") else "invalid_client_metadata"
            return JSONResponse({"error": error, "error_description": str(exc)}, 400)

    # -- for people

    async def authorize(self, call: Call) -> Response:
        """Begin an authorization: RFC 6749, section 3.1.

        The client's metadata document is fetched on the event loop, so that a slow fetch occupies no thread.
        """
        request = OAuthRequest("GET", f"{self._issuer}/authorize", call.query)
        client, problem = None, None
        try:
            before_fetch = partial(self.gateway.spend, call.address, rate_limits.DOCUMENT)
            client = await self._clients.read(request.payload.client_id or "", call.address, before_fetch)
        except (Unavailable, OverBudget) as exc:
            problem = exc
        return await self.gateway.in_thread(call, partial(self._authorize, call, request, client, problem))

    def _authorize(
        self, call: Call, request: OAuthRequest, client: Client | None, problem: MnemosyneError | None
    ) -> Response:
        if problem is not None:
            client = self._clients.find_stored(request.payload.client_id, DOCUMENT_SECONDS)
            if client is None and isinstance(problem, Unavailable):
                # The status is not 5xx, because the fault is in the client's web site, and not in this server.
                return pages.message(self._issuer, UNREADABLE_CLIENT, str(problem))
            if client is None:
                raise problem
        cookie, id_ = new_secret(), new_secret()
        try:
            url = self._flow.start(request, _flow_key(cookie, id_), client, call.address)
        except OAuth2Error as exc:
            # Do not redirect before a log-in, because anybody may register any redirect URI (RFC 9700, section 4.11.2).
            return pages.message(
                self._issuer, WRONG_REQUEST, _describe_error(exc), back=self._flow.error_redirect(request, exc)
            )
        return self._redirect_to_log_in(url, cookie, id_)

    def account(self, call: Call) -> Response:
        """Show the person's grants (access given to clients). Without a request id, begin a log-in instead."""
        if not (id_ := call.parameter("request")):
            cookie, id_ = new_secret(), new_secret()
            return self._redirect_to_log_in(self._flow.start_account(_flow_key(cookie, id_), call.address), cookie, id_)
        return self._account_page(_flow_key(call.cookie, id_), id_, None)

    def change_account(self, call: Call) -> Response:
        """Revoke the grants that the person has given to a client, or log out."""
        self._check_origin(call)
        if call.parameter("log_out"):
            return self._log_out(call)
        key = _flow_key(call.cookie, id_ := call.parameter("request"))
        _, grants = self._flow.account(key)
        self._flow.withdraw(key, client := call.parameter("client"))
        return self._account_page(key, id_, pages.client_names(grants).get(client, "the application"))

    def _log_out(self, call: Call) -> Response:
        self._flow.log_out(_flow_key(call.cookie, call.id))
        page = pages.message(self._issuer, "You are logged out", "Your applications keep their access.", 200)
        self.gateway.delete_cookie(page, call.id)
        return page

    def log_in_page(self, call: Call) -> Response:
        """Show the form for the log-in code, which a local server prints in its terminal."""
        id_ = call.parameter("request")
        self._flow.logged_in(_flow_key(call.cookie, id_))  # raises NotFound if this browser has no such log-in
        return pages.log_in(self._issuer, id_)

    def log_in(self, call: Call) -> Response:
        """Finish a log-in: check the typed code, or the identity provider's answer at `/callback`."""
        key, cookie = _flow_key(call.cookie, id_ := call.id), new_secret()
        if call.form and (waits := self._flow.logged_in(key)) is not None:
            # The browser has sent the same form again after the log-in. Set no cookie, because the response to the
            # first submission of the form has set one.
            return self._redirect_after_log_in(id_, client_waits=waits)
        try:
            waits = self._flow.log_in(key, _flow_key(cookie, id_), dict([*call.query, *call.form]))
        except Unauthorized as exc:
            if call.form:
                return pages.log_in(self._issuer, id_, str(exc))
            back = self._flow.refusal_redirect(key)
            return pages.message(self._issuer, "You cannot log in", str(exc), 403, back=back)
        response = self._redirect_after_log_in(id_, client_waits=waits)
        self.gateway.set_cookie(response, id_, cookie)
        return response

    def _redirect_after_log_in(self, id_: str, *, client_waits: bool) -> Response:
        return redirect(f"{self._issuer}/{'consent' if client_waits else 'account'}?request={id_}")

    def consent_page(self, call: Call) -> Response:
        """Show the consent page, or redirect to the client if the person has consented before."""
        key = _flow_key(call.cookie, id_ := call.parameter("request"))
        if answer := self._flow.redirection(key):
            return self._answer_page(answer)
        try:
            question = self._flow.consent_page(key)
        except OAuth2Error as exc:
            return pages.message(self._issuer, WRONG_REQUEST, _describe_error(exc))
        if not question.scopes:
            return redirect(self._flow.decide(key, approved=False).location)
        if question.agreed:
            return redirect(self._flow.decide(key, approved=True).location)
        return pages.consent(self._issuer, id_, question)

    def consent(self, call: Call) -> Response:
        """Store the person's decision and redirect to the client."""
        self._check_origin(call)
        approved = call.parameter("answer") == "allow"
        return self._answer_page(
            self._flow.decide(_flow_key(call.cookie, call.parameter("request")), approved=approved)
        )

    def _answer_page(self, answer: Answer) -> Response:
        if answer.location:
            return redirect(answer.location)
        if answer.status == 200:
            return pages.message(self._issuer, "You have already answered", "Return to your application.", 200)
        return pages.message(self._issuer, WRONG_REQUEST, START_OVER)

    def _redirect_to_log_in(self, url: str, cookie: str, id_: str) -> Response:
        response = redirect(url or f"{self._issuer}/log-in?request={id_}")
        self.gateway.set_cookie(response, id_, cookie)
        return response

    def _account_page(self, key: str, id_: str, revoked: str | None) -> Response:
        person, grants = self._flow.account(key)
        return pages.account(self._issuer, id_, person.name, grants, revoked)

    def _check_origin(self, call: Call) -> None:
        if call.origin not in (None, _origin_of(self._issuer)):
            raise Unauthorized("this form was sent by another site's page")


def build_app(flow: Flow, clients: Clients, gateway: Gateway) -> Starlette:
    """Build the ASGI app of the `auth` function."""
    handlers = AuthHandlers(flow, clients, gateway)
    path = flow.issuer.url.partition("://")[2].partition("/")[2]
    prefix = f"/{path}" if path else ""

    def route(method: str, path: str, handle: Handler, limit: EndpointLimit, *, as_page: bool = True) -> Route:
        return Route(f"{prefix}{path}", gateway.endpoint(handle, limit, as_page=as_page), methods=[method])

    async def style(request: Request) -> Response:
        return PlainTextResponse(pages.STYLE, media_type="text/css", headers={"Cache-Control": "public, max-age=3600"})

    metadata = gateway.public_endpoint(handlers.metadata, rate_limits.METADATA)
    app = Starlette(
        routes=[
            *health_routes(),
            *(Route(path, metadata) for path in _metadata_paths(prefix)),
            route("GET", "/jwks.json", handlers.keys, rate_limits.KEYS, as_page=False),
            route("POST", "/token", handlers.token, rate_limits.TOKEN, as_page=False),
            route("POST", "/revoke", handlers.revoke, rate_limits.REVOKE, as_page=False),
            route("POST", "/register", handlers.register, rate_limits.REGISTER, as_page=False),
            route("GET", "/authorize", handlers.authorize, rate_limits.AUTHORIZE),
            route("GET", "/log-in", handlers.log_in_page, rate_limits.LOG_IN_PAGE),
            route("POST", "/log-in", handlers.log_in, rate_limits.LOG_IN),
            route("GET", "/callback", handlers.log_in, rate_limits.CALLBACK),
            route("GET", "/consent", handlers.consent_page, rate_limits.CONSENT),
            route("POST", "/consent", handlers.consent, rate_limits.CONSENT),
            route("GET", "/account", handlers.account, rate_limits.ACCOUNT),
            route("POST", "/account", handlers.change_account, rate_limits.ACCOUNT),
            Route(f"{prefix}/style.css", gateway.public_endpoint(style, rate_limits.STYLE)),
        ]
    )
    # Do not redirect, because a redirect would lead to the host in the Host header, which is not validated.
    app.router.redirect_slashes = False
    # Allow all origins, because clients in browsers read metadata and get tokens. These requests have no cookies.
    app.add_middleware(
        CORSMiddleware, allow_origins=("*",), allow_methods=("GET", "POST"), allow_headers=("*",), max_age=7_200
    )
    return app


def _form_request(call: Call, url: str) -> OAuthRequest:
    """Return the request of a client with its parameters in the body. Raises InvalidRequest if the body has none."""
    if not call.form:
        raise InvalidRequest(f"send the parameters in the body, with the header Content-Type: {FORM}")
    return OAuthRequest("POST", url, call.form, call.authorization)


def _metadata_paths(prefix: str) -> list[str]:
    """Return the paths of the metadata, each with and without a slash at the end.

    RFC 8414 puts the path of the issuer's URL after the well-known path; OpenID puts it before the well-known path.
    """
    paths = dict.fromkeys(path for name in METADATA_PATHS for path in (f"{name}{prefix}", f"{prefix}{name}"))
    return [f"{path}{slash}" for path in paths for slash in ("", "/")]


def _flow_key(cookie: str, id_: str) -> str:
    """Build the key that finds an authorization request. The key needs both the cookie and the id of the request."""
    return f"{cookie}.{id_}"


def _origin_of(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def _json_response(answer: Answer) -> Response:
    return JSONResponse(answer.body, answer.status, dict(answer.headers) | {"Cache-Control": "no-store"})


def _describe_error(exc: OAuth2Error) -> str:
    text = str(exc.description or exc.error)
    return UNKNOWN_CLIENT if "client does not exist" in text else text
