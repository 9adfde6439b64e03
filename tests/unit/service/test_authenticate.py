"""Authentication by API key, by OIDC token, by Cloud Run and of pushes: who gets a principal, and who is refused."""

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
from mnemosyne.service.callers import check_push
from tests.fakes import NOW

READ_WRITE = frozenset({Scope.READ, Scope.WRITE})


class KeyStore:
    """Store of keys that a test can make unavailable."""

    def __init__(self, *keys: ApiKey) -> None:
        self.keys = {key.id: key for key in keys}
        self.away = False
        self.asked = 0

    def find(self, key_id: str) -> ApiKey | None:
        self.asked += 1
        if self.away:
            raise Unavailable("the database is not responding")
        return self.keys.get(key_id)


class Verifier:
    """Token verifier that accepts every token with the given claims."""

    def __init__(self, **claims: Any) -> None:
        self.claims = claims

    def verify(self, token: str) -> Mapping[str, Any]:
        return self.claims


@pytest.fixture
def key_and_token() -> tuple[ApiKey, str]:
    return new_key(name="test", namespace="ns", scopes=READ_WRITE, created_at=NOW, expires_at=NOW + timedelta(days=1))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The monotonic clock, which a test moves forward."""
    at = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: at[0])

    def forward(seconds: float) -> None:
        at[0] += seconds

    return forward


def _keys(store: KeyStore) -> ApiKeyAuthenticator:
    return ApiKeyAuthenticator(store.find, lambda: NOW)


class Caller:
    """A caller whose key the authenticator has accepted once."""

    def __init__(self, key: ApiKey, token: str) -> None:
        self.key, self.token, self.store = key, token, KeyStore(key)
        self.keys = _keys(self.store)
        self.call()

    def call(self) -> Principal:
        return self.keys.authenticate(f"Bearer {self.token}")


@pytest.fixture
def caller(key_and_token: tuple[ApiKey, str], clock: Any) -> Caller:
    return Caller(*key_and_token)


def test_a_key_authenticates_for_its_namespace_with_its_scopes(key_and_token: tuple[ApiKey, str]) -> None:
    key, token = key_and_token
    principal = _keys(KeyStore(key)).authenticate(f"Bearer {token}")
    assert principal == Principal(id=f"key:{key.id}", namespace="ns", scopes=READ_WRITE)


@pytest.mark.parametrize("form", ["mnk_{id}_{wrong}", "mnk_{id}_", "mnk_{id}", "mnx_{id}_{secret}", "x", "mnk__", "é"])
def test_an_incomplete_or_changed_token_is_refused(key_and_token: tuple[ApiKey, str], form: str) -> None:
    key, token = key_and_token
    secret = token.rsplit("_", 1)[1]
    wrong = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    presented = form.format(id=key.id, secret=secret, wrong=wrong)
    with pytest.raises(Unauthorized) as refused:
        _keys(KeyStore(key)).authenticate(f"Bearer {presented}")
    assert str(refused.value) == "the key is unknown, expired or revoked"


@pytest.mark.parametrize("header", [None, "", "Basic abc", "Bearer", "Bearer  "])
def test_a_request_without_a_bearer_token_is_refused(key_and_token: tuple[ApiKey, str], header: str | None) -> None:
    with pytest.raises(Unauthorized, match="is needed: send `Authorization: Bearer …`"):
        _keys(KeyStore(key_and_token[0])).authenticate(header)


@pytest.mark.parametrize("changed", [{"revoked_at": NOW}, {"expires_at": NOW}])
def test_a_revoked_key_and_an_expired_key_are_refused_with_the_same_message(
    key_and_token: tuple[ApiKey, str], changed: dict[str, Any]
) -> None:
    key, token = key_and_token
    with pytest.raises(Unauthorized, match="unknown, expired or revoked"):
        _keys(KeyStore(replace(key, **changed))).authenticate(f"Bearer {token}")


def test_a_revocation_takes_effect_within_a_minute(caller: Caller, clock: Any) -> None:
    caller.store.keys[caller.key.id] = replace(caller.key, revoked_at=NOW)
    clock(60)
    with pytest.raises(Unauthorized):
        caller.call()


def test_a_key_is_cached_between_calls(caller: Caller) -> None:
    for _ in range(20):
        caller.call()
    assert caller.store.asked == 1


def test_during_an_outage_a_key_checked_within_ten_minutes_is_accepted(caller: Caller, clock: Any) -> None:
    caller.store.away = True
    clock(599)
    assert caller.call().namespace == "ns"
    clock(2)
    with pytest.raises(Unavailable):
        caller.call()


@pytest.mark.parametrize("seconds", [1, 31, 400])
@pytest.mark.parametrize("ended", [lambda key: None, lambda key: replace(key, revoked_at=NOW)], ids=["gone", "revoked"])
def test_during_an_outage_a_key_found_deleted_or_revoked_before_is_refused(
    caller: Caller, clock: Any, ended: Callable[[ApiKey], ApiKey | None], seconds: float
) -> None:
    ended_key = ended(caller.key)
    caller.store.keys = {caller.key.id: ended_key} if ended_key else {}
    clock(31)
    with pytest.raises(Unauthorized):
        caller.call()
    caller.store.away = True
    clock(seconds)
    with pytest.raises((Unauthorized, Unavailable)):
        caller.call()


def test_during_an_outage_a_wrong_secret_or_an_unknown_key_is_refused(caller: Caller) -> None:
    caller.store.away = True
    with pytest.raises(Unauthorized):
        caller.keys.authenticate(f"Bearer {caller.token[:-1]}-")
    with pytest.raises(Unavailable):
        caller.keys.authenticate(
            f"Bearer {new_key(name='', namespace='n', scopes=READ_WRITE, created_at=NOW, expires_at=None)[1]}"
        )


def test_secrets_are_compared_in_constant_time_even_for_an_unknown_key(
    key_and_token: tuple[ApiKey, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((len(a), len(b)))
        return False

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for store in (KeyStore(key_and_token[0]), KeyStore()):
        with pytest.raises(Unauthorized):
            _keys(store).authenticate(f"Bearer {key_and_token[1]}")
    assert compared == [(32, 32), (32, 32)]


def test_a_stored_key_does_not_contain_its_secret(key_and_token: tuple[ApiKey, str]) -> None:
    key, token = key_and_token
    assert token.rsplit("_", 1)[1] not in repr(key)


def test_namespace_and_scopes_come_from_the_token_s_claims() -> None:
    principal = OidcAuthenticator(
        Verifier(sub="u1", namespace="team", scope="read mnemosyne:write other"), "namespace"
    ).authenticate("Bearer t")
    assert principal == Principal(id="oidc:u1", namespace="team", scopes=READ_WRITE)


def test_a_token_without_a_namespace_claim_gets_a_namespace_of_its_subject() -> None:
    assert (
        OidcAuthenticator(Verifier(sub="u1", scp=["read"]), "namespace").authenticate("Bearer t").namespace == "user:u1"
    )


def test_a_token_without_known_scopes_has_no_rights() -> None:
    assert (
        OidcAuthenticator(Verifier(sub="u1", scope="email"), "namespace").authenticate("Bearer t").scopes == frozenset()
    )


def test_the_identity_checked_by_cloud_run_gives_the_namespace() -> None:
    verifier = Verifier(email="a@example.com", email_verified=True)
    assert CloudRunIamAuthenticator(verifier.verify).authenticate("Bearer t").namespace == "a@example.com"


@pytest.mark.parametrize("claims", [{}, {"email": "a@example.com"}, {"email": "a@e", "email_verified": "true"}])
def test_an_identity_without_a_verified_e_mail_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized):
        CloudRunIamAuthenticator(Verifier(**claims).verify).authenticate("Bearer t")


@pytest.mark.parametrize(
    "claims", [{"email": "other@example.com", "email_verified": True}, {"email": "push@example.com"}]
)
def test_a_push_from_another_service_account_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized, match="does not come from the function's subscription"):
        check_push(Verifier(**claims), ["push@example.com"], "Bearer t")


def test_a_push_from_the_configured_service_account_is_accepted() -> None:
    check_push(Verifier(email="push@example.com", email_verified=True), ["push@example.com"], "Bearer t")


def test_without_authentication_each_caller_is_the_local_principal() -> None:
    assert NoAuthenticator().authenticate(None) is LOCAL


def test_guessed_keys_do_not_displace_a_valid_key_from_the_cache(
    caller: Caller, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemosyne.service.authenticate.CACHE_ENTRIES", 5)
    for n in range(20):
        with pytest.raises(Unauthorized):
            caller.keys.authenticate(f"Bearer mnk_{n:012}_guess")
    caller.store.away = True
    clock(31)
    assert caller.call().namespace == "ns"


def test_during_an_outage_the_database_is_queried_at_most_once_every_few_seconds(caller: Caller, clock: Any) -> None:
    caller.store.away = True
    clock(31)
    for _ in range(10):
        caller.call()
    with pytest.raises(Unavailable):
        caller.keys.authenticate("Bearer mnk_abcdefghijkl_x")
    assert caller.store.asked == 2
    clock(6)
    caller.call()
    assert caller.store.asked == 3


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"namespace": ["a", "b"]}, "must be 1 to 200 printable characters"),
        ({"namespace": ""}, "must be 1 to 200 printable characters"),
        ({"namespace": "team "}, "must be 1 to 200 printable characters"),
        ({"namespace": "user:someone-else"}, "must not begin with user:"),
        ({"email": "victim@example.com", "email_verified": False}, "the e-mail address of the token is not verified"),
    ],
)
def test_an_invalid_or_unverified_namespace_is_refused_with_the_reason(claims: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unauthorized, match=reason):
        OidcAuthenticator(Verifier(sub="u1", scope="read", **claims), next(iter(claims))).authenticate("Bearer t")


@pytest.mark.parametrize("subject", ["7", "x" * 200, "auth0|64 b", "Ада"])
def test_a_subject_of_1_to_200_printable_characters_is_accepted(subject: str) -> None:
    verifier = Verifier(sub=subject, namespace=subject)
    assert OidcAuthenticator(verifier, "namespace").authenticate("Bearer t").namespace == subject


@pytest.mark.parametrize("subject", ["", "x" * 201, " ", "a\nb", "a\u200b", None, 7])
def test_any_other_subject_is_refused(subject: object) -> None:
    with pytest.raises(Unauthorized, match="subject cannot be used"):
        OidcAuthenticator(Verifier(sub=subject, namespace="team"), "namespace").authenticate("Bearer t")


@pytest.mark.parametrize("verified", [True, "true"])  # some issuers send the claim as text
def test_a_verified_e_mail_address_can_be_the_namespace(verified: object) -> None:
    verifier = Verifier(sub="u1", scope="read", email="ada@example.com", email_verified=verified)
    assert OidcAuthenticator(verifier, "email").authenticate("Bearer t").namespace == "ada@example.com"


@pytest.mark.parametrize(("days", "expected"), [(6, 1), (8, 0)])
def test_a_used_key_that_expires_within_a_week_is_logged_once(
    days: int, expected: int, caplog: pytest.LogCaptureFixture
) -> None:
    key, token = new_key(
        name="test", namespace="ns", scopes=READ_WRITE, created_at=NOW, expires_at=NOW + timedelta(days=days)
    )
    authenticator = ApiKeyAuthenticator(KeyStore(key).find, lambda: NOW)
    for _ in range(3):
        authenticator.authenticate(f"Bearer {token}")
    named = [record.fields for record in caplog.records if record.msg == "key_expires_soon"]  # type: ignore[attr-defined]
    assert [fields["key"] for fields in named] == [key.id] * expected
