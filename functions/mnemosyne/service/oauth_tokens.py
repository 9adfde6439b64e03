"""`AUTH_MODE=oauth`: authenticate API keys, and access tokens of this deployment's authorization server."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from cachetools import TTLCache

from mnemosyne.domain.oauth import ValidGrant
from mnemosyne.domain.principal import Principal, hash_secret, scopes_of
from mnemosyne.errors import EndedToken, ServiceError, Unauthorized, Unavailable
from mnemosyne.observability import EventLog, fault_fields
from mnemosyne.ports.identity import TokenVerifier
from mnemosyne.service.api_keys import PREFIX
from mnemosyne.service.authenticate import OUTAGE_SECONDS, PAUSE_SECONDS, Authenticator, bearer

log = EventLog(__name__)

FRESH_SECONDS = 25.0
"""Seconds for which the result of checking a token is cached. A revoked grant must be refused within 30 seconds, which
leaves five seconds for the check itself."""
CACHE_ENTRIES = 10_000


class OAuthAuthenticator(Authenticator):
    """Authenticates access tokens with a valid grant, and API keys."""

    credential = "a token of its issuer, or an API key, as `Authorization: Bearer …`"

    def __init__(self, keys: Authenticator, verifier: TokenVerifier, find: Callable[[UUID], ValidGrant | None]) -> None:
        self._keys = keys
        self._verifier = verifier
        self._find = find
        self._fresh: TTLCache[bytes, tuple[Principal, float]] = TTLCache(CACHE_ENTRIES, FRESH_SECONDS)
        self._last_grants: TTLCache[UUID, ValidGrant] = TTLCache(CACHE_ENTRIES, OUTAGE_SECONDS)
        # Cache the ids of ended grants, so that their tokens cause few look-ups. The limit on rejected credentials
        # would not prevent these look-ups, because it does not count tokens of ended grants.
        self._ended_grants: TTLCache[UUID, None] = TTLCache(CACHE_ENTRIES, FRESH_SECONDS)
        self._circuit_open_until = 0.0
        self._lock = threading.Lock()

    def authenticate(self, authorization: str | None) -> Principal:
        """Return the principal of a token or key. Raises Unauthorized, or Unavailable if it cannot be checked now."""
        token = bearer(authorization)
        if token.startswith(f"{PREFIX}_"):
            return self._keys.authenticate(authorization)
        claims = self._verifier.verify(token)
        try:
            grant = self._find_grant(UUID(str(claims["grant"])))
        except (KeyError, ValueError) as exc:
            raise Unauthorized("the token is not valid") from exc
        if grant is None:
            raise EndedToken("the grant of the token has been revoked")
        principal = _principal(claims, grant)
        with self._lock:
            self._fresh[hash_secret(token)] = principal, float(claims["exp"])
        return principal

    def cached_principal(self, authorization: str | None) -> Principal | None:
        """Return the principal of a token that was checked recently, otherwise None."""
        token = bearer(authorization)
        if token.startswith(f"{PREFIX}_"):
            return self._keys.cached_principal(authorization)
        with self._lock:
            principal, expires_at = self._fresh.get(hash_secret(token), (None, 0.0))
        return principal if time.time() < expires_at else None

    def _find_grant(self, grant_id: UUID) -> ValidGrant | None:
        """Return the grant with this id; None if it is not valid.

        While the database does not respond, a grant that was found in the last ten minutes counts as valid. For any
        other grant, Unavailable is raised.
        """
        cached = self._last_grants.get(grant_id)
        if time.monotonic() < self._circuit_open_until:  # a look-up has just failed: do not wait for another look-up
            if cached:
                return cached
            raise Unavailable("the database is not responding")
        if grant_id in self._ended_grants:
            return None
        try:
            grant = self._find(grant_id)
        except ServiceError as exc:
            self._circuit_open_until = time.monotonic() + PAUSE_SECONDS
            if cached:
                log.warning("grant_believed", grant=str(grant_id), **fault_fields(exc))
                return cached
            raise
        with self._lock:
            if grant:
                self._last_grants[grant_id] = grant
            else:
                self._last_grants.pop(grant_id, None)
                self._ended_grants[grant_id] = None
        return grant


def _principal(claims: Mapping[str, Any], grant: ValidGrant) -> Principal:
    """Return the principal (the caller) of a grant, with the scopes that both the grant and the token have.

    Raises Unauthorized if the token names another person, namespace or client than the grant. Therefore a stolen
    signing key gives only the rights of existing grants.
    """
    claim_values = claims["sub"], claims.get("namespace"), claims.get("client_id")
    if claim_values != (grant.subject, grant.namespace, grant.client_id):
        log.error(
            "audit",
            action="authenticate",
            outcome="refused",
            reason="claims differ from the grant",
            cause="claims differ from the grant",
            error=f"a valid token of the grant {claims.get('grant')} names another person, namespace or client",
            next_step="the signing key may be stolen: disable its version: docs/deployment.md, Another signing key",
        )
        raise Unauthorized("the token is not valid")
    scopes = scopes_of(str(claims.get("scope", "")).split()) & grant.scopes
    return Principal(
        id=f"oauth:{grant.subject}",
        namespace=grant.namespace,
        scopes=scopes,
        name=grant.client_name,
        expires_at=grant.expires_at,
        credential=f"grant:{claims['grant']}",
        client=grant.client_id,
        last_used_at=grant.last_used_at,
    )
