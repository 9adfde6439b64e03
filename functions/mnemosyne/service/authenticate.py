"""Authenticate credentials. Each value of AUTH_MODE has its own class.

Errors never say which part of a credential is wrong.
"""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, TypeGuard

from mnemosyne.domain.names import namespace_name
from mnemosyne.domain.oauth import verified_email
from mnemosyne.domain.principal import LOCAL, ApiKey, Principal, Scope, hash_secret, scopes_of
from mnemosyne.errors import ServiceError, Unauthorized, Unavailable
from mnemosyne.observability import EventLog, fault_fields
from mnemosyne.ports.identity import TokenVerifier
from mnemosyne.ports.services import Clock
from mnemosyne.service.api_keys import log_expiry, split_token

log = EventLog(__name__)

SERVERLESS_AUTHORIZATION = "x-serverless-authorization"
"""Cloud Run reads this header instead of Authorization if a request has both:
https://cloud.google.com/run/docs/authenticating/service-to-service."""
FRESH_SECONDS = 30.0
"""Seconds for which the result of looking up a key is cached. While the database responds, a revoked key is refused
after this time at the latest."""
OUTAGE_SECONDS = 600.0
"""Seconds for which a valid key stays cached while the database does not respond (stale-if-error)."""
PAUSE_SECONDS = 5.0
"""Seconds without look-ups after a look-up has failed because the database was unavailable. Callers then get the error
at once."""
CACHE_ENTRIES = 10_000
EXPIRES_SOON = timedelta(days=7)
"""Time before the expiry of a key. If the key is used in this time, each instance logs once that the key expires
soon."""
SUBJECT_NAMESPACE = "user:"
_NO_HASH = hashlib.sha256(secrets.token_bytes(32)).digest()


class Authenticator(Protocol):
    """Finds the principal (authenticated caller) to whom a credential belongs."""

    credential: str
    """Description of the required credential, shown to people who look for a log-in page."""
    only_authorization: bool = False
    """Whether a request with the header X-Serverless-Authorization is rejected. In the mode `iam`, Cloud Run would
    check this header and pass Authorization on unchecked."""

    def authenticate(self, authorization: str | None) -> Principal:
        """Return the principal of a credential. Raises Unauthorized, or Unavailable if the credential cannot be checked
        now."""

    def cached_principal(self, authorization: str | None) -> Principal | None:
        """Return the cached principal of a credential, or None if it is not cached. Does no I/O.

        By default no principal is cached. Raises Unauthorized if there is no credential.
        """
        bearer(authorization)
        return None


class NoAuthenticator(Authenticator):
    """`AUTH_MODE=none`: accepts every caller, on the loopback interface only."""

    credential = "no credential, because it serves only this machine"

    def authenticate(self, authorization: str | None) -> Principal:
        """Return the local principal; credentials are ignored."""
        return LOCAL

    cached_principal = authenticate


@dataclass(frozen=True)
class _CachedKey:
    key: ApiKey | None
    looked_up_at: float


class ApiKeyAuthenticator(Authenticator):
    """`AUTH_MODE=api_key`: an API key in the header, as `Authorization: Bearer mnk_<id>_<secret>`.

    `find` looks up a key by its id. The result is cached for 30 seconds. If the next look-up fails because the database
    is unavailable, a valid key is accepted until 10 minutes after the key's last successful look-up.
    """

    credential = (
        "an API key as `Authorization: Bearer mnk_…`, which its operator creates with "
        "`mnemosyne keys create --name NAME`"
    )

    def __init__(self, find: Callable[[str], ApiKey | None], clock: Clock) -> None:
        self._find = find
        self._clock = clock
        self._keys: dict[str, _CachedKey] = {}
        self._unknown_ids: dict[str, _CachedKey] = {}
        self._expiring: set[str] = set()
        self._circuit_open_until = 0.0
        self._lock = threading.Lock()

    def authenticate(self, authorization: str | None) -> Principal:
        """Return the principal of an API key.

        Raises Unauthorized, or Unavailable if the key is not cached and the database does not respond.
        """
        identifier, secret = split_token(bearer(authorization))
        return self._check_key(self._look_up(identifier) if identifier else None, secret)

    def cached_principal(self, authorization: str | None) -> Principal | None:
        """Return the principal of a key that was looked up in the last 30 seconds, otherwise None."""
        identifier, secret = split_token(bearer(authorization))
        cached = self._keys.get(identifier or "")
        if cached is None or time.monotonic() >= cached.looked_up_at + FRESH_SECONDS:
            return None
        return self._check_key(cached.key, secret)

    def _check_key(self, key: ApiKey | None, secret: str) -> Principal:
        # Compare in constant time, and compare with a dummy hash if the key does not exist. Otherwise the duration
        # would reveal whether a key exists.
        same = hmac.compare_digest(hash_secret(secret), key.secret_hash if key else _NO_HASH)
        if key is None or not same or not key.valid(self._clock()):
            raise Unauthorized("the key is unknown, expired or revoked")
        self._note_expiry(key)
        return key.principal

    def _note_expiry(self, key: ApiKey) -> None:
        """Log that a key in use expires soon. Each instance of the server logs this once for each key."""
        if key.expires_at and key.id not in self._expiring and key.expires_at - self._clock() < EXPIRES_SOON:
            self._expiring.add(key.id)
            log_expiry(key)

    def _look_up(self, key_id: str) -> ApiKey | None:
        now = time.monotonic()
        cached = self._keys.get(key_id) or self._unknown_ids.get(key_id)
        if cached is not None and now < cached.looked_up_at + FRESH_SECONDS:
            return cached.key
        stale_key = cached.key if cached is not None and now < cached.looked_up_at + OUTAGE_SECONDS else None
        if now < self._circuit_open_until:  # a look-up has just failed: do not wait for another look-up
            if stale_key:
                return stale_key
            raise Unavailable("the database is not responding")
        try:
            key = self._find(key_id)
        except ServiceError as exc:
            self._circuit_open_until = time.monotonic() + PAUSE_SECONDS
            if stale_key:
                log.warning("api_key_believed", key=key_id, **fault_fields(exc))
                return stale_key
            raise
        self._remember(key_id, _CachedKey(key, now))
        return key

    def _remember(self, key_id: str, entry: _CachedKey) -> None:
        """Cache the result of a look-up.

        Keys and unknown ids have separate caches, so that guessed ids do not evict keys.
        """
        entries, other_entries = (self._keys, self._unknown_ids) if entry.key else (self._unknown_ids, self._keys)
        with self._lock:
            other_entries.pop(key_id, None)
            entries.pop(key_id, None)
            if len(entries) >= CACHE_ENTRIES:
                entries.pop(next(iter(entries)))
            entries[key_id] = entry


class OidcAuthenticator(Authenticator):
    """`AUTH_MODE=oidc`: a JWT that the issuer made for this server. Claims of the token give the namespace and the
    scopes."""

    credential = "a token of its issuer as `Authorization: Bearer …`"

    def __init__(self, verifier: TokenVerifier, namespace_claim: str) -> None:
        self._verifier = verifier
        self._claim = namespace_claim

    def authenticate(self, authorization: str | None) -> Principal:
        """Return the principal of the token. Raises Unauthorized, or Unavailable if the issuer's keys cannot be
        read."""
        claims = self._verifier.verify(bearer(authorization))
        subject = claims["sub"]
        if not is_usable(subject):
            raise Unauthorized("the token's subject cannot be used: it must be 1 to 200 printable characters")
        namespace, scopes = self._namespace(claims), scopes_of(_scope_names(claims))
        return Principal(id=f"oidc:{subject}", namespace=namespace, scopes=scopes, name=subject)

    def _namespace(self, claims: Mapping[str, Any]) -> str:
        claim = claims.get(self._claim)
        namespace = f"{SUBJECT_NAMESPACE}{claims['sub']}" if claim is None else claim
        if not is_usable(namespace):
            raise Unauthorized("the token's namespace cannot be used: it must be 1 to 200 printable characters")
        if claim is None:
            return namespace
        if namespace.startswith(SUBJECT_NAMESPACE):
            raise Unauthorized(f"the token's namespace cannot be used: it must not begin with {SUBJECT_NAMESPACE}")
        if self._claim == "email" and not verified_email(claims):
            raise Unauthorized("the e-mail address of the token is not verified")
        return namespace


class CloudRunIamAuthenticator(Authenticator):
    """`AUTH_MODE=iam`: the e-mail address in an identity token, which Cloud Run has checked, is the namespace.

    Cloud Run removes the signature after the check, so the signature cannot be verified here. This mode is safe only if
    Cloud Run rejects unauthenticated requests, as Terraform configures it.
    """

    credential = "a Google identity token of an account that Cloud Run admits, as `Authorization: Bearer …`"
    only_authorization = True

    def __init__(self, read_claims: Callable[[str], Mapping[str, Any]]) -> None:
        self._read_claims = read_claims

    def authenticate(self, authorization: str | None) -> Principal:
        """Return the principal of the identity token's e-mail address. Raises Unauthorized."""
        claims = self._read_claims(bearer(authorization))
        email = claims.get("email")
        if not is_usable(email) or claims.get("email_verified") is not True:
            raise Unauthorized("the identity token names no verified e-mail")
        return Principal(id=f"iam:{email}", namespace=email, scopes=frozenset({Scope.READ, Scope.WRITE}), name=email)


def is_usable(name: object) -> TypeGuard[str]:
    """Whether a name in a token can be a namespace or subject: 1 to 200 printable characters, no spaces at the ends."""
    return isinstance(name, str) and name.isprintable() and namespace_name(name) != ""


def bearer(authorization: str | None) -> str:
    """Return the token of an Authorization header; raises Unauthorized if there is none."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized("a bearer token is needed: send `Authorization: Bearer …`")
    return token.strip()


def _scope_names(claims: Mapping[str, Any]) -> list[str]:
    for claim in ("scope", "scp", "scopes"):
        value = claims.get(claim)
        if isinstance(value, str):
            return value.split()
        if isinstance(value, list):
            return [str(name) for name in value]
    return []
