"""Requests of widely used clients to the authorization server, as published or recorded, are all accepted.

Each entry of `tests/data/oauth_clients.json` names its source.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oauth_server import (
    ISSUER,
    RESOURCE,
    AuthServer,
    Visit,
    authorization_path,
    exchange,
    redirect_parameters,
    refresh,
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


@pytest.mark.parametrize("scope", ["read write offline_access", "openid read write", None, ""])
def test_unknown_scopes_that_clients_request_are_ignored(server: AuthServer, scope: str | None) -> None:
    """Claude Code requests offline_access, for example: https://code.claude.com/docs/en/mcp."""
    _stays_in(server, server.register(), "http://127.0.0.1:3333/callback", scope)


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


def test_a_local_program_needs_consent_at_each_log_in(server: AuthServer) -> None:
    """Another program can use the same URI scheme: RFC 8252, section 8.6."""
    uri = "cursor://anysphere.cursor-mcp/oauth/callback"
    client = server.register(uri)
    browser = server.browser()
    for _ in range(2):
        visit = Visit(server, browser)
        visit.open(authorization_path(client, redirect_uri=uri))
        visit.log_in()
        page = visit.look()
        assert (page.status_code, "a program on this device" in page.text) == (200, True)
        assert "code" in redirect_parameters(visit.answer())


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
