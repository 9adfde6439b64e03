"""A fake OpenID provider with log-in: codes, PKCE, a client secret and an ID token."""

import base64
import hashlib
import html
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from tests.fakes_wire.http import Html
from tests.fakes_wire.issuer import Issuer

CLIENT_ID, CLIENT_SECRET = "mnemosyne.apps.example", "of the operator"


class OpenIdProvider(Issuer):
    """Provider that logs in the person whom `claims` describes, and responds as Google does:
    https://developers.google.com/identity/openid-connect/openid-connect#authenticatingtheuser.

    The redirect has additional parameters (`scope`, `authuser`, `prompt`), and an invalid code gets 400 and
    `invalid_grant`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.claims: dict[str, Any] = {"sub": "10769150350006150715113082367", "email": "ada@example.com",
                                       "email_verified": True}  # fmt: skip
        self.signed: dict[str, Any] = {}
        """Arguments of `Issuer.token` for an ID token that is not signed with the provider's key."""
        self.auth_methods: list[str] | None = None
        """Value of `token_endpoint_auth_methods_supported` in the provider's metadata. If it is None, the metadata do
        not have this field."""
        self.exchanged = 0
        self._codes: dict[str, dict[str, str]] = {}

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        if self.away:
            return 503, {}
        if path == self.metadata:
            own = {"authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/token"}
            methods = {} if self.auth_methods is None else {"token_endpoint_auth_methods_supported": self.auth_methods}
            return 200, {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **own, **methods}
        if path.startswith("/authorize?"):
            back = html.escape(self.visit(f"{self.url}{path}"))
            return 200, Html(f'<!DOCTYPE html><title>Log in</title><a href="{back}">{self.claims["email"]}</a>')
        if path == "/token":
            return self._exchange({name: values[0] for name, values in parse_qs(body.decode()).items()}, headers)
        return super().answer(path, body, headers)

    def visit(self, url: str) -> str:
        """Log in at the address `url`. Return the address of the redirect, the callback of the authorization server."""
        parts = urlsplit(url)
        assert url.startswith(f"{self.url}/authorize?"), url
        query = dict(parse_qsl(parts.query))
        assert (query["client_id"], query["response_type"]) == (CLIENT_ID, "code")
        assert query["code_challenge_method"] == "S256"
        code = f"4/0A{secrets.token_urlsafe(16)}"
        self._codes[code] = query
        back = {"state": query["state"], "code": code, "scope": query["scope"], "authuser": "0", "prompt": "none"}
        return f"{query['redirect_uri']}?{urlencode(back)}"

    def _exchange(self, form: Mapping[str, str], headers: Mapping[str, str]) -> tuple[int, Any]:
        self.exchanged += 1
        login = self._codes.pop(form.get("code", ""), None)
        if not self._is_authenticated(form, headers):
            return 401, {"error": "invalid_client", "error_description": "Unauthorized"}
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if (
            login is None
            or form.get("redirect_uri") != login["redirect_uri"]
            or base64.urlsafe_b64encode(challenge).rstrip(b"=").decode() != login["code_challenge"]
        ):
            return 400, {"error": "invalid_grant", "error_description": "Malformed auth code."}
        claims = {"aud": CLIENT_ID, "azp": CLIENT_ID, "nonce": login["nonce"], **self.claims}
        token = self.token(**{**claims, **self.signed})
        return 200, {"access_token": "ya29.x", "expires_in": 3599, "scope": login["scope"], "token_type": "Bearer",
                     "id_token": token}  # fmt: skip

    def _is_authenticated(self, form: Mapping[str, str], headers: Mapping[str, str]) -> bool:
        """Whether the request has the client's secret by exactly one method, which the provider must support."""
        basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        sent = {
            "client_secret_basic": headers.get("authorization") == f"Basic {basic}",
            "client_secret_post": (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET),
        }
        has_one = ("authorization" in headers) != ("client_secret" in form)
        return has_one and any(
            sent[method] for method in self.auth_methods or ["client_secret_basic"] if method in sent
        )
