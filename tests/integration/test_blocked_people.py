"""People whom the operator blocks cannot log in and get no tokens, even if a rule admits them."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mnemosyne.adapters.database.api_keys import ApiKeyStore, find_api_key
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.oauth import find_valid_grant
from mnemosyne.adapters.database.owner_store import Lockouts
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.app.operations import read_operation
from mnemosyne.app.operations.access import ListLockouts, LockOut, UndoLockOut
from mnemosyne.domain.oauth import PeopleRule, blocked_name
from mnemosyne.domain.principal import Scope
from mnemosyne.errors import InvalidRequest, NotFound, Unauthorized
from mnemosyne.service.api_keys import new_key
from mnemosyne.service.authenticate import ApiKeyAuthenticator
from tests.oauth_server import AuthServer, Visit, authorization_path, claims_of, exchange, redirect_parameters, refresh
from tests.operations import LocalOperations
from tests.shared_database import SharedDatabase

EVE = {"sub": "1077", "email": "eve@example.com", "email_verified": True, "name": "Eve"}


class Provider:
    """Identity provider that logs in the person that the test sets."""

    def __init__(self) -> None:
        self.claims: Mapping[str, Any] = EVE

    def begin(self, secret: str, client_name: str) -> tuple[str, str]:
        return f"https://provider.example/?request={secret.partition('.')[2]}", ""

    def finish(self, secret: str, form: Mapping[str, str]) -> Mapping[str, Any]:
        return self.claims


class Company:
    """A deployment that admits each person whose e-mail address is in a domain."""

    def __init__(self, server: AuthServer, provider: Provider, owner: Callable[[], Connection], mcp: Pool) -> None:
        self.server, self.provider, self.mcp = server, provider, mcp
        self.lockouts, self.keys = Lockouts(owner), ApiKeyStore(owner)
        self.client = server.register()

    def come_back(self, claims: Mapping[str, Any]) -> tuple[Visit, Any]:
        """Come back from the identity provider as the person with these claims.

        Return the visit and the server's answer.
        """
        self.provider.claims = claims
        visit = Visit(self.server)
        visit.open(authorization_path(self.client))
        return visit, visit.browser.get(f"/callback?state={visit.id}&code=x")

    def tokens(self, claims: Mapping[str, Any]) -> dict[str, Any]:
        visit, answer = self.come_back(claims)
        assert answer.status_code == 303, answer.text
        return dict(exchange(self.server.browser(), self.client, redirect_parameters(visit.answer())["code"]).json())

    def is_let_in(self, tokens: dict[str, Any]) -> bool:
        return find_valid_grant(self.mcp, UUID(claims_of(tokens)["grant"])) is not None

    def refresh(self, tokens: dict[str, Any]) -> Any:
        return refresh(self.server.browser(), self.client, tokens["refresh_token"]).json().get("error")


@pytest.fixture
def company(shared_database: SharedDatabase, tmp_path: Path) -> Company:
    provider = Provider()
    server = AuthServer(shared_database.auth, tmp_path, [PeopleRule(who="*")], provider)
    return Company(server, provider, shared_database.connect_as_owner, shared_database.pool)


@pytest.mark.parametrize("who", ["eve@example.com", "EVE@Example.com", " eve@example.com ", "1077"])
def test_a_blocked_person_has_no_grant_and_no_log_in(company: Company, who: str) -> None:
    ada = company.tokens({**EVE, "sub": "1078", "email": "ada@example.com"})
    tokens = [company.tokens(EVE), company.tokens(EVE)]
    assert len(company.lockouts.add("person", blocked_name(who))) == 2
    assert not any(map(company.is_let_in, tokens))
    assert company.refresh(tokens[0]) == "invalid_grant"
    _, page = company.come_back(EVE)
    assert (page.status_code, "this account is blocked" in page.text) == (403, True)
    assert company.is_let_in(ada)
    assert company.come_back({**EVE, "sub": "1078", "email": "ada@example.com"})[1].status_code == 303


@pytest.mark.parametrize(
    "changed",
    [
        {"email_verified": False},
        {"email": "EVE@EXAMPLE.COM"},
        {"email": None, "preferred_username": "eve@example.com"},
        {"email": "another@example.com", "upn": "eve@example.com"},
        {"sub": "another subject"},
        {"email": None},
    ],
    ids=str,
)
def test_a_blocked_person_is_blocked_under_each_spelling_of_the_address(
    company: Company, changed: dict[str, Any]
) -> None:
    company.tokens(EVE)
    company.lockouts.add("person", "eve@example.com")
    assert company.come_back({**EVE, **changed})[1].status_code == 403


def test_a_person_blocked_between_log_in_and_consent_gets_no_grant(company: Company) -> None:
    visit, answer = company.come_back(EVE)
    assert answer.status_code == 303
    company.lockouts.add("person", "eve@example.com")
    assert visit.answer().status_code == 409


def test_a_code_of_a_blocked_person_gives_no_tokens(company: Company) -> None:
    visit, _ = company.come_back(EVE)
    code = redirect_parameters(visit.answer())["code"]
    company.lockouts.add("person", "eve@example.com")
    assert exchange(company.server.browser(), company.client, code).json()["error"] == "invalid_grant"


def test_a_grant_stored_after_the_block_is_not_accepted(company: Company, owner: Connection) -> None:
    """Such a grant can be stored by a request that was in progress when the operator blocked the person."""
    tokens = company.tokens(EVE)
    company.lockouts.add("person", "eve@example.com")
    owner.run("UPDATE oauth_grants SET revoked_at = NULL")
    assert not company.is_let_in(tokens)
    assert company.refresh(tokens) == "invalid_grant"


def test_an_unblocked_person_logs_in_again_and_is_asked_for_consent_again(company: Company) -> None:
    tokens = company.tokens(EVE)
    company.lockouts.add("person", "eve@example.com")
    system = LocalOperations(company)
    system.run(UndoLockOut(kind="person", who="eve@example.com"))
    with pytest.raises(NotFound, match="mnemosyne lockouts list"):
        system.run(UndoLockOut(kind="person", who="eve@example.com"))
    assert not company.is_let_in(tokens)
    assert company.is_let_in(company.tokens(EVE))


def test_blocking_a_person_twice_makes_one_block(company: Company) -> None:
    company.tokens(EVE)
    system = LocalOperations(company)
    assert [len(system.run(LockOut(kind="person", who="Eve@example.com"))["revoked"]) for _ in range(2)] == [1, 0]
    (listed,) = system.run(ListLockouts())["lockouts"]
    assert (listed["kind"], listed["who"], listed["subjects"]) == ("person", "eve@example.com", ["1077"])


@pytest.mark.parametrize("who", ["eve@example.comm", "077"])
def test_a_block_of_another_person_has_no_effect(company: Company, who: str) -> None:
    tokens = company.tokens(EVE)
    assert company.lockouts.add("person", blocked_name(who)) == []
    assert company.is_let_in(tokens)
    assert company.come_back(EVE)[1].status_code == 303


@pytest.mark.parametrize("who", ["", " ", "@example.com", "*", "a\nb", "x" * 201, None, 7])
@pytest.mark.parametrize("action", ["lock_out", "let_in"])
def test_the_argument_who_must_be_a_person(action: str, who: Any) -> None:
    with pytest.raises(InvalidRequest, match="who"):
        read_operation(action, {"kind": "person", "who": who})


def test_a_locked_out_client_has_no_grant_no_token_and_no_log_in_until_the_lockout_ends(company: Company) -> None:
    tokens = company.tokens(EVE)
    client = company.client
    another = company.server.register(client_name="Another")
    system = LocalOperations(company)
    assert len(system.run(LockOut(kind="client", who=company.client))["revoked"]) == 1
    assert not company.is_let_in(tokens)
    assert company.refresh(tokens) == "invalid_grant"
    page = Visit(company.server).browser.get(authorization_path(company.client))
    assert page.status_code == 403
    assert "this application is blocked" in page.text
    company.client = another
    assert company.is_let_in(company.tokens(EVE))
    assert [row["who"] for row in system.run(ListLockouts())["lockouts"]] == [client]
    system.run(UndoLockOut(kind="client", who=client))
    assert system.run(ListLockouts())["lockouts"] == []
    company.client = client
    assert company.is_let_in(company.tokens(EVE))


def test_an_unrevoked_grant_from_before_a_client_s_lockout_is_not_accepted(company: Company, owner: Connection) -> None:
    tokens = company.tokens(EVE)
    owner.run("INSERT INTO oauth_blocked_clients (client_id) VALUES (:id)", id=company.client)
    assert not company.is_let_in(tokens)


def test_a_locked_out_key_is_refused_until_the_lockout_ends(company: Company, pool: Pool) -> None:
    key, token = new_key(
        name="k", namespace="ns", scopes=frozenset({Scope.READ}), created_at=datetime.now(UTC), expires_at=None
    )
    company.keys.create(key)
    system = LocalOperations(company)

    def is_let_in() -> bool:
        authenticator = ApiKeyAuthenticator(partial(find_api_key, pool), lambda: datetime.now(UTC))
        try:
            return bool(authenticator.authenticate(f"Bearer {token}"))
        except Unauthorized:
            return False

    assert is_let_in()
    system.run(LockOut(kind="key", who=key.id))
    assert not is_let_in()
    assert [(row["kind"], row["who"]) for row in system.run(ListLockouts())["lockouts"]] == [("key", key.id)]
    system.run(UndoLockOut(kind="key", who=key.id))
    assert is_let_in()
    with pytest.raises(NotFound, match="no key has the id"):
        system.run(LockOut(kind="key", who="another"))
