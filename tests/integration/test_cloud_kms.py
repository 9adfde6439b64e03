"""Tokens are signed by Cloud KMS, through its real client; keys change without an outage."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import google.auth
import jwt
import pytest
from google.auth.credentials import AnonymousCredentials

from mnemosyne.adapters.signing.cloud_kms import PUBLISHED_SECONDS, CloudKmsKeys, connect
from mnemosyne.errors import Misconfigured, Unavailable
from tests.fakes_wire.http import Html, Reply
from tests.fakes_wire.kms import KEY, KmsServer

CLAIMS = {"sub": "ada", "exp": int(time.time()) + 3600}


class Clock:
    """A clock that the test sets. Each time that it is set, the cached list of key versions expires."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        self._monotonic = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: self._monotonic() + self.ahead)

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that the client accepts for a service account."""
    monkeypatch.setattr(google.auth, "default", lambda *_, **__: (AnonymousCredentials(), "p"))


@pytest.fixture
def kms() -> Iterator[KmsServer]:
    with KmsServer().serving() as serving:
        yield serving


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def keys(kms: KmsServer, clock: Clock) -> CloudKmsKeys:
    return CloudKmsKeys(KEY, lambda: connect(kms.url), clock)


def _verified(keys: CloudKmsKeys, token: str) -> dict[str, Any]:
    """Verify a token by one of the published keys, and return its header."""
    header = jwt.get_unverified_header(token)
    (key,) = [public_key for public_key in keys.public_keys() if public_key["kid"] == header["kid"]]
    assert jwt.decode(token, jwt.PyJWK(dict(key)), algorithms=["ES256"]) == CLAIMS
    return header


def test_a_token_is_verified_by_the_published_key(kms: KmsServer, keys: CloudKmsKeys) -> None:
    kms.rotate()
    header = _verified(keys, keys.sign(CLAIMS))
    assert (header["alg"], header["typ"]) == ("ES256", "at+jwt")
    (published,) = keys.public_keys()
    assert {*published} == {"kty", "crv", "x", "y", "kid", "use", "alg"}, "no private key is published"


def test_versions_are_listed_once_a_minute_and_each_key_is_read_once(
    kms: KmsServer, keys: CloudKmsKeys, clock: Clock
) -> None:
    for _ in range(3):
        kms.rotate()
    for _ in range(2):
        keys.sign(CLAIMS)
        keys.sign(CLAIMS)
        clock.ahead += 61
    assert kms.asked.count("cryptoKeyVersions") == 2 * 2, "each list of versions has two pages"
    assert kms.asked.count("publicKey") == 3


def test_a_new_key_version_is_published_before_it_signs_and_the_old_one_still_verifies(
    kms: KmsServer, keys: CloudKmsKeys, clock: Clock
) -> None:
    kms.rotate()
    before = keys.sign(CLAIMS)
    kms.rotate(days_old=0)
    clock.ahead += 61
    assert len(keys.public_keys()) == 2
    assert _verified(keys, keys.sign(CLAIMS))["kid"] == _verified(keys, before)["kid"]
    clock.ahead += PUBLISHED_SECONDS
    assert _verified(keys, keys.sign(CLAIMS))["kid"] != _verified(keys, before)["kid"]


def test_the_first_version_of_a_key_signs_at_once(kms: KmsServer, keys: CloudKmsKeys) -> None:
    kms.rotate(days_old=0)
    _verified(keys, keys.sign(CLAIMS))


@pytest.mark.parametrize("state", ["DISABLED", "DESTROY_SCHEDULED"])
def test_a_key_version_that_was_just_disabled_is_replaced_by_another(
    kms: KmsServer, keys: CloudKmsKeys, state: str
) -> None:
    kms.rotate()
    newest = kms.rotate()
    old = keys.sign(CLAIMS)
    kms.versions[newest]["state"] = state
    _verified(keys, keys.sign(CLAIMS))
    with pytest.raises(ValueError, match="not enough values"):
        _verified(keys, old)


@pytest.mark.parametrize("damage", ["digest", "signature", "name", "pem"])
def test_a_signature_damaged_in_transit_is_refused(kms: KmsServer, keys: CloudKmsKeys, damage: str) -> None:
    kms.rotate()
    kms.damage = damage
    with pytest.raises(Unavailable, match="corrupt"):
        keys.sign(CLAIMS)


@pytest.mark.parametrize(
    ("code", "status", "raised", "message"),
    [
        (403, "PERMISSION_DENIED", Misconfigured, f"the key {KEY} cannot be used"),
        (404, "NOT_FOUND", Misconfigured, f"the key {KEY} cannot be used"),
        (429, "RESOURCE_EXHAUSTED", Unavailable, "Cloud KMS does not respond correctly"),
        (500, "INTERNAL", Unavailable, "Cloud KMS does not respond correctly"),
        (401, "UNAUTHENTICATED", Unavailable, "Cloud KMS does not respond correctly"),
    ],
)
def test_a_refusal_of_cloud_kms_is_reported(
    kms: KmsServer, keys: CloudKmsKeys, code: int, status: str, raised: type[Exception], message: str
) -> None:
    kms.refusal = (code, status)
    with pytest.raises(raised, match=message):
        keys.sign(CLAIMS)


def _break_off() -> tuple[int, Any]:
    raise ConnectionAbortedError


FAULTS: dict[str, Callable[[], tuple[int, Any]]] = {
    "broken off": _break_off,
    "cut": lambda: (200, Reply(b'{"name": "a name"}', cut=True)),
    "not gzip": lambda: (503, Reply(b"{}", {"Content-Encoding": "gzip"})),
    "error as text": lambda: (403, {"error": "no"}),
    "text": lambda: (403, '"no"'),
    "page": lambda: (200, Html("<html>log in</html>")),
    "not UTF-8": lambda: (200, Reply("refusé".encode("latin-1"))),
    "empty": lambda: (200, Reply()),
    "null": lambda: (200, "null"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_keys_are_published_while_cloud_kms_is_unavailable(
    kms: KmsServer, keys: CloudKmsKeys, clock: Clock, monkeypatch: pytest.MonkeyPatch, fault: Callable[[], Any]
) -> None:
    kms.rotate()
    published = keys.public_keys()
    clock.ahead += 61
    # The pause before a repetition takes longer than the timeout, so that calls are not repeated.
    monkeypatch.setattr(time, "sleep", lambda _: setattr(clock, "ahead", 70))
    kms.fault = fault
    assert keys.public_keys() == published
    with pytest.raises(Unavailable, match="Cloud KMS does not respond correctly"):
        keys.sign(CLAIMS)


@pytest.mark.parametrize("fault", ["broken off", "cut"])
def test_a_call_whose_connection_broke_off_is_repeated(kms: KmsServer, keys: CloudKmsKeys, fault: str) -> None:
    kms.rotate()
    keys.public_keys()
    faults = iter([FAULTS[fault]])
    kms.fault = lambda: next(faults, lambda: None)()
    _verified(keys, keys.sign(CLAIMS))
    assert kms.asked.count("asymmetricSign") == 2


def test_a_key_with_another_algorithm_is_refused(kms: KmsServer, keys: CloudKmsKeys) -> None:
    kms.algorithm = "RSA_SIGN_PSS_2048_SHA256"
    kms.rotate()
    with pytest.raises(Misconfigured, match="must be EC_SIGN_P256_SHA256, got RSA_SIGN_PSS_2048_SHA256"):
        keys.sign(CLAIMS)


def test_a_key_without_a_version_is_refused(keys: CloudKmsKeys) -> None:
    with pytest.raises(Misconfigured, match="must have an enabled version"):
        keys.public_keys()
