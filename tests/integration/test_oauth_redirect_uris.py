"""Redirect URIs of clients: unsupported ones are left out, and do not keep the client from the supported ones."""

import html
import json
from dataclasses import replace
from typing import Any

import pytest

from tests.oauth_server import (
    ISSUER,
    REDIRECT,
    AuthServer,
    Visit,
    authorization_path,
    exchange,
    logged_in,
    redirect_parameters,
)

DOCUMENT = "https://client.example/oauth/metadata.json"
WEB = "https://client.example/callback"
UNSUPPORTED = [
    "myapp://callback",
    "http://192.168.1.5:3000/callback",
    "urn:ietf:wg:oauth:2.0:oob",
    "",
    None,
    5,
    [REDIRECT],
]


def _document(server: AuthServer, uris: list[Any]) -> None:
    metadata = {"client_id": DOCUMENT, "client_name": "A web client", "redirect_uris": uris}
    server.documents.found[DOCUMENT] = json.dumps(metadata).encode()


@pytest.mark.parametrize("unsupported", UNSUPPORTED, ids=str)
def test_an_unsupported_redirect_uri_is_left_out_of_a_registration(server: AuthServer, unsupported: Any) -> None:
    posted = {"redirect_uris": [unsupported, REDIRECT, WEB, REDIRECT]}
    answer = server.browser().post("/register", json=posted)
    assert (answer.status_code, answer.json().get("redirect_uris")) == (201, [REDIRECT, WEB])
    assert "code" in Visit(server).to_the_end(answer.json()["client_id"])


@pytest.mark.parametrize("unsupported", UNSUPPORTED, ids=str)
def test_an_unsupported_redirect_uri_is_left_out_of_a_document(server: AuthServer, unsupported: Any) -> None:
    _document(server, [unsupported, REDIRECT])
    code = Visit(server).to_the_end(DOCUMENT)["code"]
    assert exchange(server.browser(), DOCUMENT, code).status_code == 200


@pytest.mark.parametrize("uri", ["myapp://callback", "http://client.example/callback"])
@pytest.mark.parametrize("by_document", [True, False])
def test_an_unsupported_redirect_uri_is_refused_at_authorize_with_the_supported_schemes(
    server: AuthServer, uri: str, by_document: bool
) -> None:
    _document(server, [uri, REDIRECT])
    registered = server.browser().post("/register", json={"redirect_uris": [uri, REDIRECT]}).json()["client_id"]
    page = server.browser().get(authorization_path(DOCUMENT if by_document else registered, redirect_uri=uri))
    assert (page.status_code, page.headers.get("Location")) == (400, None)
    assert f"redirect_uri {uri} must be https, " in page.text
    assert "loopback" in page.text
    assert f'href="{uri}' not in page.text


def test_a_document_may_have_many_redirect_uris(server: AuthServer) -> None:
    uris = [f"https://client{number}.example/callback" for number in range(200)]
    _document(server, uris)
    code = Visit(server).to_the_end(DOCUMENT, redirect_uri=uris[-1])["code"]
    assert exchange(server.browser(), DOCUMENT, code, redirect_uri=uris[-1]).status_code == 200


def test_a_registration_may_have_many_short_redirect_uris(server: AuthServer) -> None:
    uris = [f"http://127.0.0.1:{port}/{port}" for port in range(3000, 3012)]
    answer = server.browser().post("/register", json={"redirect_uris": uris})
    assert (answer.status_code, answer.json().get("redirect_uris")) == (201, uris)


def test_a_client_whose_redirect_uris_are_all_unsupported_is_refused_with_the_first(server: AuthServer) -> None:
    answer = server.browser().post("/register", json={"redirect_uris": ["myapp://x", "http://client.example/x"]})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")
    assert "'myapp://x' must be https, http on loopback, or have a scheme" in answer.json()["error_description"]


@pytest.mark.parametrize(
    ("uri", "separator"),
    [
        ("com.example.app:/callback", "?"),
        ("com.example.app:///callback", "?"),
        ("com.Example.App:/callback", "?"),
        ("http://127.0.0.1:3333", "?"),
        ("https://client.example/callback?", ""),
        ("https://client.example/callback?native", "&"),
        ("https://client.example/callback?a=b%20c&d=%ff", "&"),
        ("https://client.example/callback?a=1;b=2&", ""),
    ],
)
def test_the_parameters_are_appended_to_the_unchanged_redirect_uri(
    server: AuthServer, uri: str, separator: str
) -> None:
    """RFC 6749, section 3.1.2: the query of the redirect URI is retained."""
    client = server.register(uri)
    page = server.browser().get(authorization_path(client, redirect_uri=uri, response_type="token"))
    assert f'href="{html.escape(uri + separator)}error=' in page.text
    for button, parameter in (("allow", "code"), ("deny", "error"), ("allow", "code")):
        visit = logged_in(server, client, redirect_uri=uri)
        for answer in (visit.answer(button), visit.answer(button)):
            assert answer.headers["Location"].startswith(f"{uri}{separator}{parameter}=")
            assert answer.headers["Location"].endswith("&state=of-the-client&iss=https%3A%2F%2Fauth.example")


def test_a_client_learns_the_issuer_if_its_resource_was_removed_during_the_log_in(server: AuthServer) -> None:
    """The redirect URI in this test has a parameter that looks like a code. The consent must not be stored."""
    uri = "https://client.example/callback?promocode=1"
    client = server.register(uri)
    visit = logged_in(server, client, redirect_uri=uri)
    issuer = server.flow.issuer
    server.flow.issuer = replace(issuer, resources=("https://other.example/mcp",))
    redirect = redirect_parameters(visit.answer())
    assert (redirect["error"], redirect["state"], redirect["iss"]) == ("invalid_target", "of-the-client", ISSUER)
    server.flow.issuer = issuer
    assert logged_in(server, client, redirect_uri=uri).look().status_code == 200, "asked for consent again"
