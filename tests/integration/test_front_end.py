"""The front end of the tests (a fake of Cloud Run's) behaves like Cloud Run."""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import psutil
import pytest

from mnemosyne.cli.local.data_dir import DataDir
from tests.cloud_run.headers import Headers, forwarded, proxied
from tests.cloud_run.identity import SIGNATURE_REMOVED, Google, Refused, admit, without_signature
from tests.cloud_run.service import REQUEST_BYTES, Deployment, Limits, Service, deterministic_url, hashed_url
from tests.waiting import wait_until

AUDIENCES = (deterministic_url("mcp"), hashed_url("mcp"))
ADA = "ada@example.com"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(scope="module")
def google() -> Iterator[Google]:
    with Google().serving() as running:
        yield running


@contextmanager
def _serving(google: Google) -> Iterator[Service]:
    with tempfile.TemporaryDirectory(prefix="mnemosyne-front-end-") as home:
        directory = DataDir.at(home)
        settings = {
            "MNEMOSYNE_DATABASE_URL": f"postgresql://u@/d?host={home}",
            "MNEMOSYNE_TOPIC": f"file://{directory.queue}",
            "MNEMOSYNE_AUTH_MODE": "iam",
            "MNEMOSYNE_ALLOWED_HOSTS": AUDIENCES[0].removeprefix("https://"),
        }
        limits = Limits(concurrency=2, timeout_seconds=60, max_instances=2)
        deployment = Deployment("mcp", settings, directory, google, [ADA], limits=limits)
        with Service(deployment).serving() as running:
            yield running


@pytest.fixture(scope="module")
def _service(google: Google) -> Iterator[Service]:
    with _serving(google) as running:
        yield running


@pytest.fixture
def service(_service: Service) -> Service:
    """A service with one instance, which has answered a request."""
    while len(_service.instances) > 1:
        _service.end_instance()
    assert _list(_service).status_code == 200
    return _service


def _list(service: Service) -> httpx.Response:
    token = service.deployment.google.identity_token(ADA, AUDIENCES[0])
    return httpx.post(f"{service.url}/mcp", json=LIST, headers={"Authorization": f"Bearer {token}"}, timeout=90)


@pytest.mark.parametrize("audience", AUDIENCES, ids=["deterministic", "hashed"])
def test_a_checked_token_is_forwarded_without_its_signature(google: Google, audience: str) -> None:
    token = google.identity_token(ADA, audience)
    headers = Headers([("authorization", f"Bearer {token}")])
    admit(headers, google, AUDIENCES, [ADA])
    handed = headers.get("Authorization").removeprefix("Bearer ").split(".")
    assert handed[:2] == token.split(".")[:2]
    assert handed[2] == SIGNATURE_REMOVED


def test_with_both_headers_x_serverless_authorization_is_checked_and_the_other_is_forwarded(google: Google) -> None:
    headers = Headers(
        [
            ("Authorization", "Bearer whatever"),
            ("X-Serverless-Authorization", f"Bearer {google.identity_token(ADA, AUDIENCES[0])}"),
        ]
    )
    admit(headers, google, AUDIENCES, [ADA])
    assert headers.get("Authorization") == "Bearer whatever"
    assert headers.get("X-Serverless-Authorization").endswith(SIGNATURE_REMOVED)


@pytest.mark.parametrize(
    ("presented", "status"),
    [("", 403), ("Bearer noise", 401), ("Bearer eve", 403), ("Bearer elsewhere", 401), ("Bearer stripped", 401)],
    ids=["nothing", "no token", "no invoker", "another audience", "already without signature"],
)
def test_a_caller_without_the_invoker_role_does_not_reach_the_instance(
    google: Google, presented: str, status: int
) -> None:
    credentials = {
        "Bearer eve": google.identity_token("eve@example.com", AUDIENCES[0]),
        "Bearer elsewhere": google.identity_token(ADA, "https://other.example"),
        "Bearer stripped": without_signature(google.identity_token(ADA, AUDIENCES[0])),
    }
    authorization = f"Bearer {credentials[presented]}" if presented in credentials else presented
    with pytest.raises(Refused) as refused:
        admit(Headers([("Authorization", authorization)] if authorization else []), google, AUDIENCES, [ADA])
    assert refused.value.status == status


def test_the_client_s_trace_id_is_kept_in_both_trace_headers() -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = Headers([("traceparent", f"00-{trace}-b7ad6b7169203331-01"), ("X-Forwarded-For", "198.51.100.1")])
    forwarded(headers, "a.run.app")
    assert headers.get("traceparent").split("-")[1] == trace
    assert headers.get("X-Cloud-Trace-Context").startswith(f"{trace}/")
    assert headers.get("X-Forwarded-For") == "198.51.100.1,203.0.113.7"
    assert headers.get("Host") == "a.run.app"


def test_the_identity_aware_proxy_adds_its_headers_and_keeps_the_caller_s_credential() -> None:
    headers = Headers([("Authorization", "Bearer mnk_x"), ("Proxy-Authorization", "Bearer for-the-proxy")])
    proxied(headers, ADA, "assertion", "serverless")
    assert headers.get("Authorization") == "Bearer mnk_x"
    assert "Proxy-Authorization" not in headers
    assert headers.get("X-Goog-Authenticated-User-Email") == f"accounts.google.com:{ADA}"
    assert headers.get("X-Serverless-Authorization") == "Bearer serverless"


def test_an_instance_has_no_processor_between_requests(service: Service) -> None:
    (instance,) = service.instances
    tree = [instance.process, *instance.process.children(recursive=True)]
    wait_until(
        lambda: {process.status() for process in tree} == {psutil.STATUS_STOPPED}, "every process of it is stopped"
    )
    assert _list(service).status_code == 200


def test_load_starts_a_second_instance_and_no_third(service: Service) -> None:
    with ThreadPoolExecutor(12) as pool:
        assert {answer.status_code for answer in pool.map(lambda _: _list(service), range(60))} == {200}
    assert len(service.instances) == 2


def test_an_instance_ends_within_its_grace_and_another_takes_its_place(service: Service) -> None:
    assert service.end_instance()
    assert _list(service).status_code == 200


def test_a_request_that_is_too_large_starts_no_instance(google: Google) -> None:
    with _serving(google) as service:
        answer = service.answer("POST", "/mcp", Headers([]), b" " * (REQUEST_BYTES + 1))
        assert (answer.status, answer.of_platform) == (413, True)
        assert service.instances == []


def test_the_environment_variables_of_cloud_run_are_set(service: Service) -> None:
    environment = service.instances[0].environment
    assert (environment["K_SERVICE"], environment["FUNCTION_TARGET"]) == ("mnemosyne-mcp", "mcp")
    assert environment["LOG_EXECUTION_ID"] == "true"
    assert environment["PORT"] == str(service.instances[0].port)
