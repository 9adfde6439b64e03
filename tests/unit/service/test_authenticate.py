"""Authentication by API key, by OIDC token and by Cloud Run: who gets a principal, and who is refused."""

import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mnemosyne.domain.principal import LOCAL, ApiKey, Principal, Scope
from mnemosyne.errors import Unauthorized, Unavailable
from mnemosyne.service.api_keys import new_key
from mnemosyne.service.authenticate import (
    ApiKeyAuthenticator,
    CloudRunIamAuthenticator,
    NoAuthenticator,
    OidcAuthenticator,
)
from tests.fakes import NOW

READ_WRITE = frozenset({Scope.READ, Scope.WRITE})


class Caller:
    """The owner of a key, and a database with this key that a test can make unavailable."""

    def __init__(self, lifetime: timedelta = timedelta(days=30)) -> None:
        expiry = NOW + lifetime
        self.key, self.token = new_key(
            name="test", namespace="ns", scopes=READ_WRITE, created_at=NOW, expires_at=expiry
        )
        self.stored: dict[str, ApiKey] = {self.key.id: self.key}
        self.database_is_away = False
        self.queries = 0
        self.keys = ApiKeyAuthenticator(self._find, lambda: NOW)

    def call(self, token: str = "") -> Principal:
        return self.keys.authenticate(f"Bearer {token or self.token}")

    def _find(self, key_id: str) -> ApiKey | None:
        self.queries += 1
        if self.database_is_away:
            raise Unavailable("the database is not responding")
        return self.stored.get(key_id)


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The monotonic clock, which a test moves forward."""
    at = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: at[0])

    def forward(seconds: float) -> None:
        at[0] += seconds

    return forward


@pytest.fixture
def cached(caller: Caller, clock: Any) -> Caller:
    """A caller whose key the authenticator has accepted once."""
    caller.call()
    return caller


def test_a_key_authenticates_for_its_namespace_with_its_scopes(caller: Caller) -> None:
    assert caller.call() == Principal(id=f"key:{caller.key.id}", namespace="ns", scopes=READ_WRITE)


@pytest.mark.parametrize("form", ["mnk_{id}_{wrong}", "mnk_{id}_", "mnk_{id}", "mnx_{id}_{secret}", "x", "mnk__", "é"])
def test_an_incomplete_or_changed_token_is_refused(caller: Caller, form: str) -> None:
    secret = caller.token.rsplit("_", 1)[1]
    wrong = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    with pytest.raises(Unauthorized) as refused:
        caller.call(form.format(id=caller.key.id, secret=secret, wrong=wrong))
    assert str(refused.value) == "the key is unknown, expired or revoked"


@pytest.mark.parametrize("header", [None, "", "Basic abc", "Bearer", "Bearer  "])
def test_a_request_without_a_bearer_token_is_refused(caller: Caller, header: str | None) -> None:
    with pytest.raises(Unauthorized, match="is needed: send `Authorization: Bearer …`"):
        caller.keys.authenticate(header)


@pytest.mark.parametrize("changed", [{"revoked_at": NOW}, {"expires_at": NOW}])
def test_a_revoked_key_and_an_expired_key_are_refused_with_the_same_message(
    caller: Caller, changed: dict[str, Any]
) -> None:
    caller.stored[caller.key.id] = replace(caller.key, **changed)
    with pytest.raises(Unauthorized, match="unknown, expired or revoked"):
        caller.call()


def test_a_revocation_takes_effect_within_a_minute(cached: Caller, clock: Any) -> None:
    cached.stored[cached.key.id] = replace(cached.key, revoked_at=NOW)
    clock(60)
    with pytest.raises(Unauthorized):
        cached.call()


def test_a_key_is_cached_between_calls(cached: Caller) -> None:
    cached.call()
    assert cached.queries == 1


def test_during_an_outage_a_key_checked_within_ten_minutes_is_accepted(cached: Caller, clock: Any) -> None:
    cached.database_is_away = True
    clock(599)
    assert cached.call().namespace == "ns"
    clock(2)
    with pytest.raises(Unavailable):
        cached.call()


@pytest.mark.parametrize("seconds", [1, 31, 400])
@pytest.mark.parametrize("ended", [lambda key: None, lambda key: replace(key, revoked_at=NOW)], ids=["gone", "revoked"])
def test_during_an_outage_a_key_found_deleted_or_revoked_before_is_refused(
    cached: Caller, clock: Any, ended: Callable[[ApiKey], ApiKey | None], seconds: float
) -> None:
    ended_key = ended(cached.key)
    cached.stored = {cached.key.id: ended_key} if ended_key else {}
    clock(31)
    with pytest.raises(Unauthorized):
        cached.call()
    cached.database_is_away = True
    clock(seconds)
    with pytest.raises((Unauthorized, Unavailable)):
        cached.call()


def test_during_an_outage_a_wrong_secret_or_an_unknown_key_is_refused(cached: Caller) -> None:
    cached.database_is_away = True
    with pytest.raises(Unauthorized):
        cached.call(f"{cached.token[:-1]}-")
    with pytest.raises(Unavailable):
        cached.call(Caller().token)


def test_secrets_are_compared_in_constant_time_even_for_an_unknown_key(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((len(a), len(b)))
        return False

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for token in (caller.token, Caller().token):
        with pytest.raises(Unauthorized):
            caller.call(token)
    assert compared == [(32, 32), (32, 32)]


def test_a_stored_key_does_not_contain_its_secret(caller: Caller) -> None:
    assert caller.token.rsplit("_", 1)[1] not in repr(caller.key)


def test_guessed_keys_do_not_displace_a_valid_key_from_the_cache(
    cached: Caller, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemosyne.service.authenticate.CACHE_ENTRIES", 5)
    for n in range(20):
        with pytest.raises(Unauthorized):
            cached.call(f"mnk_{n:012}_guess")
    cached.database_is_away = True
    clock(31)
    assert cached.call().namespace == "ns"


def test_during_an_outage_the_database_is_queried_at_most_once_every_few_seconds(cached: Caller, clock: Any) -> None:
    cached.database_is_away = True
    clock(31)
    for _ in range(10):
        cached.call()
    with pytest.raises(Unavailable):
        cached.call("mnk_abcdefghijkl_x")
    assert cached.queries == 2
    clock(6)
    cached.call()
    assert cached.queries == 3


@pytest.mark.parametrize(("days", "expected"), [(6, 1), (8, 0)])
def test_a_used_key_that_expires_within_a_week_is_logged_once(
    days: int, expected: int, caplog: pytest.LogCaptureFixture
) -> None:
    caller = Caller(timedelta(days=days))
    for _ in range(3):
        caller.call()
    named = [record.fields for record in caplog.records if record.msg == "key_expires_soon"]  # type: ignore[attr-defined]
    assert [fields["key"] for fields in named] == [caller.key.id] * expected


class Verifier:
    """Token verifier that accepts every token with the given claims."""

    def __init__(self, **claims: Any) -> None:
        self.claims = claims

    def verify(self, token: str) -> Mapping[str, Any]:
        return self.claims


def _authenticate(claim: str = "namespace", **claims: Any) -> Principal:
    """Authenticate a token with these claims. The namespace is in the claim `claim`."""
    return OidcAuthenticator(Verifier(**{"sub": "u1", **claims}), claim).authenticate("Bearer t")


def test_namespace_and_scopes_come_from_the_token_s_claims() -> None:
    principal = _authenticate(namespace="team", scope="read mnemosyne:write other")
    assert principal == Principal(id="oidc:u1", namespace="team", scopes=READ_WRITE)


@pytest.mark.parametrize(("claims", "scopes"), [({"scp": ["read"]}, [Scope.READ]), ({"scope": "email"}, []), ({}, [])])
def test_a_token_without_a_namespace_gets_that_of_its_subject_and_only_known_scopes(
    claims: dict[str, Any], scopes: list[Scope]
) -> None:
    principal = _authenticate(**claims)
    assert (principal.namespace, list(principal.scopes)) == ("user:u1", scopes)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"namespace": ["a", "b"]}, "must be 1 to 200 printable characters"),
        ({"namespace": "team "}, "must be 1 to 200 printable characters"),
        ({"namespace": "user:someone-else"}, "must not begin with user:"),
        ({"email": "victim@example.com", "email_verified": False}, "the e-mail address of the token is not verified"),
    ],
)
def test_an_invalid_or_unverified_namespace_is_refused_with_the_reason(claims: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unauthorized, match=reason):
        _authenticate(next(iter(claims)), **claims)


@pytest.mark.parametrize("subject", ["7", "x" * 200, "auth0|64 b", "Ада"])
def test_a_subject_of_1_to_200_printable_characters_is_accepted(subject: str) -> None:
    assert _authenticate(sub=subject, namespace="team").name == subject


@pytest.mark.parametrize("subject", ["", "x" * 201, " ", "a\nb", "a\u200b", None, 7])
def test_any_other_subject_is_refused(subject: object) -> None:
    with pytest.raises(Unauthorized, match="subject cannot be used"):
        _authenticate(sub=subject, namespace="team")


@pytest.mark.parametrize("verified", [True, "true"])  # some issuers send the claim as text
def test_a_verified_e_mail_address_can_be_the_namespace(verified: object) -> None:
    principal = _authenticate("email", email="ada@example.com", email_verified=verified)
    assert principal.namespace == "ada@example.com"


def test_the_identity_checked_by_cloud_run_gives_the_namespace() -> None:
    claims = {"email": "a@example.com", "email_verified": True}
    assert CloudRunIamAuthenticator(lambda _: claims).authenticate("Bearer t").namespace == "a@example.com"


@pytest.mark.parametrize("claims", [{}, {"email": "a@example.com"}, {"email": "a@e", "email_verified": "true"}])
def test_an_identity_without_a_verified_e_mail_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized):
        CloudRunIamAuthenticator(lambda _: claims).authenticate("Bearer t")


def test_without_authentication_each_caller_is_the_local_principal() -> None:
    assert NoAuthenticator().authenticate(None) is LOCAL
