"""JSON Web Tokens: verify those of an OpenID issuer with PyJWT, against the keys it publishes."""

import http.client
import json
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jwt

from mnemosyne.errors import Unauthorized, Unavailable
from mnemosyne.observability import EventLog

log = EventLog(__name__)

# Asymmetric ones only: `none` is unsigned, and HS256 would take the public key for a shared secret.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
LEEWAY_SECONDS = 30
TIMEOUT_SECONDS = 5
KEYS_SECONDS = 300
"""How long keys are used before they are fetched again, and so how long a withdrawn key is believed."""
RETRY_SECONDS = 10.0
"""How often, at most, the issuer is asked anew."""
STALE_SECONDS = 3600
"""How long keys are used while the issuer cannot be asked for newer ones. Whoever stole a key can delay its end by no
more than this."""


NOT_THERE = (404, 405)
"""What issuers answer who have no metadata at an address."""
SIGNATURE_REMOVED = "SIGNATURE_REMOVED_BY_GOOGLE"
"""What Cloud Run puts in the place of a signature that it has checked, so that the token is of no use elsewhere:
https://cloud.google.com/run/docs/troubleshooting#signature-removed. It does so with some tokens and not with others."""

_JWKS_ERRORS = (jwt.PyJWKClientError, jwt.PyJWKSetError, ValueError, OSError, http.client.HTTPException)


class OidcVerifier:
    """Verifies the tokens of one issuer for some audiences; the issuer's keys are fetched on first use and kept.

    `service` is the name of a Cloud Run service that admits named callers alone. Cloud Run has then checked every token
    before the process sees it: one without its signature is believed, and each address of that service is the audience.

    With a `token_type`, tokens of other types are refused, such as ID tokens: https://www.rfc-editor.org/rfc/rfc9068#section-4.
    """

    def __init__(self, issuer: str, *audiences: str, service: str = "", token_type: str = "") -> None:
        self._issuer = issuer
        # Servers give tokens with and without the slash that ends a path: https://www.rfc-editor.org/rfc/rfc8707#section-2.
        self._audiences = [one for plain in audiences for one in (plain.rstrip("/"), f"{plain.rstrip('/')}/")]
        self._service = service
        self._token_type = token_type
        self._keys = _IssuerKeys(self._fetch)

    def verify(self, token: str) -> Mapping[str, Any]:
        """Return the token's claims; raises Unauthorized, or Unavailable where the issuer's keys cannot be had."""
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in ALGORITHMS:
                raise Unauthorized("the token is not signed as it must be")
            if self._token_type and str(header.get("typ")).lower().removeprefix("application/") != self._token_type:
                raise Unauthorized("the token is not an access token")
            checked = bool(self._service) and token.rpartition(".")[2] == SIGNATURE_REMOVED
            claims: dict[str, Any] = jwt.decode(
                token,
                "" if checked else self._key(header.get("kid")),
                algorithms=[str(header["alg"])],
                audience=self._audiences_of(token),
                issuer=self._issuer,
                leeway=LEEWAY_SECONDS,
                options={
                    "require": ["exp", "iat", "iss", "aud", "sub"],
                    "verify_signature": not checked,
                    # Said outright: without the signature PyJWT looks at none of them by itself.
                    "verify_aud": True,
                    "verify_exp": True,
                    "verify_iat": True,
                    "verify_iss": True,
                    "verify_nbf": True,
                    "verify_sub": True,
                },
            )
        except jwt.PyJWTError as exc:
            log.info("token_refused", error=type(exc).__name__)
            raise Unauthorized("the token is not valid") from exc
        return claims

    def check(self) -> int:
        """How many keys the issuer signs with; raises Unavailable where they cannot be had."""
        return len(self._fetch())

    def _audiences_of(self, token: str) -> list[str]:
        """Return the audiences of which the token must name one: ours, or the one it names where that is the service's
        other address.

        A service has https://SERVICE-NUMBER.REGION.run.app and https://SERVICE-HASH-REGION.a.run.app, and only the
        first is known before it is there: https://cloud.google.com/run/docs/triggering/https-request.
        """
        named = jwt.decode(token, options={"verify_signature": False}).get("aud")
        own = rf"https://{re.escape(self._service)}-[a-z0-9]+-[a-z]+\.a\.run\.app"
        if self._service and isinstance(named, str) and re.fullmatch(own, named):
            return [named]
        return self._audiences

    def _key(self, key_id: object) -> Any:
        match = _match(self._keys.current(), key_id) or _match(self._keys.anew(), key_id)
        if match is None:
            raise Unauthorized("the token is signed with an unknown key")
        return match

    def _fetch(self) -> list[jwt.PyJWK]:
        try:
            return self._client.get_signing_keys(refresh=True)
        except _JWKS_ERRORS as exc:
            log.warning("issuer_unreachable", issuer=self._issuer, error=str(exc))
            raise Unavailable("the identity provider does not answer as it should") from exc

    @cached_property
    def _client(self) -> jwt.PyJWKClient:
        return jwt.PyJWKClient(self._jwks_uri(), lifespan=KEYS_SECONDS, timeout=TIMEOUT_SECONDS)

    def _jwks_uri(self) -> str:
        """Where the issuer says its keys are: by OpenID's discovery, or where it has none by OAuth's."""
        problem: Exception | None = None
        for url in _metadata_urls(self._issuer):
            try:
                with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310 - the operator's own
                    return str(json.load(response)["jwks_uri"])
            except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException) as exc:
                problem = exc
                if not isinstance(exc, urllib.error.HTTPError) or exc.code not in NOT_THERE:
                    break
        log.warning("issuer_unreachable", issuer=self._issuer, error=str(problem))
        raise Unavailable("the identity provider does not answer as it should") from problem


def _metadata_urls(issuer: str) -> list[str]:
    """Where an issuer's metadata may be: https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig, and
    https://www.rfc-editor.org/rfc/rfc8414#section-3, which puts the path of the issuer behind.
    """
    parts = urllib.parse.urlsplit(issuer.rstrip("/"))
    origin = f"{parts.scheme}://{parts.netloc}"
    return [
        f"{origin}{parts.path}/.well-known/openid-configuration",
        f"{origin}/.well-known/oauth-authorization-server{parts.path}",
        f"{origin}/.well-known/openid-configuration{parts.path}",
    ]


class _IssuerKeys:
    """The issuer's keys: fetched by one caller at a time, while the others go on with those that are there.

    An issuer that is slow or away holds up nobody whose key is known, and those whose key is not wait for one attempt.
    """

    def __init__(self, fetch: Callable[[], list[jwt.PyJWK]]) -> None:
        self._fetch = fetch
        self._kept: list[jwt.PyJWK] = []
        self._kept_at = self._failed_at = self._asked_anew_at = float("-inf")
        self._turn = threading.Lock()

    def current(self) -> list[jwt.PyJWK]:
        """Return the keys; raises Unavailable where there are none that may still be used."""
        now = time.monotonic()
        usable = now < self._kept_at + STALE_SECONDS
        pausing = usable and now < self._failed_at + RETRY_SECONDS
        if now >= self._kept_at + KEYS_SECONDS and not pausing:
            self._renew(wait=not usable)
        return self._kept

    def anew(self) -> list[jwt.PyJWK]:
        """Return the keys as the issuer has them now, where it was not asked for new ones just before."""
        now = time.monotonic()
        if now >= self._asked_anew_at + RETRY_SECONDS:
            self._asked_anew_at = now
            self._renew(wait=False)
        return self._kept

    def _renew(self, *, wait: bool) -> None:
        begun = time.monotonic()
        if not self._turn.acquire(blocking=wait):
            return
        try:
            if self._kept_at >= begun:  # while this one waited for its turn
                return
            if self._failed_at >= begun:
                raise Unavailable("the identity provider does not answer as it should")
            self._kept = self._fetch()
            self._kept_at = time.monotonic()
        except Unavailable:
            self._failed_at = time.monotonic()
            if wait:
                raise
        finally:
            self._turn.release()


def decode_unverified(token: str) -> Mapping[str, Any]:
    """Return the claims of a token whose signature Cloud Run has checked and taken away; raises Unauthorized."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            options={
                "verify_signature": False,
                "verify_exp": True,
                "verify_nbf": True,
                "require": ["exp", "iss"],
            },
            leeway=LEEWAY_SECONDS,
        )
    except jwt.PyJWTError as exc:
        raise Unauthorized("the token is not valid") from exc
    return claims


def _match(keys: list[jwt.PyJWK], key_id: object) -> Any:
    return next((key for key in keys if key.key_id == key_id), None)
