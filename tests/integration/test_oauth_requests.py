"""Requests to /token and /revoke as different clients send them, and their errors."""

from typing import Any

import pytest

from tests.oauth_server import AuthServer, refresh, tokens_of


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
