"""Who may call `/canary` of mcp and `/health?deep=1` of the internal functions, and their answers."""

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from mnemosyne.domain.health import Check
from mnemosyne.errors import Unauthorized
from mnemosyne.http.common.health import CANARY_FAILED_SECONDS, CANARY_PASSED_SECONDS, canary_route
from mnemosyne.http.push import build_app
from tests.fakes import FakeServices

TOKEN = {"Authorization": "Bearer the-check"}
FAILED = Check("canary", "store: the database is down", "start it")


def identify(authorization: str | None) -> None:
    if authorization != TOKEN["Authorization"]:
        raise Unauthorized("a bearer token is needed")


class Canary:
    """A check whose result a test sets."""

    def __init__(self, result: Check = FAILED) -> None:
        self.result = result
        self.runs = 0
        self.now = 0.0
        self._client = TestClient(Starlette(routes=[canary_route(self._check, identify, lambda: self.now)]))

    def _check(self) -> list[Check]:
        self.runs += 1
        return [self.result]

    def post(self, headers: dict[str, str] = TOKEN) -> httpx2.Response:
        return self._client.post("/canary", headers=headers)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer other"}])
def test_a_caller_without_an_identity_cannot_run_the_canary(headers: dict[str, str]) -> None:
    canary = Canary()
    assert (canary.post(headers).status_code, canary.runs) == (401, 0)


def test_a_failed_check_gets_503_with_its_fix_and_is_cached_for_less_time() -> None:
    canary = Canary()
    answer = canary.post()
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    (check,) = answer.json()["checks"]
    assert check == {"name": "canary", "ok": False, "seen": FAILED.seen, "remedy": FAILED.remedy}
    canary.now, canary.result = CANARY_FAILED_SECONDS, Check("canary", "found")
    assert canary.post().status_code == 200


def test_six_uptime_checks_within_a_minute_store_one_canary() -> None:
    canary = Canary(Check("canary", "found"))
    assert {canary.post().status_code for _ in range(6)} == {200}
    canary.now = CANARY_PASSED_SECONDS
    canary.post()
    assert canary.runs == 2


def test_the_deep_health_of_an_internal_function_needs_an_identity_and_fails_with_its_checks() -> None:
    app = build_app(
        lambda *_: None, FakeServices(), threads=2, warm=lambda: None, identify=identify, examine=lambda: [FAILED]
    )
    client = TestClient(app)
    answer = client.get("/health?deep=1", headers=TOKEN)
    assert (answer.status_code, answer.json()["checks"][0]["remedy"]) == (503, FAILED.remedy)
    assert answer.headers["Retry-After"] == "10"
    assert client.get("/health?deep=1").status_code == 401
    assert client.get("/health").status_code == 200
