"""From an access token of our authorization server to a principal, with API keys beside it: `AUTH_MODE=oauth`."""

import hashlib
import threading
import time
from collections.abc import Callable
from uuid import UUID

from cachetools import TTLCache

from mnemosyne.domain.principal import Principal, scopes_of
from mnemosyne.errors import ServiceError, Unauthorized, Unavailable
from mnemosyne.observability import EventLog
from mnemosyne.ports import TokenVerifier
from mnemosyne.service.api_keys import PREFIX
from mnemosyne.service.authenticate import OUTAGE_SECONDS, PAUSE_SECONDS, Authenticator, bearer

log = EventLog(__name__)

FRESH_SECONDS = 25.0
"""TTL of a token that was looked at: with what the look itself takes, a revoked grant lets nobody in after 30."""
REMEMBERED = 10_000


class OAuthAuthenticator:
    """Tokens of the authorization server, whose grant must stand; and API keys, for machines."""

    credential = "a token of its issuer, or an API key, as `Authorization: Bearer …`"
    only_authorization = False

    def __init__(self, keys: Authenticator, verifier: TokenVerifier, stands: Callable[[UUID], bool]) -> None:
        self._keys = keys
        self._verifier = verifier
        self._stands = stands
        self._fresh: TTLCache[bytes, tuple[Principal, float]] = TTLCache(REMEMBERED, FRESH_SECONDS)
        self._stood: TTLCache[UUID, None] = TTLCache(REMEMBERED, OUTAGE_SECONDS)
        self._away_until = 0.0
        self._lock = threading.Lock()

    def authenticate(self, authorization: str | None) -> Principal:
        """Return the token's principal; raises Unauthorized, or Unavailable where nobody can tell at the moment."""
        token = bearer(authorization)
        if token.startswith(f"{PREFIX}_"):
            return self._keys.authenticate(authorization)
        claims = self._verifier.verify(token)
        try:
            grant = UUID(str(claims["grant"]))
            namespace = str(claims["namespace"])
        except (KeyError, ValueError) as exc:
            raise Unauthorized("the token is not valid") from exc
        if not self._still_stands(grant):
            raise Unauthorized("what the token was given for has been revoked")
        principal = Principal(
            id=f"oauth:{claims['sub']}", namespace=namespace, scopes=scopes_of(str(claims.get("scope", "")).split())
        )
        with self._lock:
            self._fresh[_hashed(token)] = principal, float(claims["exp"])
        return principal

    def known(self, authorization: str | None) -> Principal | None:
        """Return the principal of a token that was looked at within the last half minute; None of others."""
        token = bearer(authorization)
        if token.startswith(f"{PREFIX}_"):
            return self._keys.known(authorization)
        with self._lock:
            principal, expires_at = self._fresh.get(_hashed(token), (None, 0.0))
        return principal if time.time() < expires_at else None

    def _still_stands(self, grant: UUID) -> bool:
        """Whether the grant stands; one that did ten minutes ago is believed to while the database is away."""
        believed = grant in self._stood
        if time.monotonic() < self._away_until:  # asked a moment ago, in vain: everybody would wait
            if believed:
                return True
            raise Unavailable("the database is away")
        try:
            stands = self._stands(grant)
        except ServiceError:
            self._away_until = time.monotonic() + PAUSE_SECONDS
            if believed:
                log.warning("grant_believed", grant=str(grant))
                return True
            raise
        with self._lock:
            if stands:
                self._stood[grant] = None
            else:
                self._stood.pop(grant, None)
        return stands


def _hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
