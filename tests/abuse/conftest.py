"""The `mcp` app with PostgreSQL and real services."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.applications import Starlette

from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.errors import Unauthorized
from mnemosyne.http.mcp.access import Access
from mnemosyne.http.mcp.app import build_app
from mnemosyne.service.authenticate import bearer

BOTH = frozenset({Scope.READ, Scope.WRITE})
CALLERS = {
    "ada": Principal(id="ada", namespace="ada", scopes=BOTH),
    "bob": Principal(id="bob", namespace="bob", scopes=BOTH),
    "reader": Principal(id="reader", namespace="ada", scopes=frozenset({Scope.READ})),
    "writer": Principal(id="writer", namespace="ada", scopes=frozenset({Scope.WRITE})),
}


@dataclass
class Credentials:
    """Authenticator that accepts the principal's name as a token, and counts the calls."""

    credential: str = "a name"
    only_authorization: bool = False
    asked: list[str] = field(default_factory=list)

    def authenticate(self, authorization: str | None) -> Principal:
        name = bearer(authorization)
        self.asked.append(name)
        if name not in CALLERS:
            raise Unauthorized("no such caller")
        return CALLERS[name]

    def cached_principal(self, authorization: str | None) -> Principal | None:
        name = bearer(authorization)
        return CALLERS.get(name)


@pytest.fixture
def app_of() -> Callable[..., Starlette]:
    """Function that builds the app of `mcp`."""

    def make(services: Any, *, per_minute: int = 600, proxies: int | None = None, credentials: Any = None) -> Starlette:
        access = Access(
            credentials or Credentials(), per_minute=per_minute, issuer="", allowed_hosts=("testserver", "localhost:*"),
            proxies=proxies,
        )  # fmt: skip
        return build_app(
            services,
            threads=4,
            access=access,
            allowed_origins=(),
            warm=lambda: None,
            examine=list,
        )

    return make


@pytest.fixture
def opened(app_of: Callable[..., Starlette]) -> Iterator[Callable[..., Any]]:
    """Function that builds a client of the app."""
    from starlette.testclient import TestClient

    clients: list[TestClient] = []

    def make(services: Any, **options: Any) -> TestClient:
        client = TestClient(app_of(services, **options))
        client.__enter__()
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.__exit__(None, None, None)


def headers(token: str | None = "ada", **more: str) -> dict[str, str]:
    """The headers of a call."""
    credential = {"Authorization": f"Bearer {token}"} if token else {}
    return {"Content-Type": "application/json", **credential, **more}
