"""The ASGI app of the function `mcp` in the test's process. The token of a caller is the caller's name."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.testclient import TestClient

from mnemosyne.domain.health import Check
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.errors import Unauthorized, Unavailable
from mnemosyne.http.mcp.access import Access
from mnemosyne.http.mcp.app import build_app
from mnemosyne.service.authenticate import NoAuthenticator, bearer
from tests.mcp_client import request

LIST = request("tools/list")
MODERN: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""The field `_meta` of a request in the protocol revision 2026-07-28."""
BOTH = frozenset({Scope.READ, Scope.WRITE})
CALLERS = {
    name: Principal(id=name, namespace=namespace, scopes=frozenset(scopes))
    for name, namespace, scopes in (
        ("ada", "ada", BOTH),
        ("bob", "bob", BOTH),
        ("reader", "ada", {Scope.READ}),
        ("writer", "ada", {Scope.WRITE}),
        ("admin", "bob", {Scope.ADMIN}),
        ("nobody", "bob", set[Scope]()),
    )
}


@dataclass
class ByName:
    """Authenticator for which a token is the name of the principal (the caller). It counts its calls."""

    credential: str = "a name"
    only_authorization: bool = False
    asked: list[str] = field(default_factory=list)

    def authenticate(self, authorization: str | None) -> Principal:
        name = bearer(authorization)
        self.asked.append(name)
        if name == "away":
            raise Unavailable("the database is not responding")
        if name not in CALLERS:
            raise Unauthorized("no such caller")
        return CALLERS[name]

    def cached_principal(self, authorization: str | None) -> Principal | None:
        return CALLERS.get(bearer(authorization))


def mcp_app(
    services: Any,
    authenticator: Any = None,
    *,
    per_minute: int = 0,
    issuer: str = "",
    hosts: tuple[str, ...] = ("testserver",),
    proxies: int | None = None,
    origins: tuple[str, ...] = (),
    examine: Callable[[], list[Check]] = list,
) -> Starlette:
    """Build the app, by default without authentication and without rate limits."""
    access = Access(
        authenticator or NoAuthenticator(), per_minute=per_minute, issuer=issuer, allowed_hosts=hosts, proxies=proxies
    )
    return build_app(services, threads=4, access=access, allowed_origins=origins, warm=lambda: None, examine=examine)


def post(client: TestClient, body: Any, path: str = "/mcp", token: str | None = None, **headers: str) -> Any:
    """Post bytes or JSON to the app."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    credential = {"Authorization": f"Bearer {token}"} if token else {}
    return client.post(path, content=content, headers={"Content-Type": "application/json", **credential, **headers})
