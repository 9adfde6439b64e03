"""Requests of widely used clients to the authorization server are accepted, and so are variants of their spelling.

Each entry of `tests/data/oauth_clients.json` names its source.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.oauth import PeopleRule
from mnemosyne.errors import Unavailable
from tests.oauth_server import (
    ISSUER,
    RESOURCE,
    AuthServer,
    Visit,
    authorization_path,
    claims_of,
    exchange,
    refresh,
    tokens_of,
)

KNOWN = json.loads((Path(__file__).parents[1] / "data/oauth_clients.json").read_text())
DOCUMENTS = [
    pytest.param(document["document"], uri, id=f"{document['client']} {uri}")
    for document in KNOWN["documents"]
    for uri in document["asks"]
]
REGISTRATIONS = [
    pytest.param(registration["registration"], uri, id=f"{registration['client']} {uri}")
    for registration in KNOWN["registrations"]
    for uri in registration["registration"]["redirect_uris"]
]


def _stays_in(server: AuthServer, client_id: str, redirect_uri: str, scope: str | None) -> None:
    code = Visit(server).to_the_end(client_id, redirect_uri=redirect_uri, scope=scope)["code"]
    answer = exchange(server.browser(), client_id, code, redirect_uri=redirect_uri)
    assert (answer.status_code, answer.json()["scope"]) == (200, "read write")
    assert refresh(server.browser(), client_id, answer.json()["refresh_token"]).status_code == 200


@pytest.mark.parametrize(("document", "redirect_uri"), DOCUMENTS)
def test_a_client_with_a_metadata_document_logs_in_and_refreshes(
    server: AuthServer, document: dict[str, Any], redirect_uri: str
) -> None:
    server.documents.found[document["client_id"]] = json.dumps(document).encode()
    _stays_in(server, document["client_id"], redirect_uri, "read write")


@pytest.mark.parametrize(("registration", "redirect_uri"), REGISTRATIONS)
def test_a_client_that_registers_logs_in_and_refreshes(
    server: AuthServer, registration: dict[str, Any], redirect_uri: str
) -> None:
    registered = server.browser().post("/register", json=registration).json()
    assert registered["token_endpoint_auth_method"] == "none"
    _stays_in(server, registered["client_id"], redirect_uri, "read write")


def test_while_a_document_cannot_be_read_its_client_may_use_every_redirect_uri(
    server: AuthServer, auth: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Browsers and editors of one client have different redirect URIs."""
    client, uris = "https://client.example/metadata.json", ["http://127.0.0.1/callback", "https://client.example/back"]
    document = {"client_id": client, "client_name": "A test", "redirect_uris": uris}
    server.documents.found[client] = json.dumps(document).encode()
    Visit(server).to_the_end(client, redirect_uri=uris[0])

    async def fail(client_id: str, address: str) -> bytes:
        raise Unavailable("the client's web site does not respond")

    other = AuthServer(auth, tmp_path, [PeopleRule(who="*")])  # another instance, which has not read the document
    monkeypatch.setattr(other.documents, "fetch", fail)
    answers = [other.browser().get(authorization_path(client, redirect_uri=uri)) for uri in uris]
    assert [answer.status_code for answer in answers] == [303, 303]


@pytest.mark.parametrize("port", ["", ":443"])
def test_the_case_and_the_default_port_of_the_host_are_ignored(server: AuthServer, port: str) -> None:
    """Upper and lower case are equal in host names (RFC 9110, section 4.2.3). Programs send a name as it was typed."""
    host = ISSUER.removeprefix("https://").title() + port
    assert server.browser().get("/jwks.json", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("scope", ["read write offline_access", "openid read write", None, ""])
def test_unknown_scopes_that_clients_request_are_ignored(server: AuthServer, scope: str | None) -> None:
    """Claude Code requests offline_access, for example: https://code.claude.com/docs/en/mcp."""
    _stays_in(server, server.register(), "http://127.0.0.1:3333/callback", scope)


@pytest.mark.parametrize(
    ("scope", "issued"),
    [("read write offline_access", "read write"), ("openid read", "read"), ("offline_access", "read write")],
)
def test_unknown_scopes_of_a_refresh_are_ignored(server: AuthServer, scope: str, issued: str) -> None:
    """At each refresh, some libraries send all scopes again that they requested at the log-in."""
    client, tokens = tokens_of(server, scope="read write offline_access")
    answer = refresh(server.browser(), client, tokens["refresh_token"], scope=scope)
    assert (answer.status_code, answer.json().get("scope")) == (200, issued)
    assert claims_of(answer.json())["scope"] == issued


def test_the_metadata_has_the_fields_that_claude_and_chatgpt_need(server: AuthServer) -> None:
    """Without these fields they register at each connection, or not at all.

    https://claude.com/docs/connectors/building/authentication, https://developers.openai.com/apps-sdk/build/auth.
    """
    offered = server.browser().get("/.well-known/oauth-authorization-server").json()
    assert offered["client_id_metadata_document_supported"] is True
    assert "none" in offered["token_endpoint_auth_methods_supported"]
    assert offered["authorization_response_iss_parameter_supported"] is True
    assert offered["code_challenge_methods_supported"] == ["S256"]
    assert (offered["issuer"], offered["protected_resources"]) == (ISSUER, [RESOURCE])


@pytest.mark.parametrize("path", ["/token", "/register", "/revoke"])
def test_a_client_in_a_browser_may_call_the_token_endpoint_from_any_origin(server: AuthServer, path: str) -> None:
    preflight = {
        "Origin": "https://inspector.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, mcp-protocol-version",
    }
    allowed = server.browser().options(path, headers=preflight)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, "*")
    assert "content-type" in allowed.headers["access-control-allow-headers"]
    response = server.browser().post(path, headers={"Origin": "https://inspector.example"})
    assert response.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in response.headers


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/jwks.json"]
)
def test_metadata_may_be_read_from_any_origin(server: AuthServer, path: str) -> None:
    response = server.browser().get(path, headers={"Origin": "https://inspector.example"})
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (200, "*")


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
    assert claims_of(_tokens(server, resource))["aud"] == RESOURCE


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
    client, tokens = tokens_of(server)
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
