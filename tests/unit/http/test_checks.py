"""Who may call `/canary` of mcp and `/health?deep=1` of the internal functions, and their answers."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from mnemosyne.domain.health import Check
from mnemosyne.errors import Unauthorized
from mnemosyne.http.common.health import CANARY_FAILED_SECONDS, CANARY_PASSED_SECONDS, canary_route
from mnemosyne.http.push import build_app
from tests.fakes import FakeServices

TOKEN = {"Authorization": "Bearer the-check"}


def identify(authorization: str | None) -> None:
    if authorization != TOKEN["Authorization"]:
        raise Unauthorized("a bearer token is needed")


class Canary:
    """A check whose result a test sets."""

    def __init__(self) -> None:
        self.result = Check("canary", "found")
        self.runs = 0
        self.now = 0.0
        self.client = TestClient(Starlette(routes=[canary_route(self._check, identify, lambda: self.now)]))

    def _check(self) -> list[Check]:
        self.runs += 1
        return [self.result]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer other"}])
def test_a_caller_without_an_identity_cannot_run_the_canary(headers: dict[str, str]) -> None:
    canary = Canary()
    assert canary.client.post("/canary", headers=headers).status_code == 401
    assert canary.runs == 0


def test_a_failed_check_gets_503_with_its_fix() -> None:
    canary = Canary()
    canary.result = Check("canary", "store: the database is down", "start it")
    answer = canary.client.post("/canary", headers=TOKEN, json={})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    assert answer.json()["checks"] == [
        {"name": "canary", "ok": False, "seen": "store: the database is down", "remedy": "start it"}
    ]


def test_six_uptime_checks_within_a_minute_store_one_canary() -> None:
    canary = Canary()
    for _ in range(6):
        assert canary.client.post("/canary", headers=TOKEN).status_code == 200
    canary.now = CANARY_PASSED_SECONDS
    canary.client.post("/canary", headers=TOKEN)
    assert canary.runs == 2


def test_a_failed_check_is_cached_for_less_time() -> None:
    canary = Canary()
    canary.result = Check("canary", "no", "fix it")
    canary.client.post("/canary", headers=TOKEN)
    canary.now, canary.result = CANARY_FAILED_SECONDS, Check("canary", "found")
    assert canary.client.post("/canary", headers=TOKEN).status_code == 200


@pytest.fixture
def internal() -> TestClient:
    """An internal function with one failed check."""
    failed = Check("schema", "2 files are not applied", "run `mnemosyne migrate`")
    app = build_app(
        lambda *_: None, FakeServices(), threads=2, warm=lambda: None, identify=identify, examine=lambda: [failed]
    )
    return TestClient(app)


def test_the_deep_health_of_an_internal_function_fails_with_its_checks(internal: TestClient) -> None:
    answer = internal.get("/health?deep=1", headers=TOKEN)
    assert (answer.status_code, answer.json()["checks"][0]["remedy"]) == (503, "run `mnemosyne migrate`")
    assert answer.headers["Retry-After"] == "10"


def test_the_deep_health_check_needs_an_identity_and_the_plain_one_does_not(internal: TestClient) -> None:
    assert internal.get("/health?deep=1").status_code == 401
    assert internal.get("/health").status_code == 200
