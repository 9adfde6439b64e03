"""Headers of the pages and redirects between /authorize and the client: nothing in them stops the browser."""

import re
from typing import Any

import pytest

from tests.oauth_server import ISSUER, AuthServer, Visit, authorization_path, logged_in

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
    """One response with this policy between /authorize and the client takes the popup away from its opener."""
    steps = _steps(server)
    assert [step.status_code for step in steps] == [303, 200, 403, 303, 200, 303, 400, 400, 409, 409, 409]
    assert [str(step.url) for step in steps if OPENER_POLICY in step.headers] == []


def test_the_account_page_has_no_access_to_the_page_that_opened_it(server: AuthServer) -> None:
    visit = Visit(server)
    visit.open("/account")
    visit.log_in()
    page = visit.browser.get(f"/account?request={visit.id}")
    assert (page.status_code, page.headers[OPENER_POLICY]) == (200, "same-origin")
