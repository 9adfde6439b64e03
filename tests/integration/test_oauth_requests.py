"""Requests to /token and /revoke as different clients send them, and their errors."""

from typing import Any

import pytest

from tests.oauth_server import REDIRECT, AuthServer, Visit, exchange, refresh, tokens_of


@pytest.mark.parametrize("name", ["access_token", "refresh_token"])
def test_a_token_can_be_revoked_without_a_client_id(server: AuthServer, stands: Any, name: str) -> None:
    """LibreChat sends only the token."""
    client, tokens = tokens_of(server)
    answer = server.browser().post("/revoke", data={"token": tokens[name]})
    assert (answer.status_code, answer.headers.get("WWW-Authenticate")) == (200, None)
    assert not stands(tokens)
    assert refresh(server.browser(), client, tokens["refresh_token"]).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("token", ["unknown", "a.b.c", "x" * 500])
def test_an_unknown_token_revokes_nothing(server: AuthServer, stands: Any, token: str) -> None:
    _, tokens = tokens_of(server)
    assert server.browser().post("/revoke", data={"token": token}).status_code == 200
    assert stands(tokens)


def test_a_revocation_without_a_token_is_refused(server: AuthServer) -> None:
    answer = server.browser().post("/revoke", data={"token_type_hint": "refresh_token"})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


def test_a_code_is_accepted_without_a_redirect_uri(server: AuthServer) -> None:
    """OAuth 2.1 has no redirect_uri at /token; the verifier protects the code."""
    client = server.register()
    code = Visit(server).to_the_end(client)["code"]
    assert exchange(server.browser(), client, code, redirect_uri=None).status_code == 200


@pytest.mark.parametrize("verifier", [None, "", "too-short", "ä" * 43, "a" * 129])
@pytest.mark.parametrize("redirect_uri", [None, REDIRECT])
def test_a_request_without_a_well_formed_verifier_does_not_use_up_the_code(
    server: AuthServer, stands: Any, verifier: str | None, redirect_uri: str | None
) -> None:
    client, browser = server.register(), server.browser()
    code = Visit(server).to_the_end(client)["code"]
    refused = exchange(browser, client, code, code_verifier=verifier, redirect_uri=redirect_uri)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")
    answer = exchange(browser, client, code, redirect_uri=redirect_uri)
    assert answer.status_code == 200
    assert stands(answer.json())


@pytest.mark.parametrize("uri", ["http://127.0.0.1:4444/callback", "https://evil.example/callback", "x"])
def test_a_code_is_refused_with_another_redirect_uri(server: AuthServer, uri: str) -> None:
    client = server.register()
    code = Visit(server).to_the_end(client)["code"]
    answer = exchange(server.browser(), client, code, redirect_uri=uri)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
