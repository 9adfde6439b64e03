"""Grant types for Authlib: authorization code with PKCE, rotating refresh tokens, and revocation.

Authlib validates requests. These classes read and write the stored codes and tokens, and require more than Authlib:
PKCE with S256 (RFC 9700, section 2.1.1), a resource (RFC 8707), and a single use of each code and token.
"""

import base64
import hmac
import secrets
from typing import Any

from authlib.oauth2.rfc6749 import ClientMixin, InvalidGrantError, InvalidRequestError, OAuth2Error
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc7636.challenge import CODE_VERIFIER_PATTERN

from mnemosyne.domain.oauth import (
    DEFAULT_SCOPES,
    SUPPORTED_SCOPES,
    Client,
    Code,
    Grant,
    Person,
    RefreshToken,
    canonical_resource,
)
from mnemosyne.domain.principal import hash_secret, scopes_of
from mnemosyne.domain.redirect_uris import redirect_problem
from mnemosyne.observability import EventLog

log = EventLog(__name__)


class InvalidTarget(OAuth2Error):  # type: ignore[misc]
    """The error `invalid_target`: https://www.rfc-editor.org/rfc/rfc8707#section-2."""

    error = "invalid_target"


class OAuthClient(ClientMixin):  # type: ignore[misc]
    """A client, with the interface that Authlib expects."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.client_id = client.id

    def get_client_id(self) -> str:
        return self.client.id

    def get_default_redirect_uri(self) -> str | None:
        """Return None, because OAuth 2.1 requires a redirect URI in every request."""
        return None

    def get_allowed_scope(self, scope: str | None) -> str | None:
        """Return the supported scopes of the request. If it has no supported scope, return the default scopes."""
        supported = scopes_of((scope or "").split()) & {*SUPPORTED_SCOPES}
        return " ".join(sorted(supported or DEFAULT_SCOPES))

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return self.client.allows_redirect(redirect_uri)

    def check_client_secret(self, client_secret: str) -> bool:
        """Return False, because clients have no secret."""
        return False

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        """Whether the client may authenticate by this method. Only `none` is allowed."""
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code" or (grant_type == "refresh_token" and self.client.refreshes)


class StoredToken:
    """A code or refresh token, with the interface that Authlib expects."""

    def __init__(self, record: Code | RefreshToken) -> None:
        self.record = record
        self.redirect_uri = str(getattr(record, "redirect_uri", ""))
        self.code_challenge = getattr(record, "code_challenge", "")
        self.code_challenge_method = "S256"
        self.successor_salt = b""

    def check_client(self, client: OAuthClient | None) -> bool:
        """Whether the token belongs to the client.

        `client` is None for a revocation without a client_id. Then the result is true for every token.
        """
        return client is None or self.record.grant.client_id == client.client_id

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return " ".join(sorted(self.record.grant.scopes))


class S256Only(CodeChallenge):  # type: ignore[misc]
    """PKCE as in OAuth 2.1: required from every client, with S256."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)

    def validate_code_challenge(self, grant: Any, redirect_uri: Any) -> None:
        """Raise InvalidRequestError if the challenge is missing or its method is not S256."""
        data = grant.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("a 'code_challenge' with the 'code_challenge_method' S256 is needed")
        super().validate_code_challenge(grant, redirect_uri)


class ResourceIndicator:
    """Checks the resource for which a token is issued (RFC 8707).

    A client must name the resource if the server has several resources.
    """

    def __init__(self, resources: tuple[str, ...]) -> None:
        self._resources = resources

    def __call__(self, grant: Any) -> None:
        """Register the hooks of this Authlib extension."""
        grant.register_hook("after_validate_authorization_request_payload", lambda grant, _: self.of(grant.request))
        grant.register_hook(
            "after_validate_token_request",
            lambda grant, _: self.match(grant.request, grant.request.authorization_code.record.grant),
        )

    def of(self, request: Any) -> str:
        """Return the resource of a request to /authorize, spelled as in the settings. Raises InvalidTarget."""
        resources = request.payload.datalist.get("resource", []) or (
            self._resources if len(self._resources) == 1 else ()
        )
        canonical = {canonical_resource(name, self._resources) for name in resources}
        if len(canonical) != 1 or (resource := canonical.pop()) is None:
            raise InvalidTarget(
                f"'resource' must be {' or '.join(self._resources)}, got {', '.join(resources) or 'none'}"
            )
        return resource

    def match(self, request: Any, grant: Grant) -> None:
        """Raise InvalidTarget if a request to /token names another resource than its grant."""
        resources = request.payload.datalist.get("resource", [])
        if {canonical_resource(name, self._resources) for name in resources} - {grant.resource}:
            raise InvalidTarget(f"'resource' must be {grant.resource}, as at /authorize, got {', '.join(resources)}")


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    """The authorization code grant."""

    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

    @staticmethod
    def validate_authorization_redirect_uri(request: Any, client: OAuthClient) -> str:
        """Return the redirect URI. Raises InvalidRequestError if it is unsupported, or is not a URI of the client."""
        uri = request.payload.redirect_uri
        if uri and (problem := redirect_problem(uri)):
            raise InvalidRequestError(f"redirect_uri {uri[:200]} {problem}")
        return str(AuthorizationCodeGrant.validate_authorization_redirect_uri(request, client))

    def generate_authorization_code(self) -> str:
        """Return the code of the request. If the person submits the consent form twice, the code is the same."""
        return str(self.server.code)

    def save_authorization_code(self, code: str, request: Any) -> None:
        self.server.save_code(code, request)

    def validate_token_request(self) -> None:
        """Validate a request to /token. A malformed verifier is refused first, so that it does not use up the code."""
        if not CODE_VERIFIER_PATTERN.match(self.request.form.get("code_verifier", "")):
            raise InvalidRequestError("code_verifier must be 43 to 128 characters of A-Z, a-z, 0-9, -, ., _ and ~")
        super().validate_token_request()

    def query_authorization_code(self, code: str, client: OAuthClient) -> StoredToken | None:
        """Return the code and mark it as used. A second use revokes the grant: RFC 6749, section 4.1.2."""
        rows = self.server.rows
        record = rows.code(hash_secret(code))
        if record is None or record.grant.client_id != client.client_id:
            return None
        if record.used:
            _revoke(rows, record.grant, "code reused")
            return None
        rows.use_code(record.hash)
        token = StoredToken(record)
        if not self.request.payload.redirect_uri:
            token.redirect_uri = ""  # OAuth 2.1 has no redirect_uri at /token, because the verifier protects the code
        return token if record.valid and record.grant.valid else None

    def delete_authorization_code(self, authorization_code: StoredToken) -> None:
        """Do nothing. The code is already marked as used, and is kept so that a second use is detected."""

    def authenticate_user(self, authorization_code: StoredToken) -> Grant:
        """Return the grant to which the code belongs. Authlib uses the grant as the user."""
        return authorization_code.record.grant


class RotatingRefreshGrant(RefreshTokenGrant):  # type: ignore[misc]
    """Rotating refresh tokens: RFC 9700, section 4.14.2.

    Each use of a token returns its successor (the next token). Processes of one client may refresh at the same time,
    and responses get lost. Therefore a used token returns the same successor again for REPEAT_SECONDS, but only while
    the successor is unused. Any other second use revokes the grant.
    """

    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)
    INCLUDE_NEW_REFRESH_TOKEN = True

    def _validate_request_token(self, client: OAuthClient) -> Any:
        try:
            token = super()._validate_request_token(client)
        except InvalidGrantError as exc:
            exc.description = "the refresh token is unknown, expired, revoked, or was used before: log in again"
            raise
        self.server.resource.match(self.request, token.record.grant)
        return token

    def _validate_token_scope(self, token: StoredToken) -> None:
        """Leave unsupported scopes out of the request, as /authorize does, and refuse scopes beyond the grant."""
        supported = scopes_of((self.request.payload.scope or "").split()) & {*SUPPORTED_SCOPES}
        self.request.payload.data["scope"] = " ".join(sorted(supported))
        super()._validate_token_scope(token)

    def authenticate_refresh_token(self, refresh_token: str) -> StoredToken | None:
        """Return the token if it is unused, or if its second use is allowed (see RotatingRefreshGrant).

        A second use that is not allowed revokes the grant.
        """
        rows = self.server.rows
        record = rows.refresh_token(hash_secret(refresh_token))
        client_id = self.request.payload.client_id or ""
        if record is None or not hmac.compare_digest(record.grant.client_id.encode(), client_id.encode()):
            return None
        if record.used and record.successor_salt is None:
            _revoke(rows, record.grant, "refresh token reused")
            return None
        if not record.valid or not record.grant.valid:
            return None
        token = StoredToken(record)
        token.successor_salt = record.successor_salt or secrets.token_bytes(32)
        self.server.refresh_token = _derive_successor(refresh_token, token.successor_salt)
        return token

    def authenticate_user(self, refresh_token: StoredToken) -> Grant:
        """Return the grant to which the token belongs. Authlib uses the grant as the user."""
        return refresh_token.record.grant

    def revoke_old_credential(self, refresh_token: StoredToken) -> None:
        """Mark the token as used, at its first use."""
        if not refresh_token.record.used:
            self.server.rows.use_refresh_token(refresh_token.record, refresh_token.successor_salt)


class Revocation(RevocationEndpoint):  # type: ignore[misc]
    """Token revocation (RFC 7009). Revoking any token of a grant revokes the grant.

    A request need not have a client_id. A client_id is public, so it would not prove more than the token itself.
    """

    CLIENT_AUTH_METHODS = ("none",)

    def authenticate_endpoint_client(self, request: Any) -> Any:
        """Return the client; None if the request has no client_id."""
        return super().authenticate_endpoint_client(request) if request.payload.client_id else None

    def query_token(self, token_string: str, token_type_hint: str | None) -> StoredToken | None:
        """Return the stored refresh token. For an access token, return a placeholder with the grant of that token."""
        record = self.server.rows.refresh_token(hash_secret(token_string))
        if record is None and (grant := self.server.grant_of(token_string)):
            record = RefreshToken(hash=b"", grant=grant)
        return StoredToken(record) if record else None

    def revoke_token(self, token: StoredToken, request: Any) -> None:
        _revoke(self.server.rows, token.record.grant, "revoked by its client")


def grantable_scopes(person: Person, request: Any) -> frozenset[Any]:
    """Return the requested scopes that the person may grant. Raises InvalidGrantError if there is no such scope."""
    scopes = scopes_of(request.scope.split()) & person.scopes
    if not scopes:
        raise InvalidGrantError("this account may grant none of these scopes")
    return scopes


def _derive_successor(refresh_token: str, salt: bytes) -> str:
    """Derive the next refresh token from the old token and the salt.

    The database has the salt but not the old token, so nobody can derive the next token from the database alone.
    """
    derived = hmac.digest(refresh_token.encode("utf-8", "surrogateescape"), salt, "sha256")
    return base64.urlsafe_b64encode(derived).rstrip(b"=").decode()


def _revoke(rows: Any, grant: Grant, reason: str) -> None:
    rows.revoke(grant.id, reason)
    log.warning(
        "audit", action="revoke_grant", outcome="done", grant=str(grant.id), client=grant.client_id, reason=reason
    )
