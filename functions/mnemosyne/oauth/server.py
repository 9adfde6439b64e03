"""The authorization server: Authlib's endpoints with our storage and signing keys."""

import json
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from authlib.oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import (
    AccessDeniedError,
    OAuth2Error,
    UnsupportedGrantTypeError,
    UnsupportedResponseTypeError,
)
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from mnemosyne.domain.oauth import (
    ACCESS_TOKEN_SECONDS,
    CLIENT_SECONDS,
    CODE_SECONDS,
    REFRESH_TOKEN_SECONDS,
    Client,
    Code,
    Grant,
    Person,
    RefreshToken,
)
from mnemosyne.domain.principal import hash_secret
from mnemosyne.domain.redirect_uris import add_parameters
from mnemosyne.ids import new_id
from mnemosyne.oauth.errors import describe
from mnemosyne.oauth.grants import (
    CodeGrant,
    OAuthClient,
    ResourceIndicator,
    Revocation,
    RotatingRefreshGrant,
    S256Only,
    grantable_scopes,
)
from mnemosyne.oauth.request import OAuthRequest
from mnemosyne.observability import EventLog
from mnemosyne.ports.identity import Signer

if TYPE_CHECKING:
    from mnemosyne.adapters.database.oauth import OAuthRows

log = EventLog(__name__)


@dataclass
class Answer:
    """Response of an endpoint: JSON, or a redirection."""

    status: int
    body: Any
    headers: Mapping[str, str]
    has_code: bool = False
    """Whether the redirection has an authorization code."""

    @property
    def location(self) -> str:
        """Target of the redirection; empty if there is none."""
        return self.headers.get("Location", "")


@dataclass(frozen=True)
class Issuer:
    """The issuer of tokens, with its resources and signing keys."""

    url: str
    resources: tuple[str, ...]
    signer: Signer
    access_token_seconds: int = ACCESS_TOKEN_SECONDS


def redirection(issuer: Issuer, request: OAuthRequest, uri: str, parameters: Iterable[tuple[str, str]]) -> Answer:
    """Return the redirection to a client's redirect URI, with parameters, the client's state and the issuer (RFC 9207).

    `request` is the client's request to /authorize.
    """
    state = [("state", request.payload.state)] if request.payload.state else []
    return Answer(303, None, {"Location": add_parameters(uri, [*parameters, *state, ("iss", issuer.url)])})


def error_redirection(issuer: Issuer, request: OAuthRequest, error: OAuth2Error) -> Answer:
    """Return the redirection that tells the client about an error at /authorize.

    The redirection has no location if the client's redirect URI is not valid.
    """
    if not error.redirect_uri:
        return Answer(error.status_code, None, {})
    error.state = None  # the redirection has the state already
    return redirection(issuer, request, error.redirect_uri, error.get_body())


class Server(AuthorizationServer):  # type: ignore[misc]
    """Authlib's authorization server for one request, with one transaction and one client."""

    def __init__(self, issuer: Issuer, rows: "OAuthRows", client: Client | None) -> None:
        super().__init__()
        self.issuer = issuer
        self.rows = rows
        self._client = client
        self.code = self.refresh_token = secrets.token_urlsafe(32)
        self.resource = ResourceIndicator(issuer.resources)
        self.register_grant(CodeGrant, [S256Only(required=True), self.resource])
        self.register_grant(RotatingRefreshGrant)
        self.register_endpoint(Revocation)
        self.register_token_generator("default", self._generate_token)

    # -- endpoints

    def examine(self, request: OAuthRequest) -> Client:
        """Validate a request to /authorize and return its client. Raises OAuth2Error, InvalidRequest."""
        client: Client = self.get_consent_grant(request).request.client.client
        return client

    def answer(self, request: OAuthRequest, person: Person | None) -> Answer:
        """Issue an authorization code for the person, and return the redirection with this code to the client.

        If `person` is None, no code is issued, and the redirection has the error access_denied.
        """
        try:
            grant = self.get_consent_grant(request)
            if person is None:
                raise AccessDeniedError(redirect_uri=grant.redirect_uri)
            _save_document(self.rows, grant.request.client.client)
            grant.create_authorization_response(grant.redirect_uri, person)
        except OAuth2Error as exc:  # the person refuses, or the client changed since /authorize
            return error_redirection(self.issuer, request, exc)
        answer = redirection(self.issuer, request, grant.redirect_uri, [("code", self.code)])
        return replace(answer, has_code=True)

    # -- methods that Authlib calls

    def get_authorization_grant(self, request: OAuthRequest) -> Any:
        """Return the grant type for a request to /authorize. Raises UnsupportedResponseTypeError."""
        try:
            return super().get_authorization_grant(request)
        except UnsupportedResponseTypeError as exc:
            raise describe(exc, "response_type", "code", request.payload.response_type) from None

    def get_token_grant(self, request: OAuthRequest) -> Any:
        """Return the grant type for a request to /token. Raises UnsupportedGrantTypeError."""
        try:
            return super().get_token_grant(request)
        except UnsupportedGrantTypeError as exc:
            raise describe(
                exc, "grant_type", "authorization_code or refresh_token", request.payload.grant_type
            ) from None

    def create_oauth2_request(self, request: OAuthRequest) -> OAuthRequest:
        """Return the request unchanged, because it already has the interface that Authlib expects."""
        return request

    def query_client(self, client_id: str) -> OAuthClient | None:
        """Return the client of the request; None if `client_id` is not the id of this client.

        The client was read before the transaction, because its document sometimes has to be fetched from the web.
        """
        return OAuthClient(self._client) if self._client and self._client.id == client_id else None

    def handle_response(self, status: int, body: Any, headers: Any) -> Answer:
        """Convert a response of Authlib to an Answer."""
        return Answer(status, json.loads(body) if isinstance(body, str) and body else body, dict(headers))

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Do nothing, because no signal has a receiver."""

    def save_token(self, token: Mapping[str, Any], request: OAuthRequest) -> None:
        """Store the hash of the refresh token, and extend the lifetime of the grant. Access tokens are not stored."""
        seconds = REFRESH_TOKEN_SECONDS if "refresh_token" in token else self.issuer.access_token_seconds
        self.rows.extend_grant(request.user.id, seconds)
        if refresh_token := token.get("refresh_token"):
            record = RefreshToken(hash=hash_secret(refresh_token), grant=request.user)
            self.rows.add_refresh_token(record, REFRESH_TOKEN_SECONDS)
        self.rows.extend_client(request.client.client_id, CLIENT_SECONDS)
        log.info(
            "audit", action="give_token", outcome="done", grant=str(request.user.id), client=request.client.client_id
        )

    # -- methods that the grant types call

    def save_code(self, code: str, request: OAuthRequest) -> None:
        """Store a code and its new grant. The grant expires with the code, but a use of the code extends the grant."""
        person: Person = request.user
        grant = Grant(
            id=new_id(),
            subject=person.subject,
            person=person.name,
            namespace=person.namespace,
            client_id=request.client.client_id,
            client_name=request.client.client.name,
            scopes=grantable_scopes(person, request),
            resource=self.resource.of(request),
            expires_at=datetime.now(UTC) + timedelta(seconds=CODE_SECONDS),
        )
        self.rows.add_grant(grant, CODE_SECONDS)
        data = request.payload.data
        uri, challenge = data["redirect_uri"], data["code_challenge"]
        record = Code(hash=hash_secret(code), grant=grant, redirect_uri=uri, code_challenge=challenge)
        self.rows.add_code(record, CODE_SECONDS)
        log.info("audit", action="grant", outcome="done", grant=str(grant.id), client=grant.client_id,
                 subject=grant.subject, namespace=grant.namespace)  # fmt: skip

    def grant_of(self, access_token: str) -> Grant | None:
        """Return the grant of an access token; None if the token is not valid."""
        keys = KeySet.import_key_set({"keys": [dict(key) for key in self.issuer.signer.public_keys()]})
        try:
            claims = jwt.decode(access_token, keys).claims
            return self.rows.grant(UUID(str(claims.get("grant", ""))))
        except (JoseError, ValueError):
            return None

    def _generate_token(
        self, *, user: Grant, scope: str | None, include_refresh_token: bool, **_: object
    ) -> dict[str, Any]:
        token = {
            "access_token": self.issuer.signer.sign(self._token_claims(user, scope or "")),
            "token_type": "Bearer",
            "expires_in": self.issuer.access_token_seconds,
            "scope": scope,
        }
        return token | ({"refresh_token": self.refresh_token} if include_refresh_token else {})

    def _token_claims(self, grant: Grant, scope: str) -> dict[str, Any]:
        """Build the claims of an access token: the claims of RFC 9068, the namespace, and the id of the grant."""
        now = int(time.time())
        return {
            "iss": self.issuer.url,
            "sub": grant.subject,
            "aud": grant.resource,
            "client_id": grant.client_id,
            "scope": scope,
            "namespace": grant.namespace,
            "grant": str(grant.id),
            "iat": now,
            "exp": now + self.issuer.access_token_seconds,
            "jti": secrets.token_urlsafe(16),
        }


def _save_document(rows: "OAuthRows", client: Client) -> None:
    """Store a client's metadata document after a person has consented. A client without a document is not stored."""
    if client.host:
        rows.save_client(client, CLIENT_SECONDS)
