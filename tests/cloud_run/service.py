"""A Cloud Run service: the front end of a function and the number of its instances.

Limits: https://cloud.google.com/run/quotas; errors: https://cloud.google.com/run/docs/troubleshooting.
"""

import http.client
import ssl
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mnemosyne.cli.local.data_dir import DataDir
from tests.cloud_run.headers import CLIENT_ADDRESS, HOP_BY_HOP, Headers, forwarded, proxied
from tests.cloud_run.identity import ALL_USERS, Google, Refused, admit
from tests.cloud_run.instance import HOST, Instance
from tests.cloud_run.listener import Answer, http_server
from tests.fakes_wire.http import served

PENDING_SECONDS = 60.0
"""Maximum time that a request waits for an instance. On Cloud Run this is ten seconds or, if this is longer, three and
a half times the start time of an instance, which is long on a busy test machine:
https://cloud.google.com/run/docs/about-instance-autoscaling."""
PROJECT_NUMBER = "123456789012"
REGION = "europe-west1"
IAP_ACCOUNT = f"service-{PROJECT_NUMBER}@gcp-sa-iap.iam.gserviceaccount.com"


@dataclass(frozen=True)
class Limits:
    """Limits of a function that Terraform sets."""

    concurrency: int
    timeout_seconds: float
    max_instances: int


DEPLOYED = {
    "mcp": Limits(concurrency=40, timeout_seconds=120, max_instances=5),
    "ingest": Limits(concurrency=8, timeout_seconds=120, max_instances=5),
    "dead_letter": Limits(concurrency=4, timeout_seconds=120, max_instances=1),
    "auth": Limits(concurrency=40, timeout_seconds=60, max_instances=2),
    "import_object": Limits(concurrency=2, timeout_seconds=600, max_instances=2),
    "migrate": Limits(concurrency=8, timeout_seconds=3600, max_instances=1),
}
"""The limits that the functions of a deployment have by default. A test compares them with Terraform's plan."""


@dataclass(frozen=True)
class Deployment:
    """A deployed function: its permitted callers and its address."""

    target: str
    environment: Mapping[str, str]
    directory: DataDir
    google: Google
    invokers: Collection[str] = (ALL_USERS,)
    iap_user: str = ""
    """The person whom Identity-Aware Proxy has admitted."""
    clock: Path | None = None
    limits: Limits | None = None
    host: str = ""
    """The Host header of the requests. By default it is the service's own host."""
    port: int = 0
    tls: ssl.SSLContext | None = None
    """The certificate for clients and browsers that need https. Without it, the service uses http."""

    @property
    def name(self) -> str:
        """The name of the Cloud Run service."""
        return service_name(self.target)


def service_name(target: str) -> str:
    """Return the name that the deployment gives the Cloud Run service of a function."""
    return f"mnemosyne-{target.replace('_', '-')}"


def deterministic_url(target: str) -> str:
    """https://cloud.google.com/run/docs/triggering/https-request#deterministic."""
    return f"https://{service_name(target)}-{PROJECT_NUMBER}.{REGION}.run.app"


def hashed_url(target: str) -> str:
    """Return the second address of the service, which contains a hash."""
    return f"https://{service_name(target)}-a1b2c3d4e5-ew.a.run.app"


class Service:
    """Serves requests at `url`, like Cloud Run at the service's https address."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.limits = deployment.limits or DEPLOYED[deployment.target]
        self.answers: Counter[tuple[int, bool]] = Counter()
        """Number of responses with each status, separately for responses of the platform (true) and of the function
        (false)."""
        self.strips_signatures = True
        self.signatures: set[str] = set()
        """The third segments of the tokens that were forwarded to instances."""
        self.instances: list[Instance] = []
        self._starting = 0
        self._room = threading.Condition()
        # One thread, which runs as long as the service, starts all instances. An instance ends when the thread ends
        # that has started it.
        self._starter = ThreadPoolExecutor(1)
        self.client_address = CLIENT_ADDRESS
        self._http = http_server(self.answer, deployment.port, deployment.tls)
        self.url = f"{'https://localhost' if deployment.tls else f'http://{HOST}'}:{self._http.server_port}"

    # -- requests

    def answer(self, method: str, path: str, headers: Headers, body: bytes) -> Answer:
        """Return the response to a client's request, and count it in `answers`."""
        answer = self._answer(method, path, headers, body)
        self.answers[answer.status, answer.of_platform] += 1
        return answer

    def _answer(self, method: str, path: str, headers: Headers, body: bytes) -> Answer:
        if path.partition("?")[0].endswith("z"):
            # Cloud Run does not forward such paths: https://cloud.google.com/run/docs/known-issues#ah
            return Answer(404, b"<title>Error 404 (Not Found)!!1</title>")
        deployment = self.deployment
        audiences = deterministic_url(deployment.target), hashed_url(deployment.target)
        if deployment.iap_user:
            assertion = deployment.google.identity_token(
                deployment.iap_user, "/projects/123456789012/global/backendServices/1"
            )
            proxied(
                headers, deployment.iap_user, assertion, deployment.google.identity_token(IAP_ACCOUNT, audiences[0])
            )
        try:
            admit(headers, deployment.google, audiences, deployment.invokers, strip=self.strips_signatures)
        except Refused as exc:
            return Answer(exc.status, str(exc).encode())
        self.signatures.add(headers.get("Authorization").rpartition(".")[2])
        forwarded(headers, deployment.host or audiences[0].removeprefix("https://"), self.client_address)
        instance = self._instance()
        if instance is None:
            return Answer(429, b"The request was aborted because there was no available instance.")
        try:
            return self._forward(instance, method, path, headers, body)
        finally:
            instance.leave()
            with self._room:
                self._room.notify_all()

    def _forward(self, instance: Instance, method: str, path: str, headers: Headers, body: bytes) -> Answer:
        connection = http.client.HTTPConnection(HOST, instance.port, timeout=self.limits.timeout_seconds)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.pairs:
                connection.putheader(name, value)
            connection.endheaders(body)
            response = connection.getresponse()
            response_headers = tuple((k, v) for k, v in response.getheaders() if k.lower() not in HOP_BY_HOP)
            return Answer(response.status, response.read(), response_headers, of_platform=False)
        except TimeoutError:
            return Answer(504, b"upstream request timeout")
        except (OSError, http.client.HTTPException):
            # https://cloud.google.com/run/docs/troubleshooting#connection-reset
            return Answer(503, b"The request failed because the instance could not be reached or broke off.")
        finally:
            connection.close()

    # -- instances

    def _instance(self) -> Instance | None:
        """Return an instance that can take one more request. Return None if there is none after PENDING_SECONDS."""
        deadline = time.monotonic() + PENDING_SECONDS
        with self._room:
            while True:
                for instance in self.instances:
                    if instance.in_flight < self.limits.concurrency:
                        instance.enter()
                        return instance
                if not self._starting and len(self.instances) < self.limits.max_instances:
                    self._start()
                if not self._room.wait(deadline - time.monotonic()):
                    return None

    def _start(self) -> None:
        self._starting += 1
        self._starter.submit(self._started)

    def _started(self) -> None:
        deployment = self.deployment
        instance = Instance(
            deployment.name, deployment.target, deployment.environment, deployment.directory, deployment.clock
        )
        alive = instance.start()
        with self._room:
            self._starting -= 1
            if alive:
                self.instances.append(instance)
            self._room.notify_all()

    def add_instance(self) -> None:
        """Start one more instance, and wait until it accepts requests."""
        with self._room:
            before = len(self.instances)
            self._start()
            assert self._room.wait_for(lambda: len(self.instances) > before, PENDING_SECONDS), "no instance came up"

    def end_instance(self) -> bool:
        """End the oldest instance, which gets no new requests. Return whether it has ended within ten seconds."""
        return self._taken().end()

    def crash_instance(self) -> None:
        """Kill the oldest instance, although requests are running in it."""
        self._taken().crash()

    def _taken(self) -> Instance:
        with self._room:
            assert self._room.wait_for(lambda: bool(self.instances), PENDING_SECONDS), "there is no instance"
            return self.instances.pop(0)

    @contextmanager
    def serving(self) -> Iterator["Service"]:
        """Serve until the `with` block ends. The first instance is started for the first request."""
        try:
            with served(self._http):
                yield self
        finally:
            self._starter.shutdown()
            for instance in self.instances:
                instance.crash()
