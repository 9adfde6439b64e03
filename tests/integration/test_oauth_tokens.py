"""`AUTH_MODE=oauth` at `mcp`: accepted tokens, caching of checks, and outages of database and issuer."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from starlette.testclient import TestClient

from mnemosyne.adapters.database.oauth import OAuthStore, find_valid_grant
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.identity import tokens
from mnemosyne.adapters.identity.tokens import OidcVerifier
from mnemosyne.adapters.signing.key_files import KeyFiles
from mnemosyne.domain.oauth import Grant, ValidGrant
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.errors import Unauthorized, Unavailable
from mnemosyne.http.mcp.access import REJECTED_PER_MINUTE
from mnemosyne.ids import new_id
from mnemosyne.service import oauth_tokens
from mnemosyne.service.api_keys import new_key
from mnemosyne.service.authenticate import ApiKeyAuthenticator
from mnemosyne.service.oauth_tokens import OAuthAuthenticator
from tests.fakes import NOW, FakeServices
from tests.fakes_wire.issuer import AUDIENCE, Issuer, signing_key
from tests.mcp_app import LIST, mcp_app
from tests.waiting import wait_until


class Mcp:
    """The data with which `mcp` authenticates callers: an issuer with a key, a database of grants, and an API key."""

    def __init__(self, issuer: Issuer, auth: Pool, pool: Pool) -> None:
        self.issuer = issuer
        self.store = OAuthStore(auth)
        self.pool = pool
        self.away = False
        self.asked = 0
        key, self.key = new_key(
            name="machine", namespace="machines", scopes=frozenset({Scope.READ}), created_at=NOW,
            expires_at=NOW + timedelta(days=1),
        )  # fmt: skip
        keys = ApiKeyAuthenticator(lambda key_id: key if key_id == key.id else None, lambda: NOW)
        self.authenticator = OAuthAuthenticator(
            keys, OidcVerifier(issuer.url, AUDIENCE, token_type="at+jwt"), self._find
        )

    def grant(self, seconds: int = 3600) -> UUID:
        """Store a person's grant for a client."""
        grant = Grant(
            id=new_id(),
            subject="ada",
            person="ada@example.com",
            namespace="user:ada",
            client_id="client",
            scopes=frozenset({Scope.READ}),
            resource=AUDIENCE,
            expires_at=datetime.now(UTC) + timedelta(seconds=seconds),
        )
        with self.store.transaction() as rows:
            rows.add_grant(grant, seconds)
        return grant.id

    def revoke(self, grant: UUID) -> None:
        with self.store.transaction() as rows:
            rows.revoke(grant, "of the test")

    def token(self, grant: UUID | None, /, **changed: Any) -> str:
        """Sign an access token with changed claims."""
        claims = {"sub": "ada", "namespace": "user:ada", "scope": "read", "grant": str(grant), "client_id": "client"}
        return f"Bearer {self.issuer.token(**{'typ': 'at+jwt', **claims, **changed})}"

    def _find(self, grant: UUID) -> ValidGrant | None:
        self.asked += 1
        if self.away:
            raise Unavailable("the database is not responding")
        return find_valid_grant(self.pool, grant)


@pytest.fixture
def mcp(auth: Pool, pool: Pool) -> Iterator[Mcp]:
    with Issuer().serving() as issuer:
        issuer.metadata = "/.well-known/oauth-authorization-server"
        yield Mcp(issuer, auth, pool)


ADA = Principal(id="oauth:ada", namespace="user:ada", scopes=frozenset({Scope.READ}))


def test_a_token_with_a_valid_grant_authenticates_its_person(mcp: Mcp) -> None:
    assert mcp.authenticator.authenticate(mcp.token(mcp.grant())) == ADA


def test_an_api_key_is_accepted_too_and_needs_no_issuer(mcp: Mcp) -> None:
    mcp.issuer.away = True
    assert mcp.authenticator.authenticate(f"Bearer {mcp.key}").namespace == "machines"
    principal = mcp.authenticator.cached_principal(f"Bearer {mcp.key}")
    assert principal and principal.namespace == "machines"


def test_a_token_of_a_revoked_grant_is_refused_at_the_next_check(mcp: Mcp) -> None:
    token = mcp.token(grant := mcp.grant())
    mcp.authenticator.authenticate(token)
    mcp.revoke(grant)
    with pytest.raises(Unauthorized, match="revoked"):
        mcp.authenticator.authenticate(token)


def test_a_check_of_a_grant_is_cached_for_less_than_30_seconds(mcp: Mcp, monkeypatch: pytest.MonkeyPatch) -> None:
    assert oauth_tokens.FRESH_SECONDS <= 25
    monkeypatch.setattr(oauth_tokens, "FRESH_SECONDS", 0.5)
    mcp = Mcp(mcp.issuer, mcp.store._pool, mcp.pool)
    token = mcp.token(mcp.grant())
    assert mcp.authenticator.cached_principal(token) is None
    mcp.authenticator.authenticate(token)
    assert mcp.authenticator.cached_principal(token) == ADA
    wait_until(lambda: mcp.authenticator.cached_principal(token) is None, "the grant is checked again")


def test_the_check_of_an_expired_token_is_not_cached(mcp: Mcp) -> None:
    grant = mcp.grant()
    now = int(datetime.now(UTC).timestamp())
    token = mcp.token(grant, iat=now - 60, exp=now - 1)  # within the tolerance for clock differences
    mcp.authenticator.authenticate(token)
    assert mcp.authenticator.cached_principal(token) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "https://another.example/mcp"},
        {"grant": None},
        {"grant": "not a grant"},
        {"grant": "00000000-0000-7000-8000-000000000000"},
        {"namespace": None},
        {"sub": None},
        {"sub": "eve"},
        {"namespace": "user:eve"},
        {"client_id": "another"},
        {"typ": "JWT"},
        {"typ": ""},
    ],
    ids=lambda changed: " ".join(f"{name}={value}" for name, value in changed.items()),
)
def test_a_forged_token_or_a_token_for_another_server_is_refused(mcp: Mcp, changed: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized):
        mcp.authenticator.authenticate(mcp.token(mcp.grant(), **changed))


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt"])
def test_each_spelling_of_the_token_type_is_accepted(mcp: Mcp, typ: str) -> None:
    assert mcp.authenticator.authenticate(mcp.token(mcp.grant(), typ=typ)) == ADA


@pytest.mark.parametrize(
    ("claimed", "scopes"),
    [
        ("read", {Scope.READ}),
        ("read write operate admin", {Scope.READ}),
        ("write", set()),
        ("", set()),
    ],
)
def test_a_token_has_no_scope_beyond_its_grant(mcp: Mcp, claimed: str, scopes: set[Scope]) -> None:
    assert mcp.authenticator.authenticate(mcp.token(mcp.grant(), scope=claimed)).scopes == scopes


def test_a_signing_key_removed_by_the_issuer_is_refused_after_five_minutes(
    mcp: Mcp, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = mcp.token(grant := mcp.grant())
    mcp.authenticator.authenticate(token)
    mcp.issuer.keys = {"two": signing_key()}
    assert tokens.KEYS_SECONDS <= 300
    now = time.monotonic() + tokens.KEYS_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with pytest.raises(Unauthorized):
        mcp.authenticator.authenticate(token)
    mcp.authenticator.authenticate(mcp.token(grant, kid="two"))


def test_a_token_of_an_expired_grant_is_refused(mcp: Mcp) -> None:
    with pytest.raises(Unauthorized, match="revoked"):
        mcp.authenticator.authenticate(mcp.token(mcp.grant(seconds=-1)))


@pytest.mark.parametrize(("is_revoked", "look_ups"), [(True, 1), (False, 0)])
def test_expired_tokens_and_tokens_of_a_revoked_grant_do_not_count_as_guesses(
    mcp: Mcp, *, is_revoked: bool, look_ups: int
) -> None:
    """A hosted client sends such tokens of all its users from one address before it refreshes them.

    If they counted as guesses, the address would be locked out.
    """
    grant = mcp.grant()
    if is_revoked:
        mcp.revoke(grant)
    expiry = {} if is_revoked else {"iat": 1, "exp": 2}
    app = mcp_app(FakeServices(), mcp.authenticator, proxies=0)
    with TestClient(app, headers={"X-Forwarded-For": "203.0.113.9"}) as client:

        def status(authorization: str) -> int:
            return int(client.post("/mcp", json=LIST, headers={"Authorization": authorization}).status_code)

        ended = [mcp.token(grant, jti=str(number), **expiry) for number in range(REJECTED_PER_MINUTE + 5)]
        assert {status(token) for token in ended} == {401}
        assert mcp.asked == look_ups, "an ended grant is looked up once, so that its tokens cost no database time"
        assert status(mcp.token(mcp.grant())) == 200, "other people at this address can log in"
        forged = mcp.token(grant, key=signing_key(), **expiry)
        assert {status(forged) for _ in range(2 * REJECTED_PER_MINUTE)} == {401, 429}


def test_during_an_outage_of_the_database_only_tokens_accepted_before_are_accepted(mcp: Mcp) -> None:
    token, revoked = mcp.token(mcp.grant()), mcp.grant()
    mcp.authenticator.authenticate(token)
    mcp.revoke(revoked)
    with pytest.raises(Unauthorized):
        mcp.authenticator.authenticate(mcp.token(revoked))
    mcp.away = True
    assert mcp.authenticator.authenticate(token) == ADA
    for other in (mcp.token(mcp.grant()), mcp.token(revoked)):
        with pytest.raises(Unavailable):
            mcp.authenticator.authenticate(other)


def test_during_an_outage_the_database_is_not_queried_for_each_token(mcp: Mcp) -> None:
    mcp.away = True
    for _ in range(5):
        with pytest.raises(Unavailable):
            mcp.authenticator.authenticate(mcp.token(mcp.grant()))
    assert mcp.asked == 1


def test_during_an_outage_of_the_issuer_tokens_are_still_accepted(mcp: Mcp) -> None:
    grant = mcp.grant()
    mcp.authenticator.authenticate(mcp.token(grant))
    mcp.issuer.away = True
    assert mcp.authenticator.authenticate(mcp.token(grant, jti="another token of the same key")) == ADA


def test_a_new_signing_key_is_accepted_without_an_outage(tmp_path: Path) -> None:
    from joserfc import jwt
    from joserfc.jwk import KeySet

    keys = KeyFiles(tmp_path / "keys")
    old = keys.sign({"sub": "ada"})
    keys.rotate()
    new = keys.sign({"sub": "ada"})
    published = KeySet.import_key_set({"keys": [dict(key) for key in keys.public_keys()]})
    headers = [jwt.decode(token, published, algorithms=["ES256"]).header for token in (old, new)]
    assert headers[0]["kid"] != headers[1]["kid"]


def test_a_new_signing_key_signs_after_an_older_one_was_deleted(tmp_path: Path) -> None:
    keys = KeyFiles(tmp_path / "keys")
    keys.rotate()
    (tmp_path / "keys" / "000001.pem").unlink()
    (before,) = keys.public_keys()
    keys.rotate()
    first, second = keys.public_keys()
    assert first["kid"] == before["kid"] != second["kid"]
