"""JSON Web Tokens: verify those of an OpenID issuer with PyJWT, against the keys it publishes."""

import http.client
import json
import threading
import time
import urllib.request
from collections.abc import Mapping
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
KEYS_SECONDS = 3600
RETRY_SECONDS = 10.0
"""How often, at most, an unknown key id makes us ask the issuer anew."""


_NOT_HAD = (jwt.PyJWKClientError, jwt.PyJWKSetError, ValueError, OSError, http.client.HTTPException)


class OidcVerifier:
    """Verifies the tokens of one issuer for one audience; the issuer's keys are fetched on first use and kept."""

    def __init__(self, issuer: str, audience: str) -> None:
        self._issuer = issuer
        self._audience = audience
        self._asking = threading.Lock()
        self._asked_anew_at = 0.0

    def verify(self, token: str) -> Mapping[str, Any]:
        """The token's claims; raises Unauthorized, or Unavailable where the issuer's keys cannot be had."""
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in ALGORITHMS:
                raise Unauthorized("the token is not signed as it must be")
            claims: dict[str, Any] = jwt.decode(
                token,
                self._key(header.get("kid")),
                algorithms=[str(header["alg"])],
                audience=self._audience,
                issuer=self._issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as exc:
            log.info("token_refused", error=type(exc).__name__)
            raise Unauthorized("the token is not valid") from exc
        return claims

    def check(self) -> int:
        """How many keys the issuer signs with; raises Unavailable where they cannot be had."""
        try:
            return len(self._client.get_signing_keys())
        except _NOT_HAD as exc:
            raise Unavailable("the identity provider does not answer as it should") from exc

    def _key(self, key_id: object) -> Any:
        try:
            keys = self._client.get_signing_keys()
            if (match := _match(keys, key_id)) is not None:
                return match
            with self._asking:
                if time.monotonic() < self._asked_anew_at + RETRY_SECONDS:
                    raise Unauthorized("the token is signed with an unknown key")
                self._asked_anew_at = time.monotonic()
            match = _match(self._client.get_signing_keys(refresh=True), key_id)
        except _NOT_HAD as exc:
            log.warning("issuer_unreachable", issuer=self._issuer, error=str(exc))
            raise Unavailable("the identity provider does not answer as it should") from exc
        if match is None:
            raise Unauthorized("the token is signed with an unknown key")
        return match

    @cached_property
    def _client(self) -> jwt.PyJWKClient:
        return jwt.PyJWKClient(self._jwks_uri(), lifespan=KEYS_SECONDS, timeout=TIMEOUT_SECONDS)

    def _jwks_uri(self) -> str:
        """Where the issuer says its keys are: https://openid.net/specs/openid-connect-discovery-1_0.html."""
        url = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310 - the operator's own
                return str(json.load(response)["jwks_uri"])
        except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException) as exc:
            log.warning("issuer_unreachable", issuer=self._issuer, error=str(exc))
            raise Unavailable("the identity provider does not answer as it should") from exc


def checked_elsewhere(token: str) -> Mapping[str, Any]:
    """The claims of a token whose signature Cloud Run has checked and taken away; raises Unauthorized."""
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
