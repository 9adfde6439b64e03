"""The authorization server and browsers: redirects only after a log-in, sessions, second clicks and log-out."""

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.identity.log_in_code import LOCAL_PERSON
from mnemosyne.domain.oauth import PeopleRule
from tests.oauth_server import (
    ISSUER,
    REDIRECT,
    AuthServer,
    Visit,
    authorization_path,
    back,
    exchange,
    logged_in,
    redirect_parameters,
    refresh,
)

WEB = "https://client.example/callback"
CURSOR = "cursor://anysphere.cursor-mcp/oauth/callback"
DOCUMENT = "https://client.example/oauth/metadata.json"


# -- before the log-in


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"response_type": "token"}, "unsupported_response_type"),
    ],
)
def test_an_error_before_the_log_in_is_a_page_with_a_link_to_the_client_and_not_a_redirect(
    server: AuthServer, changed: dict[str, str | None], error: str
) -> None:
    for uri in (WEB, "https://evil.example/x?y=1", CURSOR, "com.example.app:/cb", REDIRECT):
        page = server.browser().get(authorization_path(server.register(uri), redirect_uri=uri, **changed))
        answer = back(page)
        sent = (page.status_code, answer["error"], answer["state"], answer["iss"])
        assert sent == (400, error, "of-the-client", ISSUER), uri


@pytest.mark.parametrize(
    "uri",
    [
        "x-apple.systempreferences:com.apple.preference",
        "com.apple.tv://x",
        "microsoft.windows.camera:",
        "javascript:alert(1)",
        "myapp://callback",
        "https://evil.example;script-src",
        "https://evil.example,*/x",
        "https://*.example/x",
        "https://a'b.example/x",
        "https:///x",
        "http://client.example/x",
    ],
)
def test_an_invalid_redirect_uri_cannot_be_registered(server: AuthServer, uri: str) -> None:
    answer = server.browser().post("/register", json={"redirect_uris": [uri]})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


# -- the session


def test_a_planted_session_cookie_cannot_be_used_for_consent(server: AuthServer) -> None:
    """In this attack, the attacker begins a log-in and lets another person finish it.

    The attacker knows the cookie that the log-in had at its beginning.
    """
    planter, victim = Visit(server), Visit(server)
    planter.open(authorization_path(server.register()))
    (planted,) = planter.browser.cookies.jar
    victim.id = planter.id
    victim.browser.cookies.set(planted.name, planted.value or "", domain=planted.domain)
    assert victim.log_in().status_code == 303
    assert planter.look().status_code == 409
    assert planter.answer().status_code == 409
    assert victim.browser.cookies


@pytest.mark.parametrize("path", ["/authorize", "/account"])
@pytest.mark.parametrize("code", [None, "wrong"])
def test_a_log_in_form_sent_twice_by_the_same_browser_continues(
    server: AuthServer, path: str, code: str | None
) -> None:
    visit = Visit(server)
    visit.open(authorization_path(server.register()) if path == "/authorize" else path)
    first = visit.log_in()
    cookies = dict(visit.browser.cookies)
    again = visit.log_in(code)
    assert (again.status_code, again.headers["Location"]) == (303, first.headers["Location"])
    assert dict(visit.browser.cookies) == cookies
    if path == "/authorize":
        answer = visit.answer()
        assert visit.log_in(code).headers["Location"] == first.headers["Location"], "after the consent"
        assert visit.look().headers["Location"] == answer.headers["Location"]


@pytest.mark.parametrize("has_cookie", [True, False])
def test_a_log_in_form_sent_again_with_the_cookie_before_the_log_in_is_refused(
    server: AuthServer, has_cookie: bool
) -> None:
    """An attacker may have set the cookie in the person's browser, and must not get access to the person's log-in."""
    visit, other = Visit(server), Visit(server)
    visit.open(authorization_path(server.register()))
    (before,) = visit.browser.cookies.jar
    visit.log_in()
    other.id = visit.id
    if has_cookie:
        other.browser.cookies.set(before.name, before.value or "", domain=before.domain)
    assert other.log_in().status_code == 409
    assert "Set-Cookie" not in other.look().headers


@pytest.mark.parametrize("planted", ["a" * 43, "", "short", "é" * 43])
def test_a_session_cookie_that_the_server_did_not_issue_is_replaced(server: AuthServer, planted: str) -> None:
    browser = server.browser()
    for path in (authorization_path(server.register()), "/account"):
        headers = {"Cookie": f"__Host-mnemosyne-auth={planted}".encode()}
        set_cookie = browser.get(path, headers=headers).headers["Set-Cookie"]  # type: ignore[arg-type]
        assert "a" * 43 not in set_cookie
        assert all(part in set_cookie for part in ("HttpOnly", "Secure", "Path=/", "SameSite=lax"))


def test_concurrent_log_ins_in_one_browser_all_complete(server: AuthServer) -> None:
    browser = server.browser()
    visits = [Visit(server, browser) for _ in range(3)]
    codes = []
    for visit in visits:
        visit.open(authorization_path(server.register()))
        codes.append(server.code())
    for visit, code in zip(visits, codes, strict=True):
        visit.log_in(code)
    assert all("code" in redirect_parameters(visit.answer()) for visit in reversed(visits))


def test_a_person_can_log_out_of_the_account_page(server: AuthServer, owner: Connection) -> None:
    visit = Visit(server)
    visit.open("/account")
    visit.log_in()
    assert "Log out" in visit.browser.get(f"/account?request={visit.id}").text
    form = {"request": visit.id, "log_out": "1"}
    assert visit.browser.post("/account", data=form, headers={"Origin": "https://evil.example"}).status_code == 403
    cookies = dict(visit.browser.cookies)
    page = visit.browser.post("/account", data=form)
    assert "You are logged out" in page.text
    assert not visit.browser.cookies
    visit.browser.cookies.update(cookies)
    ended = visit.browser.get(f"/account?request={visit.id}")
    assert (ended.status_code, "or at /account" in ended.text) == (409, True)
    assert int(owner.run_file("SELECT count(*) FROM oauth_requests")[0][0]) == 0


@pytest.mark.parametrize("path", ["/account", "/consent", "/log-in"])
@pytest.mark.parametrize("request_id", ["a b", "a;b", '"', "\r\nSet-Cookie: x=y", "\u00fc", "\0"])
def test_an_id_that_the_server_did_not_issue_causes_no_internal_error(
    server: AuthServer, path: str, request_id: str
) -> None:
    """The id of an authorization request is a part of the name of its cookie. So an invalid id needs a check."""
    form = {"request": request_id, "log_out": "1", "answer": "allow"}
    answer = server.browser().post(path, data=form, headers={"Cookie": f"__Host-mnemosyne-auth-a b={'x' * 43}"})
    assert answer.status_code == (200 if path == "/account" else 409)
    assert "x=y" not in answer.headers.get("Set-Cookie", "")


# -- the consent page


@pytest.mark.parametrize("first", ["allow", "deny"])
def test_a_second_click_redirects_like_the_first(server: AuthServer, first: str) -> None:
    visit = logged_in(server)
    answers = [visit.answer(first)] + [visit.answer(answer) for answer in ("allow", "deny") for _ in range(2)]
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert ("code" in redirect_parameters(answers[-1])) == (first == "allow")
    assert visit.look().headers["Location"] == answers[0].headers["Location"], "the consent page is loaded again"


def test_the_code_of_a_second_click_can_be_used_once(server: AuthServer) -> None:
    client = server.register()
    visit = logged_in(server, client)
    visit.answer()
    tokens = exchange(server.browser(), client, redirect_parameters(visit.answer())["code"]).json()
    late = visit.answer()
    assert (late.status_code, "You have already answered" in late.text) == (200, True)
    assert refresh(server.browser(), client, tokens["refresh_token"]).status_code == 200, "the grant is still valid"


def test_another_browser_does_not_learn_the_code(server: AuthServer) -> None:
    visit, other = logged_in(server), Visit(server)
    visit.answer()
    other.id = visit.id
    assert (other.answer().status_code, other.look().status_code) == (409, 409)


@pytest.mark.parametrize("redirect_uri", [REDIRECT, "http://localhost:3118/callback", CURSOR])
def test_the_consent_page_warns_of_a_local_program_with_a_metadata_document(
    server: AuthServer, redirect_uri: str
) -> None:
    document = {"client_id": DOCUMENT, "client_name": "Known", "redirect_uris": [redirect_uri, WEB]}
    server.documents.found[DOCUMENT] = json.dumps(document).encode()
    warning = "Allow this only if you have just told Known to connect."
    assert warning in logged_in(server, DOCUMENT, redirect_uri=redirect_uri).look().text
    assert warning not in logged_in(server, DOCUMENT, redirect_uri=WEB).look().text


# -- the identity provider


class SlowProvider:
    """Identity provider whose answer waits for the test."""

    def __init__(self) -> None:
        self.asked = 0
        self.is_asked, self.may_answer = threading.Event(), threading.Event()

    def begin(self, secret: str, client_name: str) -> tuple[str, str]:
        return "https://provider.example/", ""

    def finish(self, secret: str, form: Mapping[str, str]) -> Mapping[str, Any]:
        self.asked += 1
        self.is_asked.set()
        assert self.may_answer.wait(30)
        return LOCAL_PERSON


def test_no_database_connection_is_held_during_a_call_of_the_identity_provider(
    auth: Pool, tmp_path: Path, owner: Connection
) -> None:
    provider = SlowProvider()
    server = AuthServer(auth, tmp_path, [PeopleRule(who="*")], provider)
    key, new_key = "cookie.id", "another.id"
    server.flow.start_account(key, "203.0.113.7")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(server.flow.log_in, key, new_key, {})
        assert provider.is_asked.wait(30)
        assert owner.run_file("SELECT status FROM oauth_requests FOR UPDATE NOWAIT") == [["logging_in"]]
        with pytest.raises(Exception, match="start over"):
            server.flow.log_in(key, new_key, {})
        provider.may_answer.set()
        assert running.result(30) is False
    assert (provider.asked, owner.run_file("SELECT status FROM oauth_requests")) == (1, [["logged_in"]])
