"""Forged, guessed and excessive credentials, and credentials with too few scopes."""

import threading
from functools import partial
from typing import Any

import anyio
import httpx
import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from mnemosyne.adapters.identity import tokens
from mnemosyne.app.migrate import log_failure
from mnemosyne.domain.message import decode, encode
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import Unauthorized, Unavailable
from mnemosyne.http import push
from mnemosyne.http.admin import app as admin
from mnemosyne.http.common.rate_limit import client_address
from mnemosyne.http.mcp.access import LOOKUPS_PER_NETWORK, REJECTED_PER_MINUTE
from mnemosyne.mcp.dispatch import call
from mnemosyne.mcp.tools import TOOLS
from mnemosyne.service import deliveries
from mnemosyne.service.api_keys import new_key
from mnemosyne.service.authenticate import (
    ApiKeyAuthenticator,
    CloudRunIamAuthenticator,
    OidcAuthenticator,
)
from mnemosyne.service.callers import check_secret
from tests.abuse.conftest import headers
from tests.fakes import NOW, FakeServices, request
from tests.mcp_app import BOTH, CALLERS, LIST, ByName, mcp_app
from tests.memories import store_content
from tests.waiting import wait_until

BY_NAME = {tool.name: tool for tool in TOOLS}


def _store_secret(services: FakeServices) -> str:
    return str(store_content(services.memories_of("ada"), "a secret plan", title="a secret title"))


def test_a_key_with_only_the_write_scope_cannot_read_memories_by_changing_them(services: FakeServices) -> None:
    memory_id = _store_secret(services)
    updated = call(BY_NAME["update_memory"], {"id": memory_id, "tags": ["x"]}, CALLERS["writer"], services)
    deleted = call(BY_NAME["delete_memory"], {"id": memory_id}, CALLERS["writer"], services)
    assert not updated.is_error
    assert not deleted.is_error
    for result in (updated, deleted):
        assert "secret" not in str(result)
        assert result.structured_content is not None
        assert result.structured_content["id"] == memory_id


class Verifier:
    """A verifier for which each token has the same claims."""

    def __init__(self, claims: dict[str, Any]) -> None:
        self._claims = claims

    def verify(self, token: str) -> dict[str, Any]:
        return self._claims


@pytest.mark.parametrize("name", ["a\x00b", "a\ud800", "n" * 201, "", " ", "a\nb", "\u202eada", 5, ["a"], None])
def test_a_namespace_from_a_token_must_be_printable_and_short(name: Any) -> None:
    claims = {"sub": "ada", "namespace": name, "email": name, "email_verified": True}
    authenticators: list[Any] = [
        CloudRunIamAuthenticator(lambda token: claims),
        OidcAuthenticator(Verifier({"sub": name}), "namespace"),
    ]
    if name is not None:  # otherwise the subject names the namespace
        authenticators.append(OidcAuthenticator(Verifier(claims), "namespace"))
    for authenticator in authenticators:
        with pytest.raises(Unauthorized):
            authenticator.authenticate("Bearer x")


@pytest.mark.parametrize(("length", "is_accepted"), [(195, True), (196, False)])
def test_a_subject_that_names_the_namespace_leaves_it_at_most_200_characters(length: int, is_accepted: bool) -> None:
    authenticator = OidcAuthenticator(Verifier({"sub": "s" * length}), "namespace")
    if is_accepted:
        namespace = authenticator.authenticate("Bearer x").namespace
        data, attributes = encode(namespace, [request("tea")], "")
        message = decode(Published(message_id="1", data=data, attributes=attributes))
        assert (message.namespace, len(message.requests)) == (namespace, 1)
    else:
        with pytest.raises(Unauthorized, match="namespace cannot be used"):
            authenticator.authenticate("Bearer x")


@pytest.mark.usefixtures("clock")
def test_wrong_credentials_are_counted_and_logged_by_address(
    opened: Any, services: Any, caplog: pytest.LogCaptureFixture
) -> None:
    credentials = ByName()
    client = opened(services, proxies=0, credentials=credentials)

    def status(token: str, address: str) -> int:
        request_headers = headers(token, **{"X-Forwarded-For": f"10.0.0.1, {address}"})
        return int(client.post("/mcp", json=LIST, headers=request_headers).status_code)

    guess = "mnk_abcdefghijkl_" + "x" * 43
    with caplog.at_level("WARNING"):
        statuses = [status(guess, "203.0.113.9") for _ in range(REJECTED_PER_MINUTE + 5)]
    assert statuses == [401] * REJECTED_PER_MINUTE + [429] * 5
    assert len(credentials.asked) == REJECTED_PER_MINUTE
    assert "abcdefghijkl" in str([vars(record) for record in caplog.records])
    assert "203.0.113.9" in str([vars(record) for record in caplog.records])
    assert "xxxx" not in str([vars(record) for record in caplog.records])
    assert status("stranger", "203.0.113.10") == 401  # another address is not limited
    assert status("ada", "203.0.113.9") == 200  # a known caller from the same network is not affected


@pytest.mark.usefixtures("clock")
def test_wrong_secrets_of_a_cached_key_are_limited_like_wrong_secrets_of_an_unknown_key(
    opened: Any, services: Any
) -> None:
    key, token = new_key(name="n", namespace="ada", scopes=BOTH, created_at=NOW, expires_at=None)
    keys = ApiKeyAuthenticator(lambda key_id: key if key_id == key.id else None, lambda: NOW)
    client = opened(services, proxies=0, credentials=keys)

    def status(token: str, address: str) -> int:
        return int(client.post("/mcp", json=LIST, headers=headers(token, **{"X-Forwarded-For": address})).status_code)

    assert status(token, "203.0.113.9") == 200  # the key is cached now
    limited = [401] * REJECTED_PER_MINUTE + [429] * 5
    for guess, address in ((f"mnk_{key.id}_{'x' * 43}", "203.0.113.9"), (f"mnk_{'z' * 12}_{'x' * 43}", "198.51.100.9")):
        assert [status(guess, address) for _ in limited] == limited, guess
    assert status(token, "203.0.113.9") == 200


@pytest.mark.usefixtures("clock")
def test_wrong_credentials_do_not_lock_out_valid_callers_or_callers_without_credentials(
    opened: Any, services: Any
) -> None:
    class Tokens(ByName):
        """Authenticator that verifies each credential at each request, as for tokens."""

        def cached_principal(self, authorization: str | None) -> None:
            if authorization is None:
                raise Unauthorized("a bearer token is needed")

    client = opened(services, proxies=0, credentials=Tokens())

    def status(token: str | None) -> int:
        return int(client.post("/mcp", json=LIST, headers=headers(token, **{"X-Forwarded-For": "9.9.9.9"})).status_code)

    assert status("ada") == 200
    assert {status(None) for _ in range(100)} == {401}
    assert status("bob") == 200  # requests without a credential do not count as rejected ones
    assert 429 in {status(f"guess{n}") for n in range(REJECTED_PER_MINUTE + 5)}
    assert status("ada") == 200
    assert status("writer") == 429  # a guess of a credential is refused until two seconds have passed


def test_the_caller_s_address_is_taken_from_the_platform_and_not_from_the_caller_s_headers() -> None:
    scope = {"client": ("169.254.1.1", 1)}
    forged = Headers({"x-forwarded-for": "1.2.3.4, 203.0.113.9, 35.191.0.1"})
    assert client_address(scope, forged, None) == "169.254.1.1"
    assert client_address(scope, forged, 0) == "35.191.0.1"
    assert client_address(scope, forged, 1) == "203.0.113.9"
    assert client_address(scope, Headers(), 1) == "169.254.1.1"


def test_credentials_from_one_address_use_only_a_part_of_the_concurrent_lookups(app_of: Any, services: Any) -> None:
    release, gate = threading.Event(), threading.Lock()
    asking = most = 0

    class Slow(ByName):
        def authenticate(self, authorization: str | None) -> Any:
            nonlocal asking, most
            with gate:
                asking += 1
                most = max(most, asking)
            release.wait(10)
            with gate:
                asking -= 1
            raise Unauthorized("no such caller")

    async def many() -> None:
        app = app_of(services, proxies=0, credentials=Slow())
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://testserver") as client,
            anyio.create_task_group() as group,
        ):
            request_headers = headers("guess", **{"X-Forwarded-For": "203.0.113.9"})
            for _ in range(10):
                group.start_soon(lambda: client.post("/mcp", json=LIST, headers=request_headers))
            await anyio.sleep(0.2)
            release.set()

    anyio.run(many)
    assert most == LOOKUPS_PER_NETWORK


def test_a_key_id_with_other_characters_than_letters_and_digits_is_not_looked_up() -> None:
    requested_ids: list[str] = []
    keys = ApiKeyAuthenticator(lambda key_id: requested_ids.append(key_id), lambda: NOW)
    for strange in ("mnk_abc\x00efghijkl_x", "mnk_éééééééééééé_x", "mnk_short_x", "mnk_", "x"):
        with pytest.raises(Unauthorized):
            keys.authenticate(f"Bearer {strange}")
    assert requested_ids == []


@pytest.mark.parametrize("path", ["/", "/operations", "/expire", "/announce"])
def test_only_the_deployment_s_workflow_may_run_migrations_and_operations(path: str) -> None:
    def reached(*arguments: Any) -> Any:
        raise AssertionError("it was reached")

    app = admin.build_app(
        reached, reached, expire=reached, announce=reached, identify=partial(check_secret, "s3cret"), report=log_failure
    )
    for credential in ({}, {"Authorization": "Bearer other"}):
        assert TestClient(app).post(path, json={"action": "list"}, headers=credential).status_code == 401


def test_a_push_without_the_secret_of_this_machine_is_refused_and_stores_nothing(services: Any) -> None:
    app = push.build_app(
        deliveries.store, services, threads=2, warm=lambda: None, identify=partial(check_secret, "s3cret")
    )
    for credential in ({}, {"Authorization": "Bearer guess"}):
        assert TestClient(app).post("/", json={"message": {}}, headers=credential).status_code == 401
    assert TestClient(app).post("/", json={}, headers={"Authorization": "Bearer s3cret"}).status_code == 400


@pytest.mark.parametrize("proto", ["javascript", "https://evil.example/#", "ftp"])
def test_the_resource_metadata_does_not_use_the_url_scheme_that_the_caller_sends(services: Any, proto: str) -> None:
    path = "/.well-known/oauth-protected-resource/mcp"
    with TestClient(mcp_app(services, ByName(), issuer="https://issuer.example")) as client:
        resource = client.get(path, headers={"X-Forwarded-Proto": proto}).json()["resource"]
        assert resource == "http://testserver/mcp"
        assert client.get(path, headers={"X-Forwarded-Proto": "https"}).json()["resource"] == "https://testserver/mcp"


def test_a_slow_issuer_does_not_delay_tokens_signed_by_known_keys() -> None:
    slow, begun = threading.Event(), threading.Event()
    fetched: list[int] = []
    key: Any = "key"

    def fetch() -> list[Any]:
        fetched.append(1)
        if len(fetched) > 1:
            begun.set()
            slow.wait(10)
        return [key]

    keys = tokens._IssuerKeys(fetch)
    assert keys.current() == [key]
    keys._cached_at -= tokens.KEYS_SECONDS + 1  # so that the keys are due for a new fetch
    first = threading.Thread(target=keys.current)
    first.start()
    assert begun.wait(10)
    assert [keys.current() for _ in range(12)] == [[key]] * 12
    slow.set()
    first.join()
    assert len(fetched) == 2


def test_callers_that_wait_for_an_unavailable_issuer_share_one_attempt() -> None:
    attempts, away, counting, asking = [], threading.Event(), threading.Lock(), 0

    def fetch() -> list[Any]:
        attempts.append(1)
        away.wait(10)
        raise Unavailable("away")

    keys, refused = tokens._IssuerKeys(fetch), []

    def ask() -> None:
        nonlocal asking
        with counting:
            asking += 1
        try:
            keys.current()
        except Unavailable:
            refused.append(1)

    waiting = [threading.Thread(target=ask) for _ in range(12)]
    for thread in waiting:
        thread.start()
    # All must wait before the fetch fails, because a caller that comes later would start a new fetch.
    wait_until(lambda: asking == 12, "all of them ask")
    away.set()
    for thread in waiting:
        thread.join()
    assert len(refused) == 12
    assert len(attempts) <= 2  # a caller whose request began while the lookup failed may try once more


def test_a_cached_key_is_not_found_by_a_part_of_its_secret() -> None:
    key, token = new_key(name="n", namespace="ada", scopes=BOTH, created_at=NOW, expires_at=None)
    keys = ApiKeyAuthenticator(lambda key_id: key, lambda: NOW)
    assert keys.authenticate(f"Bearer {token}").namespace == "ada"
    for forged in (token[:-1], token + "x", f"mnk_{key.id}_"):
        with pytest.raises(Unauthorized):
            keys.cached_principal(f"Bearer {forged}")
