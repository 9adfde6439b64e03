"""The authorization server with PostgreSQL: issued tokens, their limits, and rejected requests."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import jwt
import pytest

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.oauth import OAuthStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.oauth import CLIENT_ID_LENGTH, REQUEST_SECONDS, Consent, Grant, PeopleRule
from mnemosyne.domain.principal import Scope
from mnemosyne.ids import new_id
from mnemosyne.oauth.people import SUBJECT_LENGTH
from tests.fakes import NOW
from tests.oauth_server import (
    CHALLENGE,
    ISSUER,
    REDIRECT,
    RESOURCE,
    AuthServer,
    Visit,
    authorization_path,
    exchange,
    logged_in,
    redirect_parameters,
    refresh,
    tokens_of,
)

DOCUMENT = "https://client.example/oauth/metadata.json"


# -- issued tokens


def test_an_access_token_names_person_client_scope_audience_and_issuer(server: AuthServer) -> None:
    client = server.register()
    redirect = Visit(server).to_the_end(client)
    assert (redirect["state"], redirect["iss"]) == ("of-the-client", ISSUER)
    answer = exchange(server.browser(), client, redirect["code"])
    tokens = answer.json()
    assert (answer.status_code, tokens["token_type"], tokens["scope"]) == (200, "Bearer", "read write")
    assert answer.headers["Cache-Control"] == "no-store"
    keys = jwt.PyJWKSet.from_dict(server.browser().get("/jwks.json").json())
    header = jwt.get_unverified_header(tokens["access_token"])
    assert (header["typ"], header["alg"]) == ("at+jwt", "ES256")
    claims = jwt.decode(tokens["access_token"], keys[header["kid"]], algorithms=["ES256"], audience=RESOURCE)
    assert claims["exp"] - claims["iat"] == tokens["expires_in"] == 86_400
    own_claims = {name: claims[name] for name in ("iss", "sub", "aud", "client_id", "scope", "namespace")}
    assert own_claims == {
        "iss": ISSUER, "sub": "local", "aud": RESOURCE, "client_id": client, "scope": "read write", "namespace": "team",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("grant_types", "seconds"),
    [(["authorization_code"], 86_400), (["authorization_code", "refresh_token"], 30 * 86_400)],
)
def test_a_grant_expires_with_its_longest_lived_token(
    server: AuthServer, owner: Connection, grant_types: list[str], seconds: int
) -> None:
    client = server.register(grant_types=grant_types)
    code = Visit(server).to_the_end(client)["code"]
    sql = "SELECT CAST(round(extract(epoch FROM expires_at - now()) / 60) AS integer) FROM oauth_grants"
    assert int(owner.run_file(sql)[0][0]) == 1, "the grant expires with its code"
    assert exchange(server.browser(), client, code).status_code == 200
    assert int(owner.run_file(sql)[0][0]) == seconds // 60


def test_a_refresh_can_request_fewer_scopes_but_not_more(server: AuthServer) -> None:
    client, tokens = tokens_of(server, scope="read")
    assert tokens["scope"] == "read"
    assert (
        refresh(server.browser(), client, tokens["refresh_token"], scope="read write").json()["error"]
        == "invalid_scope"
    )


def test_a_code_used_forty_times_at_once_on_two_instances_gives_one_token(
    server: AuthServer, auth: Pool, tmp_path: Path, owner: Connection
) -> None:
    client = server.register()
    code = Visit(server).to_the_end(client)["code"]
    servers = [server, AuthServer(auth, tmp_path, [PeopleRule(who="*", namespace="team")])]
    with ThreadPoolExecutor(8) as pool:
        browsers = [servers[number % 2].browser(f"192.0.2.{number}") for number in range(40)]
        answers = list(pool.map(lambda browser: exchange(browser, client, code), browsers))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 39
    assert {answer.json()["error"] for answer in answers if answer.status_code == 400} == {"invalid_grant"}
    assert owner.run("SELECT count(*) FROM oauth_grants") == [[1]]


def test_the_second_use_of_a_code_ends_its_grant(server: AuthServer, stands: Any) -> None:
    client, browser = server.register(), server.browser()
    code = Visit(server).to_the_end(client)["code"]
    tokens = exchange(browser, client, code).json()
    assert stands(tokens)
    assert exchange(browser, client, code).json()["error"] == "invalid_grant"
    assert not stands(tokens)


def test_a_client_can_neither_revoke_nor_refresh_a_token_of_another_client(server: AuthServer, stands: Any) -> None:
    other, browser = server.register(client_name="Another"), server.browser()
    client, tokens = tokens_of(server)
    browser.post("/revoke", data={"client_id": other, "token": tokens["refresh_token"]})
    assert refresh(browser, other, tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert stands(tokens)
    assert refresh(browser, client, tokens["refresh_token"]).status_code == 200


# -- rejected clients


@pytest.mark.parametrize(
    "redirect_uri",
    [
        "http://localhost.evil.example/callback",
        "http://127.0.0.1.evil.example:3333/callback",
        "http://127.0.0.1:3333@evil.example/callback",
        "http://127.0.0.1:3333/other",
        "http://127.0.0.1:3333/callback?next=x",
        "http://localhost:3333/callback",
        "https://127.0.0.1:3333/callback",
        "http://127.0.0.1:3333/callback#fragment",
        "http://127.0.0.1\\@evil.example/callback",
        "//127.0.0.1:3333/callback",
    ],
)
def test_an_unregistered_redirect_uri_is_refused_without_a_redirect(server: AuthServer, redirect_uri: str) -> None:
    answer = server.browser().get(authorization_path(server.register(), redirect_uri=redirect_uri))
    assert answer.status_code == 400
    assert "Location" not in answer.headers
    assert "evil.example/callback" not in re.sub(r"<p[^>]* role.*?</p>", "", answer.text)


def test_a_loopback_redirect_uri_may_have_any_port(server: AuthServer) -> None:
    answer = server.browser().get(authorization_path(server.register(), redirect_uri="http://127.0.0.1:61234/callback"))
    assert answer.headers["Location"].startswith(f"{ISSUER}/log-in")


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": "b" * 43}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:4444/callback"}, "invalid_grant"),
        ({"redirect_uri": "https://evil.example/callback"}, "invalid_grant"),
    ],
)
def test_a_code_is_accepted_only_with_its_verifier_and_redirect_uri(
    server: AuthServer, changed: dict[str, str | None], error: str
) -> None:
    client = server.register()
    answer = exchange(server.browser(), client, Visit(server).to_the_end(client)["code"], **changed)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


def test_a_code_of_another_client_is_refused(server: AuthServer) -> None:
    client, other = server.register(), server.register(client_name="Another")
    code = Visit(server).to_the_end(client)["code"]
    assert exchange(server.browser(), other, code).json()["error"] == "invalid_grant"
    assert exchange(server.browser(), client, code).status_code == 200


def test_an_unused_code_expires(server: AuthServer, owner: Connection) -> None:
    client = server.register()
    code = Visit(server).to_the_end(client)["code"]
    owner.run_file("UPDATE oauth_codes SET expires_at = now()")
    assert exchange(server.browser(), client, code).json()["error"] == "invalid_grant"


# -- log-in and consent


def test_the_consent_page_names_client_redirect_host_and_scopes(server: AuthServer) -> None:
    page = logged_in(server, server.register(client_name="<b>Evil</b> & Co")).look()
    assert "&lt;b&gt;Evil&lt;/b&gt; &amp; Co" in page.text
    assert "unverified name" in page.text
    assert "127.0.0.1:3333" in page.text
    assert "store, change, rate and delete memories" in page.text
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script" not in page.text


def test_consent_from_another_browser_is_refused(server: AuthServer) -> None:
    visit = logged_in(server)
    for browser in (server.browser(), Visit(server).browser):
        browser.get(authorization_path(server.register()))  # this browser gets a cookie of its own
        answer = browser.post("/consent", data={"request": visit.id, "answer": "allow"})
        assert answer.status_code == 409
    assert server.browser().post("/consent", data={"request": visit.id, "answer": "allow"}).status_code == 409
    assert "code" in redirect_parameters(visit.answer())


def test_a_consent_form_sent_from_another_site_is_refused(server: AuthServer) -> None:
    visit = logged_in(server)
    assert visit.answer(origin="https://evil.example").status_code == 403
    assert "code" in redirect_parameters(visit.answer(origin=ISSUER))


def test_consent_that_is_sent_twice_gives_one_code(server: AuthServer, owner: Connection) -> None:
    visit = logged_in(server)
    visit.look()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: visit.answer(), range(8)))
    assert len({redirect_parameters(answer)["code"] for answer in answers}) == 1
    assert owner.run_file("SELECT count(*) FROM oauth_codes")[0][0] in (1, "1")


def test_after_a_refusal_of_consent_the_client_gets_no_code(server: AuthServer) -> None:
    visit = logged_in(server)
    answer = redirect_parameters(visit.answer("deny"))
    assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", "of-the-client", ISSUER)
    assert redirect_parameters(visit.answer()) == answer, "the first answer counts"


def test_consent_before_the_log_in_is_refused(server: AuthServer) -> None:
    visit = Visit(server)
    visit.open(authorization_path(server.register()))
    assert visit.look().status_code == 409
    assert visit.answer().status_code == 409


def test_a_log_in_code_may_be_mistyped_five_times(server: AuthServer) -> None:
    visit = Visit(server)
    visit.open(authorization_path(server.register()))
    right = server.code()
    assert [visit.log_in("AAAA-AAAA").status_code for _ in range(5)] == [403] * 5
    assert visit.log_in(right).status_code == 409


def test_a_log_in_that_has_expired_must_be_started_again(server: AuthServer, owner: Connection) -> None:
    visit = Visit(server)
    visit.open(authorization_path(server.register()))
    owner.run_file(f"UPDATE oauth_requests SET expires_at = expires_at - interval '{REQUEST_SECONDS} s'")
    answer = visit.log_in()
    assert (answer.status_code, "start over" in answer.text) == (409, True)


@pytest.mark.parametrize(
    ("uri", "status"),
    [
        ("https://client.example/callback", 303),
        (REDIRECT, 200),
        ("cursor://anysphere.cursor-mcp/oauth/callback", 200),
    ],
)
def test_consent_is_remembered_for_a_web_client_and_not_for_a_local_program(
    server: AuthServer, uri: str, status: int
) -> None:
    """Another program can use the address or URI scheme of a local program.

    Consent is therefore not remembered for local programs: RFC 8252, section 8.6.
    """
    client, browser = server.register(uri), server.browser()
    Visit(server, browser).to_the_end(client, redirect_uri=uri)
    visit = Visit(server, browser)
    visit.open(authorization_path(client, redirect_uri=uri))
    visit.log_in()
    page = visit.look()
    assert (page.status_code, "a program on this device" in page.text) == (status, status == 200)


def test_additional_scopes_need_new_consent(server: AuthServer) -> None:
    changed = {"redirect_uri": "https://client.example/callback"}
    client = server.register(changed["redirect_uri"])
    Visit(server).to_the_end(client, **changed, scope="read")
    assert logged_in(server, client, **changed, scope="read write").look().status_code == 200


def test_a_person_can_withdraw_the_consent_for_a_client(server: AuthServer, stands: Any) -> None:
    changed = {"redirect_uri": "https://client.example/callback"}
    client = server.register(changed["redirect_uri"])
    code = Visit(server).to_the_end(client, **changed)["code"]
    tokens = exchange(server.browser(), client, code, **changed).json()
    visit = Visit(server)
    visit.open("/account")
    assert visit.log_in().headers["Location"] == f"{ISSUER}/account?request={visit.id}"
    assert "A test" in visit.browser.get(f"/account?request={visit.id}").text
    page = visit.browser.post("/account", data={"request": visit.id, "client": client})
    assert "No application has access." in page.text
    assert not stands(tokens)
    assert logged_in(server, client, **changed).look().status_code == 200, "the consent page is shown again"


def test_the_account_page_shows_when_each_client_used_its_access_last(server: AuthServer, owner: Connection) -> None:
    changed = {"redirect_uri": "https://client.example/callback"}
    client = server.register(changed["redirect_uri"])
    for _ in range(2):  # two log-ins make two grants
        exchange(server.browser(), client, Visit(server).to_the_end(client, **changed)["code"], **changed)
    visit = Visit(server)
    visit.open("/account")
    visit.log_in()
    assert "Never used" in visit.browser.get(f"/account?request={visit.id}").text
    owner.run_file("""
        UPDATE oauth_grants SET last_used_at = '2026-03-01T23:59:00-01:00'
        WHERE id = (SELECT id FROM oauth_grants ORDER BY granted_at LIMIT 1)""")
    page = visit.browser.get(f"/account?request={visit.id}").text
    assert "2 March 2026, 00:59 UTC" in page
    assert (page.count("Revoke</button>"), "Never used" in page) == (1, False), "one line for each client"
    assert re.search(r"<h2>(.+)</h2>(?s:.+)aria-label=\"Revoke \1\"", page), "each button has the name of its client"


# -- clients by document, and those that register


def _document(server: AuthServer, client_id: str = DOCUMENT, **changed: Any) -> None:
    metadata = {"client_id": client_id, "client_name": "A web client", "redirect_uris": [REDIRECT], **changed}
    server.documents.found[DOCUMENT] = json.dumps(metadata).encode()


def test_a_client_can_be_identified_by_its_metadata_document(server: AuthServer) -> None:
    _document(server)
    visit = logged_in(server, DOCUMENT)
    assert "from <strong>client.example</strong>" in visit.look().text
    code = redirect_parameters(visit.answer())["code"]
    server.documents.found.clear()  # the client's web site is unavailable while the client stays logged in
    tokens = exchange(server.browser(), DOCUMENT, code).json()
    assert refresh(server.browser(), DOCUMENT, tokens["refresh_token"]).status_code == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "https://other.example/metadata.json"},
        {"redirect_uris": []},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["http://client.example/callback"]},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"client_secret": "x"},
    ],
)
def test_an_invalid_client_metadata_document_is_refused(server: AuthServer, changed: dict[str, Any]) -> None:
    _document(server, **{"client_id": DOCUMENT, **changed})
    answer = server.browser().get(authorization_path(DOCUMENT))
    assert (answer.status_code, answer.headers.get("Location")) == (400, None)


@pytest.mark.parametrize(
    "client_id",
    [
        "https://client.example",
        "https://client.example/",
        "https://user@client.example/metadata.json",
        "https://client.example:8443/metadata.json",
        "https://client.example/a/../metadata.json",
        "https://client.example/metadata.json#x",
        f"https://client.example/{'x' * CLIENT_ID_LENGTH}",
    ],
)
def test_a_url_that_is_not_a_valid_client_id_is_not_fetched(server: AuthServer, client_id: str) -> None:
    server.documents.found[client_id] = b"{}"
    answer = server.browser().get(authorization_path(client_id))
    assert answer.status_code == 400
    assert "client_id must" in answer.text or "printable" in answer.text


@pytest.mark.parametrize("characters", ["xyz0189-_", "äöü€", "\U00020000\U0002a6d0\U0002b73f\U0002f800"])
def test_the_longest_names_of_a_client_and_a_person_fit_the_indexes(auth: Pool, characters: str) -> None:
    def text(start: str, length: int, characters: str) -> str:
        return start + "".join(Random(length).choices(characters, k=length - len(start)))

    client_id = text("https://client.example/", CLIENT_ID_LENGTH, "abcdefghijklmnopqrstuvwxyz0123456789-_")
    subject = text("", SUBJECT_LENGTH, characters)
    resource = text("https://", 400, "abcdefghijklmnopqrstuvwxyz0123456789-.")
    scopes = frozenset({Scope.READ})
    grant = Grant(
        id=new_id(),
        subject=subject,
        person=subject,
        namespace=f"user:{subject}",
        client_id=client_id,
        scopes=scopes,
        resource=resource,
        expires_at=NOW,
    )
    consent = Consent(subject=subject, client_id=client_id, scopes=scopes, resource=resource)
    with OAuthStore(auth).transaction() as rows:
        rows.save_consent(consent)
        rows.add_grant(grant, 60)
        rows.save_consent(consent)
        assert rows.consent(subject, client_id, resource) == consent
        assert [listed_grant.id for listed_grant in rows.grants_of(subject)] == [grant.id]


def test_a_registration_returns_the_registered_values(server: AuthServer) -> None:
    answer = server.browser().post("/register", json={"redirect_uris": [REDIRECT], "client_name": "  A \n test "})
    assert answer.json() | {"client_id": ""} == {
        "client_id": "", "client_name": "A test", "redirect_uris": [REDIRECT], "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("posted", "error"),
    [
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://evil.example/"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [f"{REDIRECT}/{number}" for number in range(100)]}, "invalid_redirect_uri"),
        ({"redirect_uris": [REDIRECT], "grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ([], "invalid_client_metadata"),
    ],
)
def test_an_invalid_registration_is_refused(server: AuthServer, posted: Any, error: str) -> None:
    answer = server.browser().post("/register", json=posted)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


def test_equal_registrations_have_the_same_client_id(server: AuthServer) -> None:
    """A page that registers at each log-in, as the console does, is thus only one client with one consent."""
    assert server.register() == server.register()
    assert server.register(client_name="Another") != server.register()


@pytest.mark.parametrize(
    ("name", "uris"),
    [
        ("n" * 100, ["http://127.0.0.1:33418/"]),
        ("\U0001f600" * 100, [f"https://client{number}.example/a/long/way/to/the/callback" for number in range(10)]),
        ("Zwei Wörter", ["https://client.example/?a=%F0&b=1", "cursor://anysphere.cursor-mcp/oauth/callback"]),
    ],
)
def test_the_client_id_of_a_registration_contains_its_redirect_uris(
    server: AuthServer, name: str, uris: list[str]
) -> None:
    answer = server.browser().post("/register", json={"client_name": name, "redirect_uris": uris}).json()
    assert len(answer["client_id"]) <= CLIENT_ID_LENGTH
    for uri in uris:
        assert server.browser().get(authorization_path(answer["client_id"], redirect_uri=uri)).status_code == 303
    assert server.browser().get(authorization_path(answer["client_id"], redirect_uri=f"{uris[0]}x")).status_code == 400


def test_redirect_uris_too_long_for_a_client_id_are_refused_with_their_length(server: AuthServer) -> None:
    posted = {"redirect_uris": [f"https://client.example/{'x' * 900}"]}
    answer = server.browser().post("/register", json=posted)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")
    assert "at most about 700 characters together, got 923" in answer.json()["error_description"]


@pytest.mark.parametrize(
    "registered",
    ["", "e30", "W10", "bnVsbA", "WyJ4Il0", "WyJ4Iix0cnVlXQ", "!!!!", "W" * 900,
     "WyJ4Iix0cnVlLCJqYXZhc2NyaXB0OmFsZXJ0KDEpIl0", "WyJ4Iix0cnVlLCJodHRwOi8vZXZpbC5leGFtcGxlLyJd"],
)  # fmt: skip
def test_a_forged_client_id_is_refused(server: AuthServer, registered: str) -> None:
    answer = server.browser().get(authorization_path(f"registered.{registered}"))
    assert (answer.status_code, answer.headers.get("Location")) == (400, None)


# -- people


# -- stored data


def test_secrets_are_stored_only_as_hashes(server: AuthServer, owner: Connection) -> None:
    client = server.register()
    visit = Visit(server)
    code = visit.to_the_end(client)["code"]
    tokens = exchange(server.browser(), client, code).json()
    tables = "oauth_requests", "oauth_grants", "oauth_codes", "oauth_refresh_tokens", "oauth_consents", "oauth_clients"
    rows_text = "".join(str(owner.run_file(f"SELECT * FROM {table}")) for table in tables)
    cookie = next(iter(visit.browser.cookies.jar)).value or ""
    for secret in (code, tokens["refresh_token"], tokens["access_token"], cookie, server.code()):
        assert secret not in rows_text
    assert CHALLENGE in rows_text


def test_expired_rows_are_removed(server: AuthServer, owner: Connection) -> None:
    client, _ = tokens_of(server)
    owner.run_file(
        "UPDATE oauth_grants SET expires_at = now() - interval '2 days'; UPDATE oauth_requests SET expires_at = now()"
    )
    assert Visit(server).open(authorization_path(client)).status_code == 303
    assert [
        int(owner.run_file(f"SELECT count(*) FROM oauth_{name}")[0][0]) for name in ("grants", "refresh_tokens")
    ] == [0, 0]
    assert int(owner.run_file("SELECT count(*) FROM oauth_requests")[0][0]) == 1
