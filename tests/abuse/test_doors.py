"""Endpoints without a credential: unknown callers cannot fill the database, block others or use up rate limits."""

import asyncio
import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from mnemosyne.adapters.client_documents import (
    AT_ONCE_OF_HOST,
    AT_ONCE_OF_LARGE_NETWORK,
    AT_ONCE_OF_NETWORK,
    WebDocuments,
)
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.oauth import PeopleRule
from mnemosyne.domain.rate_limit import networks_of
from mnemosyne.errors import Unavailable
from mnemosyne.http.auth import rate_limits
from mnemosyne.http.auth.rate_limits import EndpointLimit
from mnemosyne.http.common.health import PATHS
from mnemosyne.http.console import site
from mnemosyne.http.mcp.access import METADATA_PATH, REJECTED_PER_MINUTE
from mnemosyne.http.mcp.app import LOG_IN_PATHS, SCHEMA_PATH
from tests.abuse.conftest import headers
from tests.clock import StoppedClock
from tests.fakes import FakeServices
from tests.mcp_app import ByName
from tests.oauth_server import (
    ISSUER,
    REDIRECT,
    AuthServer,
    Visit,
    authorization_path,
    exchange,
    redirect_parameters,
    refresh,
)

FROM_MEMORY = {*PATHS}
"""Paths without a rate limit: the health checks, which use no database."""
DOCUMENT_BYTES = 14_000
STRANGERS = 40


@pytest.fixture
def server(auth: Pool, tmp_path: Path) -> AuthServer:
    return AuthServer(auth, tmp_path, [PeopleRule(who="*")])


@pytest.fixture
def count(owner: Connection) -> Callable[[str], int]:
    """Counts the rows of a table."""
    return lambda table: int(owner.run_file(f"SELECT count(*) FROM {table}")[0][0])


class Unknown(ByName):
    """An authenticator that has cached no principal, so each caller is unknown."""

    def cached_principal(self, authorization: str | None) -> None:
        return None


class Silent:
    """A fake of the web.

    Hosts whose names end with `.silent` never answer. All other hosts serve the documents in `found`.
    """

    def __init__(self) -> None:
        self.found: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.hanging = 0
        self.all_hang = asyncio.Event()

    async def fetch(self, client_id: str, address: str) -> bytes:
        self.asked.append(client_id)
        if ".silent/" in client_id:
            self.hanging += 1
            if self.hanging == STRANGERS:
                self.all_hang.set()
            await asyncio.get_running_loop().create_future()
        return self.found[client_id]


def _make_unavailable(server: AuthServer, reason: str = "the host is silent") -> list[str]:
    """Make the documents of all clients unavailable. Return a list that gets the id of each requested client."""
    asked: list[str] = []

    async def away(client_id: str, address: str) -> bytes:
        asked.append(client_id)
        raise Unavailable(reason)

    server.documents.fetch = away  # type: ignore[method-assign]
    return asked


def _document(client_id: str) -> bytes:
    metadata = {"client_id": client_id, "client_name": "A test", "redirect_uris": [REDIRECT], "filler": ""}
    return json.dumps(metadata | {"filler": "x" * (DOCUMENT_BYTES - len(json.dumps(metadata)))}).encode()


def _addresses_of_64(number: int) -> str:
    return f"2001:db8:1:1:{secrets.randbits(16):x}:{secrets.randbits(16):x}::{number:x}"


# -- rate limits of endpoints and networks


def _routes(app: Starlette) -> list[Route]:
    return [route for route in app.routes if isinstance(route, Route)]


def test_each_endpoint_of_the_authorization_server_has_its_own_rate_limit(server: AuthServer) -> None:
    """This test fails if somebody adds an endpoint without a rate limit."""
    doors_of = {route.path: getattr(route.endpoint, "limit", None) for route in _routes(server.app)}
    assert {path for path, limit in doors_of.items() if not isinstance(limit, EndpointLimit)} == FROM_MEMORY
    used = {getattr(route.endpoint, "limit", None) for route in _routes(server.app)} - {None}
    declared = {limit for limit in vars(rate_limits).values() if isinstance(limit, EndpointLimit)}
    assert used == declared - {rate_limits.DOCUMENT}, "the fetch of a document is a step of /authorize"
    assert len({limit.name for limit in declared}) == len(declared)


def test_each_mcp_endpoint_without_a_credential_answers_from_memory(
    app_of: Callable[..., Starlette],
) -> None:
    """None of these endpoints stores a row, and only the endpoints that check a credential may wait for something.

    This test fails if somebody adds an endpoint, so that they consider this rule.
    """
    looks_at_a_credential = {"/mcp", *PATHS}
    paths = {getattr(route, "path", "") for route in app_of(FakeServices()).routes}
    assert paths - looks_at_a_credential == {
        SCHEMA_PATH,
        *(f"{METADATA_PATH}{path}{slash}" for path in ("", "/mcp") for slash in ("", "/")),
        *LOG_IN_PATHS,
        *site.PAGES,
        *(f"{path}/" for path in site.PAGES if path != "/"),
        site.FILES,
    }


@pytest.mark.parametrize(
    ("mine", "same", "other"),
    [
        ("2001:db8:1:1::1", "2001:db8:1:1:ffff::2", "2001:db8:1:2::1"),
        ("198.51.100.1", "198.51.100.1", "198.51.100.2"),
        ("::ffff:198.51.100.1", "198.51.100.1", "198.51.100.2"),
    ],
)
def test_wrong_credentials_are_counted_by_network(
    opened: Callable[..., Any], clock: StoppedClock, mine: str, same: str, other: str
) -> None:
    client = opened(FakeServices(), proxies=0, credentials=Unknown())

    def ask(address: str) -> int:
        request_headers = headers(secrets.token_hex(4), **{"X-Forwarded-For": address})
        return int(client.post("/mcp", headers=request_headers, json={}).status_code)

    assert {ask(mine) for _ in range(REJECTED_PER_MINUTE)} == {401}
    assert (ask(same), ask(other)) == (429, 401)


def _spend(server: AuthServer, route: Route, address: str) -> int:
    method = "POST" if "POST" in (route.methods or ()) else "GET"
    return int(server.browser(address).request(method, route.path).status_code)


def test_a_flood_of_requests_to_one_endpoint_does_not_limit_other_endpoints(
    server: AuthServer, clock: StoppedClock
) -> None:
    flooded: set[str] = set()
    for route in _routes(server.app):
        limit = getattr(route.endpoint, "limit", None)
        if limit is None or limit.name in flooded:
            continue
        flooded.add(limit.name)
        assert _spend(server, route, "2001:db8:1:1::1") != 429, route.path
        for number in range(limit.per_minute - 1):
            server.gateway.spend(_addresses_of_64(number), limit)
        assert _spend(server, route, _addresses_of_64(7)) == 429, f"{route.path}: another address of the same /64"
        assert _spend(server, route, "2001:db8:1:2::1") != 429, f"{route.path}: another /64"
    assert len(flooded) == 12


def test_a_large_network_has_four_times_the_rate_limit_of_a_small_one(server: AuthServer, clock: StoppedClock) -> None:
    networks: list[Callable[[int], str]] = [lambda n: f"198.51.100.{n % 250}", lambda n: f"2001:db8:7:{n:x}::1"]
    for network in networks:
        for number in range(4 * rate_limits.REGISTER.per_minute):
            server.gateway.spend(network(number), rate_limits.REGISTER)
        posted = {"redirect_uris": [REDIRECT]}
        assert server.browser(network(251)).post("/register", json=posted).status_code == 429
        assert server.browser("203.0.113.1").post("/register", json=posted).status_code == 201


@pytest.mark.parametrize(
    ("address", "small", "large"),
    [
        ("203.0.113.7", "203.0.113.7/32", "203.0.113.0/24"),
        ("::ffff:203.0.113.7", "203.0.113.7/32", "203.0.113.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("fe80::1%eth0", "fe80::/64", "fe80::/48"),
        ("unix:", "unknown", "unknown"),
        ("", "unknown", "unknown"),
        ("203.0.113.7:443", "unknown", "unknown"),
    ],
)
def test_an_address_belongs_to_two_networks(address: str, small: str, large: str) -> None:
    assert networks_of(address) == (small, large)


# -- stored rows


def test_client_documents_and_registrations_of_unknown_callers_store_no_row(
    server: AuthServer, count: Callable[[str], int]
) -> None:
    for number in range(3):
        client_id = f"https://client{number}.example/metadata.json"
        server.documents.found[client_id] = _document(client_id)
        address = f"2001:db8:{number:x}::1"
        assert server.browser(address).get(authorization_path(client_id)).status_code == 303
        posted = {"client_name": f"Stranger {number}", "redirect_uris": [REDIRECT]}
        assert server.browser(address).post("/register", json=posted).status_code == 201
    assert count("oauth_clients") == 0


@pytest.mark.parametrize(
    ("limit", "address"),
    [("PENDING_OF_NETWORK", "2001:db8:1:1:{0:x}::1"), ("PENDING_OF_LARGE_NETWORK", "2001:db8:1:{0:x}::1")],
    ids=["/64", "/48"],
)
def test_the_number_of_authorization_requests_before_log_in_is_limited_for_each_network(
    server: AuthServer, count: Callable[[str], int], monkeypatch: pytest.MonkeyPatch, limit: str, address: str
) -> None:
    """The number of waiting requests is limited in the database, even where the rate limit has no effect.

    The rate limit counts per instance and per minute, so it admits more requests by several instances or over several
    minutes.
    """
    client = server.register()
    mine = Visit(server, server.browser("2001:db8:2::1"))
    mine.open(authorization_path(client))
    code = server.code()
    server.gateway._budgets.clear()
    monkeypatch.setattr(f"mnemosyne.adapters.database.oauth.{limit}", 5)
    for number in range(8):
        server.gateway._budgets.clear()
        assert server.browser(address.format(number)).get(authorization_path(client)).status_code == 303
    assert count("oauth_requests") == 5 + 1
    assert mine.log_in(code).status_code == 303, "another network's request is still there"


def test_a_client_document_is_stored_only_after_a_person_has_consented(
    server: AuthServer, count: Callable[[str], int]
) -> None:
    client_id = "https://client.example/metadata.json"
    server.documents.found[client_id] = _document(client_id)
    code = Visit(server).to_the_end(client_id)["code"]
    assert count("oauth_clients") == 1
    assert exchange(server.browser(), client_id, code).status_code == 200


def test_repeated_log_ins_of_the_console_leave_one_consent_and_no_client(
    server: AuthServer, count: Callable[[str], int]
) -> None:
    redirect_uri = "https://memory.example/console/callback"
    for number in range(3):
        browser = server.browser(f"10.{number}.0.1")
        posted = {"client_name": "Mnemosyne's console", "redirect_uris": [redirect_uri]}
        client = browser.post("/register", json=posted).json()["client_id"]
        code = Visit(server, browser).to_the_end(client, redirect_uri=redirect_uri)["code"]
        assert exchange(browser, client, code, redirect_uri=redirect_uri).status_code == 200
    assert (count("oauth_clients"), count("oauth_consents")) == (0, 1)


# -- blocked requests


async def _log_in(server: AuthServer, client: httpx.AsyncClient, client_id: str) -> int:
    """Log in with the client id, refresh once, and return the last status."""
    began = await client.get(authorization_path(client_id))
    assert began.status_code == 303, began.text
    id_ = redirect_parameters(began)["request"]
    await client.post("/log-in", data={"request": id_, "code": server.code()})
    answer = await client.get(f"/consent?request={id_}")
    if answer.status_code != 303:
        answer = await client.post("/consent", data={"request": id_, "answer": "allow"})
    form = {"grant_type": "authorization_code", "client_id": client_id, "code": redirect_parameters(answer)["code"],
            "redirect_uri": REDIRECT, "code_verifier": "a" * 43}  # fmt: skip
    tokens = (await client.post("/token", data=form)).json()
    form = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": tokens["refresh_token"]}
    return (await client.post("/token", data=form)).status_code


def _client(server: AuthServer, address: str) -> httpx.AsyncClient:
    headers = {"X-Forwarded-For": address}
    return httpx.AsyncClient(transport=httpx.ASGITransport(server.app), base_url=ISSUER, headers=headers)


def test_people_can_log_in_while_many_client_documents_are_being_fetched(server: AuthServer) -> None:
    """Test log-ins with a registered client and with a client document.

    If each pending fetch of a document occupied a thread, there would be no thread left for the log-ins.
    """
    web = Silent()
    client_document = "https://client.example/metadata.json"
    web.found[client_document] = _document(client_document)
    server.documents.fetch = web.fetch  # type: ignore[method-assign]

    async def attack() -> list[int]:
        strangers = [_client(server, f"2001:db8:{number:x}::1") for number in range(STRANGERS)]
        hanging = [
            asyncio.create_task(stranger.get(authorization_path(f"https://host{number}.silent/metadata.json")))
            for number, stranger in enumerate(strangers)
        ]
        async with asyncio.timeout(60):
            await web.all_hang.wait()
            async with _client(server, "203.0.113.9") as person:
                posted = {"client_name": "A test", "redirect_uris": [REDIRECT]}
                registered = (await person.post("/register", json=posted)).json()["client_id"]
                statuses = [await _log_in(server, person, client_id) for client_id in (registered, client_document)]
        assert not any(task.done() for task in hanging)
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
        return statuses

    assert asyncio.run(attack()) == [200, 200]


@pytest.mark.parametrize("path", ["/token", "/revoke"])
def test_token_and_revoke_requests_do_not_fetch_a_client_document(server: AuthServer, path: str) -> None:
    """A client has a code or token only after a person's consent, which required its document.

    So no fetch is needed.
    """
    web = Silent()
    server.documents.fetch = web.fetch  # type: ignore[method-assign]
    form = {"client_id": "https://host.silent/metadata.json", "code": "x", "token": "x", "refresh_token": "x"}
    for grant_type in ("authorization_code", "refresh_token"):
        answer = server.browser().post(path, data=form | {"grant_type": grant_type})
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert web.asked == []


def test_a_client_with_consent_works_while_its_document_is_unavailable(server: AuthServer) -> None:
    client_id = "https://client.example/metadata.json"
    server.documents.found[client_id] = _document(client_id)
    code = Visit(server).to_the_end(client_id)["code"]
    tokens = exchange(server.browser(), client_id, code).json()
    server.clients._fresh.clear()
    _make_unavailable(server)
    assert "code" in Visit(server).to_the_end(client_id)
    assert refresh(server.browser(), client_id, tokens["refresh_token"]).status_code == 200


def test_an_unavailable_client_document_is_not_fetched_again_at_once(server: AuthServer) -> None:
    asked = _make_unavailable(server)
    statuses = {
        server.browser(f"10.0.{number}.1").get(authorization_path("https://a.example/m.json")).status_code
        for number in range(9)
    }
    assert (statuses, len(asked)) == ({400}, 1)


def test_an_unreachable_client_document_is_reported_to_the_person_and_not_to_the_operator(
    server: AuthServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer must not be a 5xx. Otherwise anybody could set off the operator's alert on 5xx answers.

    The person would also believe that this server is faulty.
    """
    reason = "the metadata document cannot be fetched (NXDOMAIN): try again in a minute"
    _make_unavailable(server, reason)
    page = server.browser().get(authorization_path("https://a.example/m.json"))
    assert page.status_code == 400
    assert reason in page.text
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_concurrent_requests_for_one_client_document_share_one_fetch(server: AuthServer) -> None:
    fetched: list[str] = []
    client_id = "https://client.example/metadata.json"

    async def slow(client_id: str, address: str) -> bytes:
        fetched.append(client_id)
        await asyncio.sleep(0)
        return _document(client_id)

    server.documents.fetch = slow  # type: ignore[method-assign]

    async def many() -> set[int]:
        people = [_client(server, f"10.0.{number}.1") for number in range(30)]
        return {
            answer.status_code
            for answer in await asyncio.gather(*(client.get(authorization_path(client_id)) for client in people))
        }

    assert asyncio.run(many()) == {303}
    assert fetched == [client_id]


# -- concurrent fetches


@pytest.mark.parametrize(
    ("requests", "limit"),
    [
        ([("2001:db8:1:1::%x", "host%d.example")] * 20, AT_ONCE_OF_NETWORK),
        ([("198.51.100.%d", "host%d.example")] * 40, AT_ONCE_OF_LARGE_NETWORK),
        ([("2001:db8:1:%x::1", "host%d.example")] * 40, AT_ONCE_OF_LARGE_NETWORK),
        ([("2001:db8:%x::1", "one.example")] * 40, AT_ONCE_OF_HOST),
    ],
    ids=["a /64", "a /24", "a /48", "one host"],
)
def test_the_number_of_concurrent_fetches_is_limited_by_network_and_by_host(
    monkeypatch: pytest.MonkeyPatch, requests: list[tuple[str, str]], limit: int
) -> None:
    documents = WebDocuments()
    looked_up: list[str] = []

    async def hang(host: str) -> list[str]:
        looked_up.append(host)
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    monkeypatch.setattr(documents, "addresses_of", hang)

    async def attack() -> list[Any]:
        tasks = [
            asyncio.create_task(
                documents.fetch(f"https://{host % number if '%' in host else host}/m.json", address % (number + 1))
            )
            for number, (address, host) in enumerate(requests)
        ]
        await asyncio.sleep(0)
        refused = [task for task in tasks if task.done()]
        honest = asyncio.create_task(documents.fetch("https://client.example/m.json", "203.0.113.1"))
        await asyncio.sleep(0)
        assert looked_up[-1] == "client.example", "a caller from another network is served"
        for task in (*tasks, honest):
            task.cancel()
        await asyncio.gather(*tasks, honest, return_exceptions=True)
        assert not documents._in_flight, "finished fetches are not counted"
        return [task.exception() for task in refused]

    refused = asyncio.run(attack())
    assert len(refused) == len(requests) - limit
    assert all(isinstance(error, Unavailable) for error in refused)
