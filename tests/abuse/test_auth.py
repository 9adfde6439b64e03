"""Random invalid requests to the authorization server cause no internal error and no growth of memory use.

`ABUSE_REQUESTS` is the number of requests. `.ci/run noise` sends 50,000.
"""

import asyncio
import gc
import json
import os
import random
from collections import Counter
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, unquote

import psutil
import pytest
from starlette.types import ASGIApp

from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.oauth import PeopleRule
from tests.oauth_server import ISSUER, REDIRECT, AuthServer, Visit, authorization_path

REQUESTS = int(os.environ.get("ABUSE_REQUESTS", "300"))
AT_ONCE = 8
GROWTH_BYTES = 32 * 2**20
ENDPOINTS = [("GET", "/authorize"), ("GET", "/log-in"), ("POST", "/log-in"), ("GET", "/consent"), ("POST", "/consent"),
             ("GET", "/account"), ("POST", "/account"), ("GET", "/callback"), ("POST", "/token"), ("POST", "/revoke"),
             ("POST", "/register"), ("GET", "/jwks.json"), ("GET", "/.well-known/openid-configuration")]  # fmt: skip
METHODS = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "\u00e9"]
PATHS = ["//authorize", "/authorize/", "/%00", "/token%2e", "/..%2ftoken", "/\u00e9", "/healthz", "/style.css", "", "*"]
VALUES = ["", " ", "S256", "plain", "code", "refresh_token", "authorization_code", "none", "null", "\x00", "\x7f", "%",
          "\ud7ff", "%00", "a" * 43, "a" * 5_000, "\U0001f600" * 50, "../", "javascript:alert(1)", "http://[", "https://",
          "https://a/\u0000", "http://127.0.0.1:99999/x", "cursor://x", "' OR 1=1 --", "<script>", "\r\nX: y",
          "1e999", "-1", "read write", "read read", "write\tread", "allow", "AAAA-AAAA"]  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """One request as an ASGI scope, which may be invalid."""

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes

    async def of(self, app: ASGIApp) -> int:
        """Send the request and return the status."""
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": self.method,
                 "scheme": "https", "path": unquote(self.path), "raw_path": self.path.encode(), "root_path": "",
                 "query_string": self.query, "headers": self.headers, "client": ("192.0.2.1", 1),
                 "server": ("auth.example", 443)}  # fmt: skip
        status: list[int] = []
        arriving = iter([{"type": "http.request", "body": self.body, "more_body": False}])

        async def receive() -> dict[str, Any]:
            return next(arriving, {"type": "http.disconnect"})

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                status.append(message["status"])

        await app(scope, receive, send)
        return status[0]


class Shapes:
    """Generator of requests from a seed. In each valid request, some parts are changed, left out, doubled or moved."""

    def __init__(self, seed: int, known_values: dict[str, list[str]]) -> None:
        self._random = random.Random(seed)
        self._known = known_values

    def request(self, number: int) -> "Asked":
        """Generate a request from a new address."""
        chance = self._random
        method, path = chance.choice(ENDPOINTS)
        if chance.random() < 0.1:
            method, path = chance.choice(METHODS), chance.choice([path, *PATHS])
        query = "&".join(self._pairs()) if chance.random() < 0.5 else ""
        headers = {
            "Host": "auth.example",
            "X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
        }
        body = b""
        if method == "POST":
            body, headers["Content-Type"] = self._body()
        for name, values in [
            ("Cookie", [f"__Host-mnemosyne-auth-={'a' * 43}", "__Host-mnemosyne-auth-=\xff", "a=b; a=b", "=" * 500]),
            ("Origin", ["null", ISSUER, "https://evil.example", "\xe9"]),
            ("Host", ["evil.example", "auth.example:443", ""]),
        ]:
            if chance.random() < 0.15:
                headers[name] = chance.choice(values)
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        return Asked(method, path, query.encode("utf-8", "replace"), raw, body)

    def _pairs(self) -> list[str]:
        chance = self._random
        names = chance.choices([*self._known], k=chance.randint(0, 12)) + (["x"] * 60 if chance.random() < 0.02 else [])
        return [f"{quote_plus(name)}={self._value(name)}" for name in names]

    def _value(self, name: str) -> str:
        chance = self._random
        value = chance.choice(self._known[name] if name in self._known and chance.random() < 0.6 else VALUES)
        return value if chance.random() < 0.1 else quote_plus(value.encode("utf-8", "replace"))

    def _body(self) -> tuple[bytes, str]:
        chance = self._random
        kind = chance.random()
        if kind < 0.6:
            return "&".join(self._pairs()).encode("utf-8", "replace"), "application/x-www-form-urlencoded"
        if kind < 0.9:
            return json.dumps(self._registration()).encode(), "application/json"
        return chance.randbytes(chance.choice([0, 10, 1_000, 70_000])), chance.choice(["", "text/plain", "a/b; c=\xff"])

    def _registration(self) -> Any:
        chance = self._random
        leaves: list[Any] = [None, True, -1, [], {}, [[]], [None], ["x"] * 12, [REDIRECT], "x" * 3_000, *VALUES]
        names = ["redirect_uris", "client_name", "grant_types", "token_endpoint_auth_method", "client_secret", "scope",
                 "token_endpoint_auth_methods_supported", "jwks"]  # fmt: skip
        if chance.random() < 0.1:
            return chance.choice(leaves)
        return {"redirect_uris": [REDIRECT], **{name: chance.choice(leaves) for name in chance.sample(names, k=2)}}


@pytest.fixture
def server(auth: Pool, tmp_path: Path) -> AuthServer:
    return AuthServer(auth, tmp_path, [PeopleRule(who="*")])


def test_random_requests_cause_no_internal_error_and_no_memory_leak(server: AuthServer) -> None:
    client = server.register()
    visit = Visit(server)
    code = visit.to_the_end(client)["code"]
    known_values = {
        name: [value]
        for name, _, value in (pair.partition("=") for pair in authorization_path(client).split("?")[1].split("&"))
    }
    known_values |= {"code": [code], "request": [visit.id], "state": [visit.id, "s"], "answer": ["allow", "deny"],
              "grant_type": ["authorization_code", "refresh_token"], "redirect_uri": [REDIRECT], "token": [code],
              "refresh_token": [code], "code_verifier": ["a" * 43], "client": [client], "scope": ["read", "read write"],
              "resource": ["https://memory.example/mcp"], "client_id": [client, "https://client.example/metadata.json"],
              "code_challenge_method": ["S256"], "iss": [ISSUER], "error": ["access_denied"],
              "log_out": ["1"], "response_type": ["code", "token"], "token_type_hint": ["x"]}  # fmt: skip
    statuses, grown = asyncio.run(_attacked(server, Shapes(19, known_values)))
    assert not [status for status in statuses if status >= 500], statuses
    assert {200, 400, 303} <= set(statuses), "valid requests succeed"
    assert grown < GROWTH_BYTES
    assert Visit(server).to_the_end(server.register())["code"], "the server still answers"


async def _attacked(server: AuthServer, shapes: Shapes) -> tuple[Counter[int], int]:
    """Send the requests. Return the number of responses by status, and the growth of the process's memory in bytes.

    The growth is measured from the end of the first tenth of the requests to the end.
    """
    statuses: Counter[int] = Counter()
    numbers = iter(range(REQUESTS))

    async def send() -> None:
        for number in numbers:
            statuses[await shapes.request(number).of(server.app)] += 1
            if number == REQUESTS // 10:
                grown.append(_size())

    grown: list[int] = []
    await asyncio.gather(*(send() for _ in range(AT_ONCE)))
    return statuses, _size() - grown[0]


def _size() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)
