"""A log-in succeeds although instances of the authorization server end, and a failed code exchange can be repeated.

The tests in `tests/conformance/oauth` log in behind Cloud Run's front end.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.oauth import PeopleRule
from tests.oauth_server import AuthServer, Visit, authorization_path, exchange, redirect_parameters

FAILS = """
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '57P01'; END $$;
CREATE TRIGGER fail AFTER INSERT ON oauth_refresh_tokens FOR EACH ROW EXECUTE FUNCTION fail()
"""


def test_each_step_of_a_log_in_may_be_answered_by_a_new_instance(
    auth: Pool, tmp_path: Path, stands: Callable[[dict[str, Any]], bool]
) -> None:
    def instance() -> AuthServer:
        return AuthServer(auth, tmp_path, [PeopleRule(who="*", namespace="team")])

    visit = Visit(instance())

    def replace_instance() -> Visit:
        browser = instance().browser()
        browser.cookies.update(visit.browser.cookies)
        visit.browser = browser
        return visit

    client = instance().register()
    assert replace_instance().open(authorization_path(client)).status_code == 303
    assert replace_instance().log_in().status_code == 303
    assert "to use your memory?" in replace_instance().look().text
    code = redirect_parameters(replace_instance().answer())["code"]
    assert stands(exchange(instance().browser(), client, code).json())


def test_a_code_exchange_that_fails_leaves_the_code_unused_and_can_be_repeated(
    server: AuthServer, owner: Connection, stands: Callable[[dict[str, Any]], bool]
) -> None:
    client = server.register()
    code = Visit(server).to_the_end(client)["code"]
    owner.run_file(FAILS)
    try:
        assert exchange(server.browser(), client, code).status_code == 503
    finally:
        owner.run_file("DROP FUNCTION fail CASCADE")
    assert owner.run("SELECT used_at FROM oauth_codes") == [[None]]
    assert stands(exchange(server.browser(), client, code).json())
