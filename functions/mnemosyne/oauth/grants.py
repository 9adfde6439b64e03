"""Authlib's grants, on what we keep: authorization code with PKCE, refresh tokens that rotate, revocation.

What a grant may do, and in which order it is checked, is Authlib's. What is here says where codes and tokens are, and
what this server asks for beyond it: S256 alone (RFC 9700, section 2.1.1), a resource (RFC 8707), and one use of each.
"""

import base64
import hashlib
import hmac
import secrets
from typing import Any

from authlib.oauth2.rfc6749 import ClientMixin, InvalidGrantError, InvalidRequestError, OAuth2Error
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge

from mnemosyne.domain.oauth import (
    OFFERED,
    UNASKED,
    Client,
    Code,
    Grant,
    Person,
    RefreshToken,
    known_resource,
)
from mnemosyne.domain.principal import scopes_of
from mnemosyne.observability import EventLog

log = EventLog(__name__)


class InvalidTarget(OAuth2Error):  # type: ignore[misc]
    """https://www.rfc-editor.org/rfc/rfc8707#section-2."""

    error = "invalid_target"


def hashed(secret: str) -> bytes:
    """Return what is kept of a code, a token or a cookie, which are 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


class OAuthClient(ClientMixin):  # type: ignore[misc]
    """A client as Authlib asks after it."""

    def __init__(self, client: Client) -> None:
        self.known = client
        self.client_id = client.id

    def get_client_id(self) -> str:
        """Return its id."""
        return self.known.id

    def get_default_redirect_uri(self) -> str | None:
        """Return the address it is answered at where it names none: it must name one, OAuth 2.1 says so."""
        return None

    def get_allowed_scope(self, scope: str | None) -> str | None:
        """Return those of the scopes that there are: reading and writing where it names none that we know."""
        named = scopes_of((scope or "").split()) & {*OFFERED}
        return " ".join(sorted(named or UNASKED))

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """Whether it may be answered there."""
        return self.known.takes(redirect_uri)

    def check_client_secret(self, client_secret: str) -> bool:
        """Whether that is its secret: it has none."""
        return False

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        """Whether it may show who it is so: by nothing but its id."""
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        """Whether it may ask for that."""
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        """Whether it may be granted that."""
        return grant_type == "authorization_code" or (grant_type == "refresh_token" and self.known.refreshes)


class Kept:
    """A code or refresh token as Authlib asks after it."""

    def __init__(self, kept: Code | RefreshToken) -> None:
        self.kept = kept
        self.code_challenge = getattr(kept, "code_challenge", "")
        self.code_challenge_method = "S256"
        self.successor_salt = b""

    def check_client(self, client: OAuthClient) -> bool:
        """Whether it was given to that client."""
        return self.kept.grant.client_id == client.client_id

    def get_redirect_uri(self) -> str:
        """Return where the client was answered."""
        return str(getattr(self.kept, "redirect_uri", ""))

    def get_scope(self) -> str:
        """Return what was granted."""
        return " ".join(sorted(self.kept.grant.scopes))


class S256Only(CodeChallenge):  # type: ignore[misc]
    """PKCE as OAuth 2.1 has it: required, with S256, of everybody."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)

    def validate_code_challenge(self, grant: Any, redirect_uri: Any) -> None:
        """Raise InvalidRequestError where the challenge is missing, or made by another method."""
        data = grant.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("a 'code_challenge' with the 'code_challenge_method' S256 is needed")
        super().validate_code_challenge(grant, redirect_uri)


class ResourceIndicator:
    """RFC 8707: a token is for one resource, which the client names if there are several."""

    def __init__(self, resources: tuple[str, ...]) -> None:
        self._resources = resources

    def __call__(self, grant: Any) -> None:
        """Look at the grant's requests, as Authlib's extensions do."""
        grant.register_hook("after_validate_authorization_request_payload", self._check)
        grant.register_hook("after_validate_token_request", self._check_again)

    def _check(self, grant: Any, result: Any) -> None:
        self.of(grant.request)

    def _check_again(self, grant: Any, result: Any) -> None:
        self.match(grant.request, grant.request.authorization_code.kept.grant)

    def of(self, request: Any) -> str:
        """Return the resource of a request to /authorize, as we write it; raises InvalidTarget."""
        named = request.payload.datalist.get("resource", []) or (self._resources if len(self._resources) == 1 else ())
        known = {known_resource(one, self._resources) for one in named}
        if len(known) != 1 or (resource := known.pop()) is None:
            raise InvalidTarget(f"'resource' must be {' or '.join(self._resources)}, got {', '.join(named) or 'none'}")
        return resource

    def match(self, request: Any, grant: Grant) -> None:
        """Raise InvalidTarget if a request to /token names another resource than its grant has."""
        named = request.payload.datalist.get("resource", [])
        if {known_resource(one, self._resources) for one in named} - {grant.resource}:
            raise InvalidTarget(f"'resource' must be {grant.resource}, as at /authorize, got {', '.join(named)}")


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    """The authorization code grant."""

    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

    def generate_authorization_code(self) -> str:
        """Return the code of the request, which is the same however often the person answers it."""
        return str(self.server.code)

    def save_authorization_code(self, code: str, request: Any) -> None:
        """Keep the code and the grant that it begins."""
        self.server.keep_code(code, request)

    def query_authorization_code(self, code: str, client: OAuthClient) -> Kept | None:
        """Return the code, from now on used; a second use ends what the first one gave: RFC 6749, section 4.1.2."""
        rows = self.server.rows
        found = rows.code(hashed(code))
        if found is None or found.grant.client_id != client.client_id:
            return None
        if found.used:
            _revoke(rows, found.grant, "code reused")
            return None
        rows.use_code(found.hash)
        return Kept(found) if found.valid and found.grant.stands else None

    def delete_authorization_code(self, authorization_code: Kept) -> None:
        """Nothing: it is used already, and kept so that another use is noticed."""

    def authenticate_user(self, authorization_code: Kept) -> Grant:
        """Return whose grant it is."""
        return authorization_code.kept.grant


class RotatingRefreshGrant(RefreshTokenGrant):  # type: ignore[misc]
    """Refresh tokens that rotate: RFC 9700, section 4.14.2.

    A used token gives the same successor again for REPEAT_SECONDS, unless that successor was used: processes of one
    client refresh at once, and answers get lost. Any other second use ends the grant.
    """

    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)
    INCLUDE_NEW_REFRESH_TOKEN = True

    def _validate_request_token(self, client: OAuthClient) -> Any:
        found = super()._validate_request_token(client)
        self.server.resource.match(self.request, found.kept.grant)
        return found

    def authenticate_refresh_token(self, refresh_token: str) -> Kept | None:
        """Return the token if it may be used, perhaps again; a use of a token that was replaced ends its grant."""
        rows = self.server.rows
        found = rows.refresh_token(hashed(refresh_token))
        asking = self.request.payload.client_id or ""
        if found is None or not hmac.compare_digest(found.grant.client_id.encode(), asking.encode()):
            return None
        if found.used and found.successor_salt is None:
            _revoke(rows, found.grant, "refresh token reused")
            return None
        if not found.valid or not found.grant.stands:
            return None
        kept = Kept(found)
        kept.successor_salt = found.successor_salt or secrets.token_bytes(32)
        self.server.refresh_token = _successor(refresh_token, kept.successor_salt)
        return kept

    def authenticate_user(self, refresh_token: Kept) -> Grant:
        """Return whose grant it is."""
        return refresh_token.kept.grant

    def revoke_old_credential(self, refresh_token: Kept) -> None:
        """Note the first use."""
        if not refresh_token.kept.used:
            self.server.rows.use_refresh_token(refresh_token.kept, refresh_token.successor_salt)


class Revocation(RevocationEndpoint):  # type: ignore[misc]
    """RFC 7009: whichever of its tokens is shown, the whole grant ends."""

    CLIENT_AUTH_METHODS = ("none",)

    def query_token(self, token_string: str, token_type_hint: str | None) -> Kept | None:
        """Return the refresh token, or the one grant that an access token is of."""
        found = self.server.rows.refresh_token(hashed(token_string))
        if found is None and (grant := self.server.grant_of(token_string)):
            found = RefreshToken(hash=b"", grant=grant)
        return Kept(found) if found else None

    def revoke_token(self, token: Kept, request: Any) -> None:
        """End the grant."""
        _revoke(self.server.rows, token.kept.grant, "revoked by its client")


def granted_to(person: Person, request: Any) -> frozenset[Any]:
    """Return the scopes of a request that this person may grant; raises InvalidGrantError where none is left."""
    scopes = scopes_of(request.scope.split()) & person.scopes
    if not scopes:
        raise InvalidGrantError("this account may grant none of these scopes")
    return scopes


def _successor(refresh_token: str, salt: bytes) -> str:
    """Return the token that replaces another one. Neither the token without the salt, nor the database gives it."""
    derived = hmac.digest(refresh_token.encode("utf-8", "surrogateescape"), salt, "sha256")
    return base64.urlsafe_b64encode(derived).rstrip(b"=").decode()


def _revoke(rows: Any, grant: Grant, reason: str) -> None:
    rows.revoke(grant.id, reason)
    log.warning(
        "audit", action="revoke_grant", outcome="done", grant=str(grant.id), client=grant.client_id, reason=reason
    )
