"""Tokens of a real issuer, by the real PyJWT: each way in which one can be wrong is refused."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.testclient import TestClient

from mnemosyne.adapters.tokens import OidcVerifier
from mnemosyne.errors import Unauthorized, Unavailable
from mnemosyne.http.push import build_app, store
from mnemosyne.service.authenticate import PushIdentity
from tests.fakes import FakeServices
from tests.fakes_wire.http import JsonServer

AUDIENCE = "https://memory.example/mcp"


class Issuer(JsonServer):
    """An OpenID provider: discovery, keys, and tokens made by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.keys = {"one": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
        self.away = False

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        if self.away:
            return 503, {}
        if path == "/.well-known/openid-configuration":
            return 200, {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        shown = []
        for name, key in self.keys.items():
            jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
            shown.append({**jwk, "kid": name, "use": "sig", "alg": "RS256"})
        return 200, {"keys": shown}

    def token(self, *, kid: str = "one", key: Any = None, algorithm: str = "RS256", **changed: Any) -> str:
        now = int(time.time())
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": "u1", "iat": now, "exp": now + 60, **changed}
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(claims, key or self.keys[kid], algorithm=algorithm, headers={"kid": kid})


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
    """HS256 with the public key as the secret; PyJWT itself refuses to make one."""
    public = issuer.keys["one"].public_key()
    secret = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    parts = [{"alg": "HS256", "typ": "JWT", "kid": "one"}, claims]
    signed = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    mac = base64.urlsafe_b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).rstrip(b"=")
    return (signed + b"." + mac).decode()


def _of_another_key(issuer: Issuer) -> str:
    return issuer.token(key=rsa.generate_private_key(public_exponent=65537, key_size=2048))


def test_a_good_token_says_who_calls(issuer: Issuer, verifier: OidcVerifier) -> None:
    assert verifier.verify(issuer.token(namespace="team"))["namespace"] == "team"


@pytest.mark.parametrize(
    "made",
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
def test_a_bad_token_is_refused_without_saying_why(
    issuer: Issuer, verifier: OidcVerifier, made: Callable[[Issuer], str]
) -> None:
    with pytest.raises(Unauthorized) as refused:
        verifier.verify(made(issuer))
    assert str(refused.value) in ("the token is not valid", "the token is not signed as it must be")


def test_a_rotated_key_is_fetched_once_and_noise_does_not_hammer_the_issuer(
    issuer: Issuer, verifier: OidcVerifier
) -> None:
    verifier.verify(issuer.token())
    issuer.keys = {"two": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
    assert verifier.verify(issuer.token(kid="two"))["sub"] == "u1"
    issuer.keys["three"] = issuer.keys["two"]
    with pytest.raises(Unauthorized, match="unknown key"):
        verifier.verify(issuer.token(kid="three"))


def test_an_issuer_that_is_away_is_not_a_bad_token(issuer: Issuer, verifier: OidcVerifier) -> None:
    issuer.away = True
    with pytest.raises(Unavailable, match="identity provider"):
        verifier.verify(issuer.token())
    issuer.away = False
    verifier.verify(issuer.token())
    issuer.away = True
    verifier.verify(issuer.token())


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"email": "push@p.iam.gserviceaccount.com", "email_verified": True}, 400),  # let in; then the body is no push
        ({"email": "other@p.iam.gserviceaccount.com", "email_verified": True}, 401),
        ({"email": "push@p.iam.gserviceaccount.com", "email_verified": True, "aud": "https://other.example"}, 401),
    ],
    ids=["ours", "another account", "another audience"],
)
def test_only_our_subscription_s_pushes_are_let_in(issuer: Issuer, claims: dict[str, Any], status: int) -> None:
    identity = PushIdentity(OidcVerifier(issuer.url, AUDIENCE), "push@p.iam.gserviceaccount.com")
    app = build_app(store, FakeServices(), threads=2, warm=lambda: None, identify=identity.check)
    with TestClient(app) as client:
        headers = {"Authorization": f"Bearer {issuer.token(**claims)}"}
        assert client.post("/", json={}, headers=headers).status_code == status
        assert client.post("/", json={}).status_code == 401


def test_the_issuer_of_the_test_speaks_as_a_real_one(issuer: Issuer) -> None:
    assert httpx.get(f"{issuer.url}/.well-known/openid-configuration").json()["jwks_uri"].startswith(issuer.url)
