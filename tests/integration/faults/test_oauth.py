"""A log-in succeeds behind Cloud Run's front end, even if instances of the authorization server are killed."""

import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from tests.cloud_run.oauth import OAuthDeployment, oauth_deployment
from tests.oauth_server import REDIRECT, authorization_path, exchange
from tests.waiting import wait_until

pytestmark = pytest.mark.exhaustive  # seconds to minutes each, because processes are killed in them


@pytest.fixture(scope="module")
def deployment(emulator: str) -> Iterator[OAuthDeployment]:
    with oauth_deployment(emulator) as new_deployment:
        yield new_deployment


@pytest.fixture
def web(deployment: OAuthDeployment) -> Iterator[httpx.Client]:
    """An HTTP client, used as a browser and as an OAuth client."""
    _another_address(deployment)
    with httpx.Client(base_url=deployment.issuer, verify=deployment.trust, timeout=120) as opened:
        yield opened


def _another_address(deployment: OAuthDeployment) -> None:
    """Send further requests from another address, because all tests together exceed an address's limit per minute."""
    number = int(deployment.auth.client_address.split(".")[3]) % 250 + 1
    deployment.auth.client_address = f"198.51.100.{number}"


STEPS = ("register", "authorize", "log_in", "come_back", "look", "allow", "exchange")


class _Way:
    """The steps from a client's registration to its tokens; each step can be repeated."""

    def __init__(self, deployment: OAuthDeployment, web: httpx.Client) -> None:
        self._deployment, self._web = deployment, web
        self.client = self.at_provider = self.back = self.page = ""
        self.code = ""
        self.tokens: dict[str, Any] = {}

    def register(self) -> None:
        name = f"A test {secrets.token_hex(4)}"  # an equal registration would get the same client id
        answer = self._web.post("/register", json={"client_name": name, "redirect_uris": [REDIRECT]})
        self.client = str(answer.json()["client_id"])

    def authorize(self) -> None:
        answer = self._web.get(authorization_path(self.client, self._deployment.url))
        assert answer.status_code == 303, answer.text
        self.at_provider = answer.headers["Location"]

    def log_in(self) -> None:
        self.back = self._deployment.provider.visit(self.at_provider)

    def come_back(self) -> None:
        answer = self._web.get(self.back)
        assert answer.status_code == 303, answer.text
        self.page = answer.headers["Location"]

    def look(self) -> None:
        assert "to use your memory?" in self._web.get(self.page).text

    def allow(self) -> None:
        request = dict(parse_qsl(urlsplit(self.page).query))["request"]
        answer = self._web.post("/consent", data={"request": request, "answer": "allow"})
        assert answer.status_code == 303, answer.text
        self.code = dict(parse_qsl(urlsplit(answer.headers["Location"]).query))["code"]

    def exchange(self) -> None:
        answer = exchange(self._web, self.client, self.code, resource=self._deployment.url)
        assert answer.status_code == 200, answer.text
        self.tokens = answer.json()

    def take(self, *steps: str) -> "_Way":
        """Take these steps, and return this object."""
        for step in steps:
            getattr(self, step)()
        return self

    def is_let_in(self) -> bool:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        headers = {"Authorization": f"Bearer {self.tokens['access_token']}", "Accept": "application/json"}
        trust = self._deployment.trust
        return (
            httpx.post(self._deployment.url, json=call, headers=headers, verify=trust, timeout=120).status_code == 200
        )


def _kill(deployment: OAuthDeployment) -> None:
    while deployment.auth.instances:
        deployment.auth.crash_instance()


@pytest.mark.parametrize("killed", [("come_back", "exchange"), pytest.param(STEPS, marks=pytest.mark.nightly)], ids=len)
def test_a_log_in_succeeds_although_the_instance_is_killed_before_a_step(
    deployment: OAuthDeployment, web: httpx.Client, killed: Sequence[str]
) -> None:
    way = _Way(deployment, web)
    for step in STEPS:
        if step in killed:
            _kill(deployment)
        way.take(step)
    grants = f"SELECT count(*) FROM oauth_grants WHERE client_id = '{way.client}'"
    assert deployment.production.as_owner(grants) == [[1]]
    assert way.is_let_in()


def test_an_instance_killed_during_a_code_exchange_leaves_a_complete_grant_or_none(
    deployment: OAuthDeployment, web: httpx.Client
) -> None:
    """The client repeats its request. Either it gets its tokens, or it must start a new log-in.

    An incomplete grant must give no access.
    """
    way = _Way(deployment, web).take(*STEPS[:-1])
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(exchange, web, way.client, way.code, resource=deployment.url)
        wait_until(
            lambda: any(instance.in_flight for instance in deployment.auth.instances) or first.done(), "it is asked for"
        )
        _kill(deployment)
    again = exchange(web, way.client, way.code, resource=deployment.url)
    outcomes = first.result().status_code, again.status_code
    assert outcomes in {(503, 200), (503, 400), (200, 400)}, (outcomes, again.text)
    assert _Way(deployment, web).take(*STEPS).is_let_in()
