"""Fixtures: the ASGI app of the function `mcp` with PostgreSQL and real services, and clients of it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.mcp_app import ByName, mcp_app


@pytest.fixture
def app_of() -> Callable[..., Starlette]:
    """Function that builds the app of `mcp`."""

    def make(services: Any, *, per_minute: int = 600, proxies: int | None = None, credentials: Any = None) -> Starlette:
        hosts = ("testserver", "localhost:*")
        return mcp_app(services, credentials or ByName(), per_minute=per_minute, proxies=proxies, hosts=hosts)

    return make


@pytest.fixture
def opened(app_of: Callable[..., Starlette]) -> Iterator[Callable[..., Any]]:
    """Function that builds a client of the app."""
    with ExitStack() as clients:
        yield lambda services, **options: clients.enter_context(TestClient(app_of(services, **options)))


def headers(token: str | None = "ada", **more: str) -> dict[str, str]:
    """The headers of a call."""
    credential = {"Authorization": f"Bearer {token}"} if token else {}
    return {"Content-Type": "application/json", **credential, **more}
