"""From a credential to a principal, one class per AUTH_MODE. No hint is given of which part of one was wrong."""

import hashlib
import hmac
import re
import secrets
import string
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeGuard

from mnemosyne.domain.principal import LOCAL, ApiKey, Principal, Scope, scopes_of
from mnemosyne.errors import Misconfigured, Unauthorized, Unavailable
from mnemosyne.observability import EventLog
from mnemosyne.ports import Clock, TokenVerifier

log = EventLog(__name__)

SERVERLESS_AUTHORIZATION = "x-serverless-authorization"
"""The header that Cloud Run looks at in the stead of Authorization, where both are there:
https://cloud.google.com/run/docs/authenticating/service-to-service."""
PREFIX = "mnk"
ID_LENGTH = 12
NAME_LENGTH = 200
"""Characters of a namespace or subject, at most."""
SECRET_LENGTH = 43  # letters and digits: 256 bits
FRESH_SECONDS = 30.0
"""How long a key is believed without asking again: a revocation bites within it."""
OUTAGE_SECONDS = 600.0
"""How long a key that was good is believed while the database is away."""
PAUSE_SECONDS = 5.0
"""How long the database is left alone after it could not be asked."""
KEYS_REMEMBERED = 10_000
SUBJECT_NAMESPACE = "user:"
_ALPHABET = string.ascii_letters + string.digits
_KEY_ID = re.compile(rf"[0-9A-Za-z]{{{ID_LENGTH}}}")
_NO_HASH = hashlib.sha256(secrets.token_bytes(32)).digest()


class Authenticator(Protocol):
    """Tells who calls."""

    @property
    def only_authorization(self) -> bool:
        """Whether X-Serverless-Authorization, which would be looked at in its stead, must not be there."""

    def authenticate(self, authorization: str | None) -> Principal:
        """Whose credential that is; raises Unauthorized, or Unavailable where nobody can tell at the moment."""

    def known(self, authorization: str | None) -> Principal | None:
        """Whose credential that is, where it can be told at once, asking nobody; None where it cannot.

        Raises Unauthorized where there is none.
        """


class Anyone:
    """`AUTH_MODE=none`: whoever reaches this machine's loopback."""

    only_authorization = False

    def authenticate(self, authorization: str | None) -> Principal:
        """The local principal, whatever is presented."""
        return LOCAL

    def known(self, authorization: str | None) -> Principal | None:
        """The same."""
        return LOCAL


@dataclass(frozen=True)
class _Known:
    key: ApiKey | None
    asked_at: float


class ApiKeys:
    """`AUTH_MODE=api_key`: `Bearer mnk_<id>_<secret>`.

    `find` looks a key up by its id. What it says is believed for 30 seconds, and for 10 minutes of a key that was
    found, should the database be away.
    """

    only_authorization = False

    def __init__(self, find: Callable[[str], ApiKey | None], clock: Clock) -> None:
        self._find = find
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._missed: dict[str, _Known] = {}
        self._away_until = 0.0
        self._lock = threading.Lock()

    def authenticate(self, authorization: str | None) -> Principal:
        """The key's principal; raises Unauthorized, or Unavailable where the key is new and the database away."""
        prefix, identifier, secret = _parts(bearer(authorization))
        sound = prefix == PREFIX and _KEY_ID.fullmatch(identifier)
        return self._judged(self._look_up(identifier) if sound else None, secret)

    def known(self, authorization: str | None) -> Principal | None:
        """The principal of a key that was looked up within the last half minute; None of others."""
        prefix, identifier, secret = _parts(bearer(authorization))
        found = self._known.get(identifier)
        if prefix != PREFIX or found is None or time.monotonic() >= found.asked_at + FRESH_SECONDS:
            return None
        return self._judged(found.key, secret)

    def _judged(self, key: ApiKey | None, secret: str) -> Principal:
        # Compared in any case, and in constant time: how long it takes tells nothing.
        same = hmac.compare_digest(hash_secret(secret), key.secret_hash if key else _NO_HASH)
        if key is None or not same or not key.valid(self._clock()):
            raise Unauthorized("the key is not known, expired or revoked")
        return key.principal

    def _look_up(self, key_id: str) -> ApiKey | None:
        now = time.monotonic()
        known = self._known.get(key_id) or self._missed.get(key_id)
        if known is not None and now < known.asked_at + FRESH_SECONDS:
            return known.key
        believed = known is not None and known.key is not None and now < known.asked_at + OUTAGE_SECONDS
        if now < self._away_until:  # asked a moment ago, in vain: everybody would wait for a database that is away
            if known is not None and believed:
                return known.key
            raise Unavailable("the database is away")
        try:
            found = self._find(key_id)
        except (Unavailable, Misconfigured) as exc:
            self._away_until = time.monotonic() + PAUSE_SECONDS
            if known is not None and believed:
                log.warning("api_key_believed", key=key_id)
                return known.key
            raise Unavailable(str(exc)) from exc
        self._remember(self._known if found else self._missed, key_id, _Known(found, now))
        return found

    def _remember(self, where: dict[str, _Known], key_id: str, known: _Known) -> None:
        """Keys that are there and ids that are not stand apart: guesses must not push a key out."""
        with self._lock:
            where.pop(key_id, None)
            if len(where) >= KEYS_REMEMBERED:
                where.pop(next(iter(where)))
            where[key_id] = known


class Oidc:
    """`AUTH_MODE=oidc`: a JWT of the issuer's, for our audience; namespace and scopes are its claims."""

    only_authorization = False

    def __init__(self, verifier: TokenVerifier, namespace_claim: str) -> None:
        self._verifier = verifier
        self._claim = namespace_claim

    def authenticate(self, authorization: str | None) -> Principal:
        """The token's principal; raises Unauthorized, or Unavailable where the issuer's keys cannot be had."""
        claims = self._verifier.verify(bearer(authorization))
        subject = claims["sub"]
        if not _usable(subject):
            raise Unauthorized("the token's subject cannot be used: it must be 1 to 200 printable characters")
        return Principal(
            id=f"oidc:{subject}",
            namespace=self._namespace(claims),
            scopes=scopes_of(_scope_names(claims)),
        )

    def known(self, authorization: str | None) -> Principal | None:
        """None: each token is verified."""
        bearer(authorization)
        return None

    def _namespace(self, claims: Mapping[str, Any]) -> str:
        claimed = claims.get(self._claim)
        if claimed is None:
            return f"{SUBJECT_NAMESPACE}{claims['sub']}"
        sound = _usable(claimed) and not claimed.startswith(SUBJECT_NAMESPACE)
        if not sound or (self._claim == "email" and claims.get("email_verified") is not True):
            raise Unauthorized("the token's namespace cannot be used: it must be 1 to 200 printable characters")
        return str(claimed)


class CloudRunIam:
    """`AUTH_MODE=iam`: Cloud Run has checked the caller's identity token; its e-mail is the namespace.

    Cloud Run replaces the signature of a token it has checked, so there is none to verify here. That makes this mode
    safe only where the service admits no one unauthenticated, as Terraform sees to.
    """

    # Cloud Run looks at X-Serverless-Authorization where both are there, and hands Authorization on as it came.
    only_authorization = True

    def __init__(self, read_claims: Callable[[str], Mapping[str, Any]]) -> None:
        self._read_claims = read_claims

    def authenticate(self, authorization: str | None) -> Principal:
        """The identity's principal; raises Unauthorized."""
        claims = self._read_claims(bearer(authorization))
        email = claims.get("email")
        if not _usable(email) or claims.get("email_verified") is not True:
            raise Unauthorized("the identity token names no verified e-mail")
        return Principal(id=f"iam:{email}", namespace=email, scopes=frozenset({Scope.READ, Scope.WRITE}))

    def known(self, authorization: str | None) -> Principal | None:
        """None: each token is read."""
        bearer(authorization)
        return None


class PushIdentity:
    """Admits pushes of our own subscription: tokens of Google's, for this function, of the account that pushes."""

    def __init__(self, verifier: TokenVerifier, email: str) -> None:
        self._verifier = verifier
        self._email = email

    def check(self, authorization: str | None) -> None:
        """Raises Unauthorized where the push is anybody else's, Unavailable where nobody can tell."""
        claims = self._verifier.verify(bearer(authorization))
        if claims.get("email") != self._email or claims.get("email_verified") is not True:
            raise Unauthorized("the push is not our subscription's")


def key_id(authorization: str | None) -> str | None:
    """The id of the API key in an Authorization header, for a log; None where there is none."""
    token = (authorization or "").partition(" ")[2].strip()
    prefix, identifier, _ = _parts(token)
    return identifier if prefix == PREFIX and _KEY_ID.fullmatch(identifier) else None


def _usable(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and 1 <= len(name) <= NAME_LENGTH and name.isprintable() and not name.isspace()


class SharedSecret:
    """Admits pushes that show the secret which this machine's delivery was started with."""

    def __init__(self, secret: str) -> None:
        self._hash = hash_secret(secret)

    def check(self, authorization: str | None) -> None:
        """Raises Unauthorized where the push is anybody else's."""
        if not hmac.compare_digest(hash_secret(bearer(authorization)), self._hash):
            raise Unauthorized("the push is not our delivery's")


def bearer(authorization: str | None) -> str:
    """The token of an Authorization header; raises Unauthorized where there is none."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized("a bearer token is needed")
    return token.strip()


def new_key(
    *, name: str, namespace: str, scopes: frozenset[Scope], created_at: datetime, expires_at: datetime | None
) -> tuple[ApiKey, str]:
    """A key and its bearer token, which is nowhere kept."""
    key_id, secret = _random(ID_LENGTH), _random(SECRET_LENGTH)
    key = ApiKey(
        id=key_id,
        name=name,
        namespace=namespace,
        scopes=scopes,
        secret_hash=hash_secret(secret),
        created_at=created_at,
        expires_at=expires_at,
    )
    return key, f"{PREFIX}_{key_id}_{secret}"


def hash_secret(secret: str) -> bytes:
    """SHA-256 is enough: the secret is 256 random bits, not a word somebody chose."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _parts(token: str) -> tuple[str, str, str]:
    prefix, _, rest = token.partition("_")
    key_id, _, secret = rest.partition("_")
    return prefix, key_id, secret


def _scope_names(claims: Mapping[str, Any]) -> list[str]:
    for claim in ("scope", "scp", "scopes"):
        given = claims.get(claim)
        if isinstance(given, str):
            return given.split()
        if isinstance(given, list):
            return [str(one) for one in given]
    return []
