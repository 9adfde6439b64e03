"""Accepted variants of requests: spellings of the resource and of metadata addresses; errors for unknown clients."""

from typing import Any

import jwt
import pytest

from tests.oauth_server import ISSUER, RESOURCE, AuthServer, Visit, authorization_path, exchange, refresh


def _tokens(server: AuthServer, resource: str | None) -> dict[str, Any]:
    client = server.register()
    redirect = Visit(server).to_the_end(client, resource=resource)
    tokens = exchange(server.browser(), client, redirect["code"], resource=resource)
    assert tokens.status_code == 200, tokens.text
    changed = {"resource": resource} if resource else {}
    again = refresh(server.browser(), client, tokens.json()["refresh_token"], **changed)
    assert again.status_code == 200, again.text
    return dict(again.json())


@pytest.mark.parametrize(
    "resource",
    [
        None,
        "https://memory.example/mcp",
        "https://memory.example/mcp/",
        "https://MEMORY.Example/mcp",
        "HTTPS://memory.example/mcp",
        "https://memory.example:443/mcp",
        "https://memory.example/mcp?session=1",
        "https://memory.example./mcp",
    ],
)
def test_the_resource_may_be_omitted_or_written_in_another_spelling(server: AuthServer, resource: str | None) -> None:
    claims = jwt.decode(_tokens(server, resource)["access_token"], options={"verify_signature": False})
    assert claims["aud"] == RESOURCE


@pytest.mark.parametrize(
    "resource",
    [
        "https://elsewhere.example/mcp",
        "https://memory.example/other",
        "https://memory.example:8443/mcp",
        "http://memory.example/mcp",
        "https://memory.example@elsewhere.example/mcp",
        "https://user@memory.example/mcp",
        "https://memory.example/mcp#fragment",
        "https://memory.example/MCP",
        "https://memory.example:x/mcp",
        "memory.example/mcp",
    ],
)
def test_another_resource_is_refused_at_each_step(server: AuthServer, resource: str) -> None:
    client = server.register()
    refused = server.browser().get(authorization_path(client, resource))
    assert "error=invalid_target" in refused.headers.get("Location", "") + refused.text
    code = Visit(server).to_the_end(client)["code"]
    assert exchange(server.browser(), client, code, resource=resource).json()["error"] == "invalid_target"
    tokens = exchange(server.browser(), client, Visit(server).to_the_end(client)["code"]).json()
    answer = refresh(server.browser(), client, tokens["refresh_token"], resource=resource)
    assert answer.json()["error"] == "invalid_target"


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("name", ["oauth-authorization-server", "openid-configuration"])
def test_metadata_are_served_with_and_without_a_trailing_slash(server: AuthServer, name: str, slash: str) -> None:
    answer = server.browser().get(f"/.well-known/{name}{slash}")
    assert (answer.status_code, answer.json()["issuer"]) == (200, ISSUER)


@pytest.mark.parametrize("client", ["nobody", "registered.e30", "https://client.example/metadata.json"])
@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/token", {"grant_type": "authorization_code", "code": "x"}),
        ("/token", {"grant_type": "refresh_token", "refresh_token": "x"}),
        ("/token", {}),
        ("/revoke", {"token": "x"}),
    ],
)
def test_an_unknown_client_gets_401(server: AuthServer, client: str, path: str, form: dict[str, str]) -> None:
    answer = server.browser().post(path, data={"client_id": client, **form})
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert "connect again" in answer.json()["error_description"]
    assert "WWW-Authenticate" in answer.headers


@pytest.mark.parametrize("client", ["nobody", "registered.e30", "registered.%00"])
def test_the_page_of_an_unknown_client_says_what_to_do(server: AuthServer, client: str) -> None:
    answer = server.browser().get(authorization_path(client))
    assert (answer.status_code, answer.headers.get("Location")) == (400, None)
    assert "remove this server from the application" in answer.text
    assert "connect again" in answer.text
