"""Verify JSON Web Tokens of an OpenID issuer with PyJWT and the issuer's published keys."""

import http.client
import json
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

import jwt

from mnemosyne.errors import EndedToken, Unauthorized, Unavailable
from mnemosyne.observability import EventLog, fault_fields
from mnemosyne.once import once

log = EventLog(__name__)

# Asymmetric algorithms only: `none` has no signature, and with HS256 anybody who knows the public key could sign.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
LEEWAY_SECONDS = 30
TIMEOUT_SECONDS = 5
KEYS_SECONDS = 300
"""Time after which the keys are fetched again. While the issuer responds, a withdrawn key is accepted for at most this
time."""
RETRY_SECONDS = 10.0
"""Shortest time between two requests to the issuer after a failure or an unknown key."""
WAIT_SECONDS = 1.0
"""Time for which a token with an unknown key waits for another thread that fetches the keys."""
STALE_SECONDS = 3600
"""Time for which keys are used while the issuer is unreachable. A withdrawn key is then accepted for at most this
time."""


NO_METADATA = (404, 405)
"""Statuses with which an issuer answers if it has no metadata at a URL."""
SIGNATURE_REMOVED = "SIGNATURE_REMOVED_BY_GOOGLE"
"""Cloud Run checks the signatures of some tokens and replaces them by this text, so that other services cannot use the
token: https://cloud.google.com/run/docs/troubleshooting#signature-removed."""

UNREACHABLE = "the identity provider does not respond correctly"
CHECK_ISSUER = "check the issuer's address (MNEMOSYNE_OIDC_ISSUER, oauth_upstream_issuer) and the network route to it"
_JWKS_ERRORS = (jwt.PyJWKClientError, jwt.PyJWKSetError, ValueError, OSError, http.client.HTTPException)


class OidcVerifier:
    """Verifies the tokens of one issuer for some audiences. The issuer's keys are fetched on first use and cached.

    `service` is the name of a Cloud Run service with IAM authentication, if there is one. Cloud Run checks the
    signatures of tokens for such a service and removes them. So if `service` is given, a token with a removed signature
    is accepted. Its audience can also be the URL https://SERVICE-HASH-REGION.a.run.app of the service.

    With a `token_type`, tokens of other types, such as ID tokens, are rejected:
    https://www.rfc-editor.org/rfc/rfc9068#section-4.
    """

    def __init__(self, issuer: str, *audiences: str, service: str = "", token_type: str = "") -> None:
        self._issuer = issuer
        # Accept each audience with and without a trailing slash, because servers issue tokens with either form:
        # https://www.rfc-editor.org/rfc/rfc8707#section-2.
        self._audiences = [f"{audience.rstrip('/')}{slash}" for audience in audiences for slash in ("", "/")]
        self._service = service
        self._token_type = token_type
        self._keys = _IssuerKeys(self._fetch_keys)

    def verify(self, token: str) -> Mapping[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in ALGORITHMS:
                raise Unauthorized("the token has an unsupported signature algorithm")
            if self._token_type and str(header.get("typ")).lower().removeprefix("application/") != self._token_type:
                raise Unauthorized("the token is not an access token")
            checked = bool(self._service) and token.rpartition(".")[2] == SIGNATURE_REMOVED
            claims: dict[str, Any] = jwt.decode(
                token,
                "" if checked else self._key_with_id(header.get("kid")),
                algorithms=[str(header["alg"])],
                audience=self._audiences_of(token),
                issuer=self._issuer,
                leeway=LEEWAY_SECONDS,
                options={
                    "require": ["exp", "iat", "iss", "aud", "sub"],
                    "verify_signature": not checked,
                    # Ask for these checks, because by default PyJWT skips them if it does not verify the signature.
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
            # PyJWT checks the signature before the expiry, so EndedToken is raised only for a token with a valid
            # signature.
            error = EndedToken if isinstance(exc, jwt.ExpiredSignatureError) else Unauthorized
            raise error("the token is not valid", detail=self._describe_problem(token, exc)) from exc
        return claims

    def _describe_problem(self, token: str, exc: jwt.PyJWTError) -> str:
        """Return the problem of the token, for the log. At most 100 characters of each claim are quoted."""
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
        except jwt.PyJWTError:
            claims = {}
        audience, issuer = (str(claims.get(name))[:100] for name in ("aud", "iss"))
        expected = " or ".join(audience for audience in self._audiences if not audience.endswith("/"))
        return f"{exc}; received the audience {audience} of {issuer}, expected {expected} of {self._issuer}"

    def check(self) -> int:
        """Fetch the issuer's keys, and return the number of keys. Raises Unavailable if the keys cannot be fetched."""
        return len(self._fetch_keys())

    def _audiences_of(self, token: str) -> list[str]:
        """Return the configured audiences, or the token's own audience if it is the service's URL with a hash.

        A service has the URLs https://SERVICE-NUMBER.REGION.run.app and https://SERVICE-HASH-REGION.a.run.app. The
        URL with the hash is recognised by a pattern, because the hash is not known before the service exists:
        https://cloud.google.com/run/docs/triggering/https-request.
        """
        audience = jwt.decode(token, options={"verify_signature": False}).get("aud")
        own = rf"https://{re.escape(self._service)}-[a-z0-9]+-[a-z]+\.a\.run\.app"
        if self._service and isinstance(audience, str) and re.fullmatch(own, audience):
            return [audience]
        return self._audiences

    def _key_with_id(self, key_id: object) -> Any:
        match = _find_key(self._keys.current(), key_id) or _find_key(self._keys.refresh(), key_id)
        if match is None:
            raise Unauthorized("the token is signed with an unknown key")
        return match

    def _fetch_keys(self) -> list[jwt.PyJWK]:
        try:
            return self._client.get_signing_keys(refresh=True)
        except _JWKS_ERRORS as exc:
            raise unreachable(self._issuer, exc) from exc

    @once
    def _client(self) -> jwt.PyJWKClient:
        return jwt.PyJWKClient(self._jwks_uri(), lifespan=KEYS_SECONDS, timeout=TIMEOUT_SECONDS)

    def _jwks_uri(self) -> str:
        """Read the URL of the issuer's keys from its OpenID metadata, or else from its OAuth metadata."""
        problem: Exception | None = None
        for url in _metadata_urls(self._issuer):
            try:
                with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
                    return str(json.load(response)["jwks_uri"])
            except urllib.error.HTTPError as exc:
                exc.close()  # otherwise the HTTPError would keep the connection of its response open
                problem = exc
                if exc.code not in NO_METADATA:
                    break
            except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException) as exc:
                problem = exc
                break
        raise unreachable(self._issuer, problem) from problem


def unreachable(issuer: str, problem: Exception | None) -> Unavailable:
    """Log that an issuer does not respond correctly, and return the error to raise."""
    error = Unavailable(UNREACHABLE, next_step=CHECK_ISSUER)
    log.warning("issuer_unreachable", issuer=issuer, **fault_fields(error) | {"error": f"{issuer}: {problem}"})
    return error


def _metadata_urls(issuer: str) -> list[str]:
    """Return the possible URLs of an issuer's metadata.

    In OpenID Connect, the well-known path follows the issuer's path:
    https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig. In OAuth, the issuer's path follows the
    well-known path: https://www.rfc-editor.org/rfc/rfc8414#section-3.
    """
    parts = urllib.parse.urlsplit(issuer.rstrip("/"))
    origin = f"{parts.scheme}://{parts.netloc}"
    return [
        f"{origin}{parts.path}/.well-known/openid-configuration",
        f"{origin}/.well-known/oauth-authorization-server{parts.path}",
        f"{origin}/.well-known/openid-configuration{parts.path}",
    ]


class _IssuerKeys:
    """Cache of the issuer's keys. One thread fetches them while other threads use the cached keys.

    Cached keys are usable for STALE_SECONDS. During this time, a slow or unreachable issuer delays only the thread that
    fetches the keys, and threads that verify a token with an unknown key. Such a thread waits for the fetched keys for
    up to WAIT_SECONDS. Without usable keys, the verification of every token waits until one thread has tried to fetch
    them.
    """

    def __init__(self, fetch: Callable[[], list[jwt.PyJWK]]) -> None:
        self._fetch_keys = fetch
        self._cached: list[jwt.PyJWK] = []
        self._cached_at = self._failed_at = self._refreshed_at = float("-inf")
        self._fetch_lock = threading.Lock()

    def current(self) -> list[jwt.PyJWK]:
        """Return the keys. Fetch them again after KEYS_SECONDS. Raises Unavailable if there are no usable keys."""
        now = time.monotonic()
        usable = now < self._cached_at + STALE_SECONDS
        pausing = usable and now < self._failed_at + RETRY_SECONDS
        if now >= self._cached_at + KEYS_SECONDS and not pausing:
            self._renew(wait=not usable)
        return self._cached

    def refresh(self) -> list[jwt.PyJWK]:
        """Fetch the keys again, because a token has an unknown key, and return all keys.

        The keys are fetched at most once in RETRY_SECONDS. Raises Unavailable if they could not be fetched. The caller
        then does not reject the token as invalid, because the issuer may have signed it with a new key.
        """
        # If another thread is fetching the keys, wait for that thread. Otherwise, of several concurrent tokens with the
        # issuer's new key, only the token whose thread fetches the keys would be accepted.
        if not self._fetch_lock.acquire(timeout=WAIT_SECONDS):
            raise Unavailable(UNREACHABLE, next_step=CHECK_ISSUER)
        try:
            now = time.monotonic()
            if now >= self._refreshed_at + RETRY_SECONDS:
                self._refreshed_at = now
                self._fetch()
            elif self._failed_at > self._cached_at:
                raise Unavailable(UNREACHABLE, next_step=CHECK_ISSUER)
        finally:
            self._fetch_lock.release()
        return self._cached

    def _renew(self, *, wait: bool) -> None:
        started_at = time.monotonic()
        if not self._fetch_lock.acquire(blocking=wait):
            return
        try:
            if self._cached_at >= started_at:  # another thread has fetched the keys meanwhile
                return
            if self._failed_at >= started_at:
                raise Unavailable(UNREACHABLE, next_step=CHECK_ISSUER)
            self._fetch()
        except Unavailable:
            if wait:
                raise
        finally:
            self._fetch_lock.release()

    def _fetch(self) -> None:
        try:
            self._cached = self._fetch_keys()
        except Unavailable:
            self._failed_at = time.monotonic()
            raise
        self._cached_at = time.monotonic()


def decode_unverified(token: str) -> Mapping[str, Any]:
    """Return the claims of a token whose signature Cloud Run has checked and removed. Raises Unauthorized."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            options={"verify_signature": False, "verify_exp": True, "verify_nbf": True, "require": ["exp", "iss"]},
            leeway=LEEWAY_SECONDS,
        )
    except jwt.PyJWTError as exc:
        raise Unauthorized("the token is not valid") from exc
    return claims


def _find_key(keys: list[jwt.PyJWK], key_id: object) -> Any:
    return next((key for key in keys if key.key_id == key_id), None)
