"""Requests to /token and /revoke as different clients send them, and their errors."""

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlencode

import pytest

from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.identity import log_in_code
from mnemosyne.domain.oauth import PeopleRule
from tests.oauth_server import (
    REDIRECT,
    VERIFIER,
    AuthServer,
    Visit,
    authorization_path,
    back,
    exchange,
    refresh,
    tokens_of,
)

FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize("name", ["access_token", "refresh_token"])
@pytest.mark.parametrize("hint", [{}, {"token_type_hint": "urn:example:token"}], ids=["no hint", "unknown hint"])
@pytest.mark.parametrize("named", [True, False])
def test_a_revoked_token_ends_its_grant(
    server: AuthServer, stands: Any, name: str, hint: dict[str, str], named: bool
) -> None:
    """LibreChat sends only the token. RFC 7009, section 2.2, says that the server may ignore the hint."""
    client, tokens = tokens_of(server)
    form = {"token": tokens[name], **hint, **({"client_id": client} if named else {})}
    answer = server.browser().post("/revoke", data=form)
    assert (answer.status_code, answer.headers.get("WWW-Authenticate")) == (200, None)
    assert not stands(tokens)
    assert refresh(server.browser(), client, tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_the_longest_access_token_can_be_revoked(
    auth: Pool, tmp_path: Path, stands: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token contains the names of the person and the namespace, and the registration of the client."""
    monkeypatch.setattr(log_in_code, "LOCAL_PERSON", {"sub": "\U0001d4d0" * 190, "name": "A person"})
    server = AuthServer(auth, tmp_path, [PeopleRule(who="*", namespace="\U0001d4d1" * 200)])
    client = server.register(redirect_uris=[REDIRECT, f"https://client.example/{'a' * 600}"])
    tokens = exchange(server.browser(), client, Visit(server).to_the_end(client)["code"]).json()
    assert (len(client) > 900, len(tokens["access_token"]) > 3_000) == (True, True)
    answer = server.browser().post("/revoke", data={"token": tokens["access_token"]})
    assert (answer.status_code, stands(tokens)) == (200, False), answer.text


@pytest.mark.parametrize("token", ["unknown", "a.b.c", "x" * 500])
def test_an_unknown_token_revokes_nothing(server: AuthServer, stands: Any, token: str) -> None:
    _, tokens = tokens_of(server)
    assert server.browser().post("/revoke", data={"token": token}).status_code == 200
    assert stands(tokens)


def test_a_revocation_without_a_token_is_refused(server: AuthServer) -> None:
    answer = server.browser().post("/revoke", data={"token_type_hint": "refresh_token"})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


def test_a_code_is_accepted_without_a_redirect_uri(server: AuthServer) -> None:
    """In OAuth 2.1, requests to /token have no redirect_uri. The code is protected by the verifier of PKCE."""
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


def _token_request(server: AuthServer, **changed: str) -> tuple[str, dict[str, str]]:
    """Return a client's id, and the parameters of its request for tokens without the id."""
    client = server.register(**changed)
    code = Visit(server).to_the_end(client)["code"]
    return client, {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}


@pytest.mark.parametrize(
    "content_type", [FORM.upper(), "Application/X-WWW-Form-URLEncoded; Charset=UTF-8", f"{FORM} ;x=y"]
)
def test_the_case_of_the_content_type_is_ignored(server: AuthServer, content_type: str) -> None:
    client, form = _token_request(server)
    body = urlencode({**form, "client_id": client})
    answer = server.browser().post("/token", content=body, headers={"Content-Type": content_type})
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/token", "/revoke"])
@pytest.mark.parametrize(
    "sent",
    [
        {"json": {"client_id": "x", "code": "x", "token": "x"}},
        {"data": {"client_id": "x"}, "files": {"code": b"x"}},
        {"content": "client_id=x&code=x&token=x", "headers": {"Content-Type": "text/plain;charset=UTF-8"}},
        {"content": "client_id=x&code=x&token=x"},
        {"content": "client_id=x", "headers": {"Content-Type": f"text/plain; {FORM}"}},
        {"json": {}, "headers": {"Authorization": "Basic eDo="}},
        {},
    ],
    ids=str,
)
def test_a_body_that_is_not_a_form_is_refused_with_the_needed_content_type(
    server: AuthServer, path: str, sent: dict[str, Any]
) -> None:
    answer = server.browser().post(path, **sent)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert FORM in answer.json()["error_description"]
    assert "WWW-Authenticate" not in answer.headers


def test_a_token_request_without_a_client_id_is_refused_without_a_challenge(server: AuthServer) -> None:
    _, form = _token_request(server)
    answer = server.browser().post("/token", data=form)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert "client_id" in answer.json()["error_description"]
    assert "WWW-Authenticate" not in answer.headers


@pytest.mark.parametrize("path", ["/token", "/revoke", "/register"])
def test_a_compressed_body_is_refused_with_the_reason(server: AuthServer, path: str) -> None:
    headers = {"Content-Type": FORM, "Content-Encoding": "gzip"}
    answer = server.browser().post(path, content=gzip.compress(b"client_id=x"), headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert "send the body uncompressed, got 'gzip'" in answer.json()["error_description"]


@pytest.mark.parametrize("state", ["a" * 8_000, "~!@#$%^&*()_+-={}[]|\\:\";'<>?,./ %20"])
def test_a_client_gets_its_state_unchanged(server: AuthServer, state: str) -> None:
    client = server.register()
    assert Visit(server).to_the_end(client, state=state)["state"] == state


@pytest.mark.parametrize(
    ("parameter", "value", "problem"),
    [
        ("state", "a" * 8_001, "state must be at most 8,000 printable characters of ASCII"),
        ("state", "\u00fc", "state must be at most 8,000 printable characters of ASCII"),
        ("scope", 'read"', "scope must be at most 2,000 printable characters of ASCII, without quotation marks"),
    ],
)
def test_the_error_about_an_unsupported_character_names_the_rule(
    server: AuthServer, parameter: str, value: str, problem: str
) -> None:
    page = server.browser().get(authorization_path(server.register(), **{parameter: value}))
    assert (page.status_code, problem in page.text) == (400, True)


@pytest.mark.parametrize(
    ("grant_type", "error"),
    [(None, "invalid_request"), ("", "invalid_request"), ("client_credentials", "unsupported_grant_type")],
)
def test_the_error_about_the_grant_type_names_the_supported_ones(
    server: AuthServer, grant_type: str | None, error: str
) -> None:
    _, form = _token_request(server)
    del form["grant_type"]
    form |= {"client_id": server.register()} | ({} if grant_type is None else {"grant_type": grant_type})
    answer = server.browser().post("/token", data=form)
    expected = f"grant_type must be authorization_code or refresh_token, got {grant_type or 'none'}"
    assert (answer.status_code, answer.json()) == (400, {"error": error, "error_description": expected})


@pytest.mark.parametrize(
    ("response_type", "error"),
    [(None, "invalid_request"), ("token", "unsupported_response_type"), ("code id_token", "unsupported_response_type")],
)
def test_the_error_about_the_response_type_names_the_supported_one(
    server: AuthServer, response_type: str | None, error: str
) -> None:
    page = server.browser().get(authorization_path(server.register(), response_type=response_type))
    expected = f"response_type must be code, got {response_type or 'none'}"
    assert (page.status_code, expected in page.text) == (400, True)
    told = back(page)
    assert (told["error"], told["error_description"]) == (error, expected)


def test_the_error_about_a_refresh_token_says_what_to_do(server: AuthServer) -> None:
    answer = refresh(server.browser(), server.register(), "unknown")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert "expired, revoked, or was used before: log in again" in answer.json()["error_description"]


def _basic(text: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


@pytest.mark.parametrize("path", ["registered", "https://client.example/metadata.json?a=b:c"])
@pytest.mark.parametrize("encode", [str, quote_plus])
def test_a_client_may_send_its_id_as_the_user_of_basic_with_an_empty_secret(
    server: AuthServer, path: str, encode: Callable[[str], str]
) -> None:
    """RFC 6749, section 2.3.1, says that clients must percent-encode the id, but many clients do not."""
    client = server.register()
    if path != "registered":
        client, document = path, {"client_id": path, "client_name": "A test", "redirect_uris": [REDIRECT]}
        server.documents.found[client] = json.dumps(document).encode()
    form = {"code": Visit(server).to_the_end(client)["code"], "code_verifier": VERIFIER}
    header = _basic(f"{encode(client)}:")
    answer = server.browser().post("/token", data={"grant_type": "authorization_code", **form}, headers=header)
    assert answer.status_code == 200, answer.text
    again = {"grant_type": "refresh_token", "refresh_token": answer.json()["refresh_token"]}
    assert server.browser().post("/token", data=again, headers=header).status_code == 200


@pytest.mark.parametrize(
    "header", ["Basic", "Basic !", "Basic /w==", "Basic Og==", "Bearer x", "Digest username=x", "é"]
)
def test_an_unreadable_authorization_header_is_refused(server: AuthServer, header: str) -> None:
    _, form = _token_request(server)
    answer = server.browser().post("/token", data=form, headers={b"Authorization": header.encode("latin-1")})
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")


def test_basic_with_a_secret_is_refused_with_the_reason(server: AuthServer) -> None:
    client, form = _token_request(server)
    answer = server.browser().post("/token", data=form, headers=_basic(f"{client}:secret"))
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert "clients have no secret" in answer.json()["error_description"]
    assert answer.headers["WWW-Authenticate"].startswith('Basic realm="Mnemosyne", error="invalid_client", ')
    assert server.browser().post("/token", data=form, headers=_basic(f"{client}:")).status_code == 200


def test_the_client_id_in_the_body_counts_before_the_header(server: AuthServer) -> None:
    client, form = _token_request(server)
    other = server.register(client_name="Another")
    answer = server.browser().post("/token", data={**form, "client_id": client}, headers=_basic(f"{other}:"))
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "field", ["client_secret", "client_name", "grant_types", "response_types", "token_endpoint_auth_method"]
)
@pytest.mark.parametrize("empty", ["", None, []])
def test_an_empty_field_of_a_registration_is_treated_as_absent(server: AuthServer, field: str, empty: Any) -> None:
    answer = server.browser().post("/register", json={"redirect_uris": [REDIRECT], field: empty})
    assert (answer.status_code, answer.json().get("error_description")) == (201, None)
    assert answer.json() == server.browser().post("/register", json={"redirect_uris": [REDIRECT]}).json()


@pytest.mark.parametrize("secret", ["x", 0, False])
def test_a_registration_with_a_secret_is_refused_with_the_name_of_the_field(server: AuthServer, secret: Any) -> None:
    answer = server.browser().post("/register", json={"redirect_uris": [REDIRECT], "client_secret": secret})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")
    assert "client_secret" in answer.json()["error_description"]
    assert "token_endpoint_auth_method" not in answer.json()["error_description"]
