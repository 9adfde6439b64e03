"""Log-in at an OpenID provider over HTTP: only the provider's answer to the same browser is accepted."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa

from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.identity.upstream import OpenIdLogIn
from mnemosyne.domain.oauth import PeopleRule
from mnemosyne.domain.principal import Scope
from tests.fakes_wire.openid import CLIENT_ID, CLIENT_SECRET, OpenIdProvider
from tests.oauth_server import (
    ISSUER,
    AuthServer,
    Visit,
    authorization_path,
    claims_of,
    exchange,
    redirect_parameters,
)
from tests.oauth_server import back as link_parameters


@pytest.fixture
def provider() -> Iterator[OpenIdProvider]:
    with OpenIdProvider().serving() as provider:
        yield provider


@pytest.fixture
def server(auth: Pool, provider: OpenIdProvider, tmp_path: Path) -> AuthServer:
    rules = [
        PeopleRule(who="boss@example.com", namespace="bosses"),
        PeopleRule(who="groups:memory-readers", namespace="team", scopes=frozenset({Scope.READ})),
        PeopleRule(who="@example.com"),
    ]
    log_in = OpenIdLogIn(provider.url, CLIENT_ID, CLIENT_SECRET, f"{ISSUER}/callback")
    return AuthServer(auth, tmp_path, rules, log_in)


def _begun(server: AuthServer, client: str) -> tuple[Visit, str]:
    """Start a log-in. Return the visit (the person's browser), and the address of the provider's log-in page."""
    visit = Visit(server)
    where = visit.open(authorization_path(client)).headers["Location"]
    return visit, where


def _back(visit: Visit, provider: OpenIdProvider, where: str) -> Any:
    callback = provider.visit(where)
    answer = visit.browser.get(callback.removeprefix(ISSUER))
    visit.id = answer.headers.get("Location", "").rpartition("request=")[2]
    return answer


def _tokens(server: AuthServer, provider: OpenIdProvider) -> Any:
    client = server.register()
    visit, where = _begun(server, client)
    assert _back(visit, provider, where).headers["Location"].startswith(f"{ISSUER}/consent?")
    code = redirect_parameters(visit.answer())["code"]
    return exchange(server.browser(), client, code).json()


@pytest.mark.parametrize(
    ("changed", "namespace", "scope"),
    [
        ({}, "user:10769150350006150715113082367", "read write"),
        ({"email": "Boss@Example.com"}, "bosses", "read write"),
        ({"groups": ["other", "memory-readers"]}, "team", "read"),
        ({"email_verified": "true"}, "user:10769150350006150715113082367", "read write"),
    ],
)
def test_a_person_who_logs_in_at_the_provider_gets_the_namespace_of_the_rules(
    server: AuthServer, provider: OpenIdProvider, changed: dict[str, Any], namespace: str, scope: str
) -> None:
    provider.claims.update(changed)
    claims = claims_of(_tokens(server, provider))
    assert (claims["namespace"], claims["scope"]) == (namespace, scope)


@pytest.mark.parametrize(
    "signed",
    [
        {"nonce": "of another log-in"},
        {"nonce": None},
        {"aud": "another.apps.example"},
        {"aud": [CLIENT_ID, "another.apps.example"], "azp": "another.apps.example"},
        {"key": rsa.generate_private_key(public_exponent=65537, key_size=2048)},
        {"sub": ""},
        {"sub": "x" * 191},
    ],
    ids=lambda signed: " ".join(signed),
)
def test_an_id_token_that_is_not_for_this_log_in_is_refused(
    server: AuthServer, provider: OpenIdProvider, signed: dict[str, Any]
) -> None:
    provider.signed = signed
    visit, where = _begun(server, server.register())
    answer = _back(visit, provider, where)
    assert answer.status_code == 403, answer.text
    assert "You cannot log in" in answer.text


@pytest.mark.parametrize(
    "methods",
    [
        None,
        ["client_secret_basic"],
        ["client_secret_post"],
        ["client_secret_post", "client_secret_basic"],
        ["private_key_jwt", "client_secret_post"],
    ],
)
def test_the_secret_is_sent_by_a_method_that_the_provider_supports(
    server: AuthServer, provider: OpenIdProvider, methods: list[str] | None
) -> None:
    """If the metadata do not name the methods, it is client_secret_basic (OpenID Connect Discovery, section 3)."""
    provider.auth_methods = methods
    assert _tokens(server, provider)["scope"] == "read write"


@pytest.mark.parametrize("methods", [[], "client_secret_post", 5])
def test_unreadable_methods_of_the_provider_are_ignored(
    server: AuthServer, provider: OpenIdProvider, methods: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.auth_methods = methods
    monkeypatch.setattr(provider, "_is_authenticated", lambda form, headers: "authorization" in headers)
    assert _tokens(server, provider)["scope"] == "read write"


def test_a_state_that_comes_back_twice_is_refused(server: AuthServer, provider: OpenIdProvider) -> None:
    visit, where = _begun(server, server.register())
    callback = provider.visit(where).removeprefix(ISSUER)
    assert visit.browser.get(callback).status_code == 303
    again = visit.browser.get(callback)
    assert again.status_code == 409
    assert provider.exchanged == 1, "the code of a finished log-in is not sent to the provider"


def test_the_state_of_another_browser_is_refused(server: AuthServer, provider: OpenIdProvider) -> None:
    """A person who follows an attacker's link to the callback is not logged in as the attacker (log-in CSRF)."""
    client = server.register()
    attacker, where = _begun(server, client)
    victim, _ = _begun(server, client)
    callback = provider.visit(where).removeprefix(ISSUER)
    for browser in (victim.browser, server.browser()):
        assert browser.get(callback).status_code == 409
    assert provider.exchanged == 0
    assert attacker.browser.get(callback).status_code == 303


@pytest.mark.parametrize(
    "back", [{"error": "access_denied"}, {"code": ""}, {}, {"code": "made up"}], ids=lambda back: str(back)
)
def test_a_failed_log_in_at_the_provider_shows_a_message(
    server: AuthServer, provider: OpenIdProvider, back: dict[str, str]
) -> None:
    visit, where = _begun(server, server.register())
    state = provider.visit(where).partition("state=")[2].partition("&")[0]
    answer = visit.browser.get(f"/callback?{urlencode({'state': state, **back})}")
    assert answer.status_code == 403
    assert "the identity provider refused the log-in" in answer.text
    told = link_parameters(answer)
    assert (told["error"], told["state"], told["iss"]) == ("access_denied", "of-the-client", ISSUER)


def test_a_person_who_may_not_log_in_can_return_to_the_client(server: AuthServer, provider: OpenIdProvider) -> None:
    """A client on the person's device waits for the redirect, also if the person is refused."""
    provider.claims.update({"email": "eve@elsewhere.example"})
    visit, where = _begun(server, server.register())
    page = _back(visit, provider, where)
    assert (page.status_code, "may not use this memory" in page.text) == (403, True)
    assert "Location" not in page.headers
    assert link_parameters(page)["error"] == "access_denied"
    visit = Visit(server)
    where = visit.open("/account").headers["Location"]
    page = _back(visit, provider, where)
    assert (page.status_code, 'href="http://127' in page.text) == (403, False)


def test_an_unavailable_provider_is_reported_and_the_log_in_continues_when_it_is_available(
    server: AuthServer, provider: OpenIdProvider
) -> None:
    client = server.register()
    provider.away = True
    visit = Visit(server)
    assert visit.open(authorization_path(client)).status_code == 503
    provider.away = False
    visit, where = _begun(server, client)
    callback = provider.visit(where).removeprefix(ISSUER)
    provider.away = True
    assert visit.browser.get(callback).status_code == 503
    provider.away = False
    assert visit.browser.get(callback).status_code == 303


def test_the_browser_sees_no_secret_of_the_server(server: AuthServer) -> None:
    visit, where = _begun(server, server.register())
    cookie = next(iter(visit.browser.cookies.values()))
    assert CLIENT_SECRET not in where
    assert cookie not in where


def test_no_database_connection_is_held_while_the_metadata_of_the_provider_are_read(
    auth: Pool, server: AuthServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_metadata = requests.get

    def read_with_the_free_connection(*args: Any, **kwargs: Any) -> requests.Response:
        with auth.connection():
            return read_metadata(*args, **kwargs)

    monkeypatch.setattr("mnemosyne.adapters.database.pool.CHECKOUT_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr("mnemosyne.adapters.identity.upstream.requests.get", read_with_the_free_connection)
    with ExitStack() as others:
        for _ in range(auth.size - 1):
            others.enter_context(auth.connection())
        assert server.browser().get(authorization_path(server.register())).status_code == 303
