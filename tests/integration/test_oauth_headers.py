"""Headers of the pages and redirects between /authorize and the client.

They must not keep the browser from going on.
"""

import re
from typing import Any

import pytest

from tests.oauth_server import ISSUER, AuthServer, Visit, authorization_path

OPENER_POLICY = "Cross-Origin-Opener-Policy"


def _steps(server: AuthServer) -> list[Any]:
    """Return the responses of a log-in with a mistyped code, and of requests that get an error page."""
    visit, client = Visit(server), server.register()
    opened = visit.open(authorization_path(client))
    page = visit.browser.get(f"/log-in?request={visit.id}")
    steps = [opened, page, visit.log_in("AAAA-AAAA"), visit.log_in(), visit.look(), visit.answer()]
    for path in (authorization_path("nobody"), authorization_path(client, code_challenge=None), "/log-in?request=x",
                 "/callback?state=x", "/consent?request=x"):  # fmt: skip
        steps.append(visit.browser.get(path))
    return steps


def test_a_client_s_page_that_opened_the_log_in_in_a_popup_keeps_access_to_the_popup(server: AuthServer) -> None:
    """If one response between /authorize and the client has this policy, the opener loses access to the popup."""
    steps = _steps(server)
    assert [step.status_code for step in steps] == [303, 200, 403, 303, 200, 303, 400, 400, 409, 409, 409]
    assert [str(step.url) for step in steps if OPENER_POLICY in step.headers] == []


def test_the_account_page_has_no_access_to_the_page_that_opened_it(server: AuthServer) -> None:
    visit = Visit(server)
    visit.open("/account")
    visit.log_in()
    page = visit.browser.get(f"/account?request={visit.id}")
    assert (page.status_code, page.headers[OPENER_POLICY]) == (200, "same-origin")


def test_the_pages_of_a_log_in_let_the_client_redirect_the_browser_further(server: AuthServer) -> None:
    """The pages' Content-Security-Policy must have no form-action.

    After a form, Chromium applies it to each redirect, and some clients redirect to a third address.
    """
    visit = Visit(server)
    visit.open(authorization_path(server.register()))
    pages = [visit.browser.get(f"/log-in?request={visit.id}"), visit.log_in("AAAA-AAAA")]
    visit.log_in()
    for page in (*pages, visit.look()):
        policy = page.headers["Content-Security-Policy"]
        assert policy == "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'", page.url


def test_the_forms_of_a_log_in_are_sent_to_this_server_only(server: AuthServer) -> None:
    """The pages' policy has no form-action. The test checks that text from a client, such as its name, adds no form."""
    form = '"><form action="https://evil.example"><input name=code><button formaction="https://evil.example">'
    visit = Visit(server)
    visit.open(authorization_path(server.register(client_name=form), state=form))
    pages = [visit.browser.get(f"/log-in?request={visit.id}"), visit.log_in(form)]
    visit.log_in()
    for page in (*pages, visit.look()):
        (target,) = re.findall(r'<form[^>]* action="([^"]+)"', page.text)
        assert target.startswith(f"{ISSUER}/")
        assert not re.search(r"<[^>]* formaction=", page.text)


@pytest.mark.parametrize("path", ["/account", "/authorize?client_id=nobody", "/jwks.json"])
def test_other_responses_allow_forms_to_this_server_only(server: AuthServer, path: str) -> None:
    visit = Visit(server)
    answer = visit.open(path)
    if visit.id:
        visit.log_in()
        answer = visit.browser.get(f"{path}?request={visit.id}")
    assert "form-action 'self'" in answer.headers["Content-Security-Policy"].split("; ")
