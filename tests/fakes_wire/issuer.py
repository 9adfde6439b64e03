"""A fake OpenID provider: discovery document, keys and signed tokens."""

import json
import time
from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fakes_wire.http import JsonServer

AUDIENCE = "https://memory.example/mcp"
LEEWAY_SECONDS = 30


def _keys() -> Iterator[rsa.RSAPrivateKey]:
    """Yield four keys again and again. With four keys, concurrent issuers have different keys.

    More keys are not generated, because each takes 55 ms of CPU time.
    """
    keys = [rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(4)]
    yield from cycle(keys)


_KEYS = _keys()


def signing_key() -> rsa.RSAPrivateKey:
    """Return one of four signing keys."""
    return next(_KEYS)


class Issuer(JsonServer):
    """Issuer that signs tokens with its published keys.

    While `away` is true, it answers 503. The times in its tokens are `ahead` seconds in the future. `metadata` is the
    path of its discovery document.
    """

    def __init__(self) -> None:
        super().__init__()
        self.keys = {"one": signing_key()}
        self.away = False
        self.metadata = "/.well-known/openid-configuration"
        self.ahead = 0

    @property
    def clock_leeway(self) -> int:
        """Tolerance in seconds that a verifier of the tokens needs. The verifier's clock is not moved by `ahead`."""
        return self.ahead + LEEWAY_SECONDS

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        if self.away:
            return 503, {}
        if path == self.metadata:
            return 200, {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        if path != "/keys":
            return 404, {}
        keys = []
        for name, key in self.keys.items():
            jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
            keys.append({**jwk, "kid": name, "use": "sig", "alg": "RS256"})
        return 200, {"keys": keys}

    def token(
        self, *, kid: str = "one", key: Any = None, algorithm: str = "RS256", typ: str = "JWT", **changed: Any
    ) -> str:
        """Return a token that expires after a minute.

        Claims in `changed` replace the usual ones; None leaves a claim out.
        """
        now = int(time.time()) + self.ahead
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": "u1", "iat": now, "exp": now + 60, **changed}
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(
            claims, self.keys[kid] if key is None else key, algorithm=algorithm, headers={"kid": kid, "typ": typ}
        )
