"""The identity token that Pub/Sub sends with each push, and that the Pub/Sub emulator does not send."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cloud_run.headers import Headers
from tests.cloud_run.listener import Answer, http_server
from tests.cloud_run.service import Service, deterministic_url
from tests.fakes_wire.http import served

PUSH_ACCOUNT = "mnemosyne-push@test-project.iam.gserviceaccount.com"


class Push:
    """Proxy between the emulator and a service. It adds an identity token to each push, as Pub/Sub does with OIDC.

    https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions#jwt-format: account and audience are those of
    the subscription.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self.email = PUSH_ACCOUNT
        self._http = http_server(self._pushed)
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def _pushed(self, method: str, path: str, headers: Headers, body: bytes) -> Answer:
        deployment = self._service.deployment
        token = deployment.google.identity_token(self.email, deterministic_url(deployment.target))
        headers["Authorization"] = f"Bearer {token}"
        return self._service.answer(method, path, headers, body)

    @contextmanager
    def serving(self) -> Iterator["Push"]:
        """Forward pushes until the `with` block ends."""
        with served(self._http):
            yield self
