"""ID tokens of an issuer over HTTP, checked by the real PyJWT: each kind of invalid token is refused."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from mnemosyne.adapters.identity.tokens import OidcVerifier
from mnemosyne.errors import Unauthorized, Unavailable
from mnemosyne.service.callers import GCLOUD_AUDIENCE, check_push, operator_of
from mnemosyne.service.deliveries import store
from tests.cloud_run.identity import without_signature
from tests.fakes import FakeServices
from tests.fakes_wire.issuer import AUDIENCE, Issuer
from tests.pushes import function_client


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer().serving() as running:
        yield running


@pytest.fixture
def verifier(issuer: Issuer) -> OidcVerifier:
    return OidcVerifier(issuer.url, AUDIENCE)


def _unsigned(issuer: Issuer) -> str:
    return jwt.encode(jwt.decode(issuer.token(), options={"verify_signature": False}), key="", algorithm="none")


def _signed_with_the_public_key(issuer: Issuer) -> str:
    """Return a token signed by HS256 with the public key as the secret; PyJWT refuses to make such a token."""
    public = issuer.keys["one"].public_key()
    secret = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    parts = [{"alg": "HS256", "typ": "JWT", "kid": "one"}, claims]
    signed = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    mac = base64.urlsafe_b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).rstrip(b"=")
    return (signed + b"." + mac).decode()


def _of_another_key(issuer: Issuer) -> str:
    return issuer.token(key=rsa.generate_private_key(public_exponent=65537, key_size=2048))


def test_an_issuer_with_only_oauth_metadata_is_supported(issuer: Issuer) -> None:
    issuer.metadata = "/.well-known/oauth-authorization-server/tenant"
    verifier = OidcVerifier(f"{issuer.url}/tenant", AUDIENCE)
    assert verifier.verify(issuer.token(iss=f"{issuer.url}/tenant"))["sub"] == "u1"


@pytest.mark.parametrize("audience", [AUDIENCE, f"{AUDIENCE}/", "https://second.example", [AUDIENCE, "else"]])
def test_a_token_for_any_configured_audience_is_accepted_with_or_without_a_trailing_slash(
    issuer: Issuer, audience: Any
) -> None:
    verifier = OidcVerifier(issuer.url, f"{AUDIENCE}/", "https://second.example")
    assert verifier.verify(issuer.token(aud=audience))["sub"] == "u1"
    with pytest.raises(Unauthorized):
        verifier.verify(issuer.token(aud=f"{AUDIENCE}/more"))


@pytest.mark.parametrize(
    "make_token",
    [
        lambda issuer: issuer.token(aud="https://other.example"),
        lambda issuer: issuer.token(aud=None),
        lambda issuer: issuer.token(iss="https://other.example"),
        lambda issuer: issuer.token(exp=int(time.time()) - 120),
        lambda issuer: issuer.token(exp=None),
        lambda issuer: issuer.token(nbf=int(time.time()) + 120),
        lambda issuer: issuer.token(iat=int(time.time()) + 120),
        lambda issuer: issuer.token(sub=None),
        _unsigned,
        _signed_with_the_public_key,
        _of_another_key,
        lambda issuer: issuer.token()[:-4] + "AAAA",
        lambda issuer: "not.a.token",
        lambda issuer: "x" * 10_000,
    ],
    ids=[
        "audience", "no audience", "issuer", "expired", "no expiry", "not yet valid", "from the future", "no subject",
        "alg none", "HS256 with the public key", "another key", "signature", "no token", "noise",
    ],
)  # fmt: skip
def test_an_invalid_token_is_refused_without_a_reason(
    issuer: Issuer, verifier: OidcVerifier, make_token: Callable[[Issuer], str]
) -> None:
    with pytest.raises(Unauthorized) as refused:
        verifier.verify(make_token(issuer))
    assert str(refused.value) in ("the token is not valid", "the token has an unsupported signature algorithm")


def test_a_rotated_key_is_fetched_once_and_unknown_keys_cause_few_requests_to_the_issuer(
    issuer: Issuer, verifier: OidcVerifier
) -> None:
    verifier.verify(issuer.token())
    issuer.keys = {"two": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
    assert verifier.verify(issuer.token(kid="two"))["sub"] == "u1"
    issuer.keys["three"] = issuer.keys["two"]
    with pytest.raises(Unauthorized, match="unknown key"):
        verifier.verify(issuer.token(kid="three"))


def test_concurrent_tokens_with_a_new_key_are_all_accepted(
    issuer: Issuer, verifier: OidcVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some issuers sign with a new key as soon as they publish it."""
    verifier.verify(issuer.token())
    issuer.keys = {"two": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
    answer = issuer.answer

    def answer_late(path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        time.sleep(0.2)
        return answer(path, body, headers)

    monkeypatch.setattr(issuer, "answer", answer_late)
    with ThreadPoolExecutor(4) as pool:
        claims = list(pool.map(verifier.verify, [issuer.token(kid="two")] * 4))
    assert [each["sub"] for each in claims] == ["u1"] * 4


def test_a_token_with_a_new_key_is_not_reported_as_invalid_while_the_issuer_is_away(
    issuer: Issuer, verifier: OidcVerifier
) -> None:
    verifier.verify(issuer.token())
    issuer.keys["two"] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    issuer.away = True
    for _ in range(2):
        with pytest.raises(Unavailable, match="identity provider"):
            verifier.verify(issuer.token(kid="two"))
    verifier.verify(issuer.token())


def test_an_unavailable_issuer_is_not_reported_as_an_invalid_token(issuer: Issuer, verifier: OidcVerifier) -> None:
    issuer.away = True
    with pytest.raises(Unavailable, match="identity provider"):
        verifier.verify(issuer.token())
    issuer.away = False
    verifier.verify(issuer.token())
    issuer.away = True
    verifier.verify(issuer.token())


PUSH_EMAIL: dict[str, Any] = {"email": "push@p.iam.gserviceaccount.com", "email_verified": True}
HASHED = "https://mnemosyne-ingest-a1b2c3d4e5-ew.a.run.app"


@pytest.mark.parametrize(
    ("service", "changed", "status"),
    [
        ("mnemosyne-ingest", {}, 400),  # the body is no push
        ("mnemosyne-ingest", {"aud": HASHED}, 400),
        ("", {}, 401),
        ("mnemosyne-ingest", {"email": "other@p.iam.gserviceaccount.com"}, 401),
        ("mnemosyne-ingest", {"email_verified": False}, 401),
        ("mnemosyne-ingest", {"email_verified": None}, 401),
        ("mnemosyne-ingest", {"aud": "https://other.example"}, 401),
        ("mnemosyne-ingest", {"aud": "https://mnemosyne-mcp-a1b2c3d4e5-ew.a.run.app"}, 401),
        ("mnemosyne-ingest", {"aud": f"{HASHED}.evil.example"}, 401),
        ("mnemosyne-ingest", {"iss": "https://other.example"}, 401),
        ("mnemosyne-ingest", {"exp": int(time.time()) - 120}, 401),
        ("mnemosyne-ingest", {"exp": None}, 401),
    ],
    ids=[
        "on Cloud Run", "the service's other address", "elsewhere", "another account", "unverified",
        "without the claim of a verification", "audience", "another service's address",
        "an address that only begins so", "issuer", "expired", "no expiry",
    ],
)  # fmt: skip
def test_a_push_without_a_signature_is_accepted_only_on_cloud_run(
    issuer: Issuer, service: str, changed: dict[str, Any], status: int
) -> None:
    identify = partial(check_push, OidcVerifier(issuer.url, AUDIENCE, service=service), [PUSH_EMAIL["email"]])
    with function_client(store, FakeServices(), identify=identify) as client:
        token = without_signature(issuer.token(**(PUSH_EMAIL | changed)))
        assert client.post("/", json={}, headers={"Authorization": f"Bearer {token}"}).status_code == status
        assert client.post("/", json={}).status_code == 401


@pytest.mark.parametrize("service", ["", "mnemosyne-ingest"])
def test_a_signature_is_checked_if_the_token_has_one_even_on_cloud_run(issuer: Issuer, service: str) -> None:
    """Cloud Run removes the signature of some tokens, and leaves it in others.

    A signature that is left must be valid.
    """
    verifier = OidcVerifier(issuer.url, AUDIENCE, service=service)
    assert verifier.verify(issuer.token())["sub"] == "u1"
    for wrong in (issuer.token()[:-4] + "AAAA", _of_another_key(issuer), f"{without_signature(issuer.token())}x"):
        with pytest.raises(Unauthorized):
            verifier.verify(wrong)


def test_a_push_with_the_header_x_serverless_authorization_is_refused(issuer: Issuer) -> None:
    verifier = OidcVerifier(issuer.url, AUDIENCE, service="mnemosyne-ingest")
    identify = partial(check_push, verifier, [PUSH_EMAIL["email"]])
    with function_client(store, FakeServices(), identify=identify) as client:
        forged = f"Bearer {without_signature(issuer.token(**PUSH_EMAIL))}"
        headers = {"Authorization": forged, "X-Serverless-Authorization": "Bearer somebody-else-s"}
        assert client.post("/", json={}, headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("claims", "caller"),
    [
        ({"email": "ada@example.com", "email_verified": True}, "google:ada@example.com"),
        ({"email": "ada@example.com", "email_verified": False}, None),
        ({"email": "ada@example.com", "email_verified": True, "aud": "another audience"}, None),
        ({}, None),
    ],
)
def test_an_operator_is_identified_by_the_id_token_of_gcloud(
    issuer: Issuer, claims: dict[str, Any], caller: str | None
) -> None:
    verifier = OidcVerifier(issuer.url, GCLOUD_AUDIENCE)
    token = issuer.token(**{"aud": GCLOUD_AUDIENCE, **claims})
    if caller is None:
        with pytest.raises(Unauthorized):
            operator_of(verifier, token)
    else:
        assert operator_of(verifier, token) == caller


def test_an_operator_without_a_token_is_recorded_as_not_proven(issuer: Issuer) -> None:
    assert operator_of(OidcVerifier(issuer.url, GCLOUD_AUDIENCE), "") == "google:not proven"
