"""Cloud Run's front end, without instances, in front of a process that is already running."""

from tests.cloud_run.service import Deployment, Service


class Attached:
    """The one instance, which always has its processor and is never ended."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.in_flight = 0

    def enter(self) -> None:
        """Count a request as running."""

    def leave(self) -> None:
        """Count a request as ended."""


class FrontEnd(Service):
    """Forwards to `port` on loopback, under the Host that is served there."""

    def __init__(self, deployment: Deployment, port: int) -> None:
        super().__init__(deployment)
        self._attached = Attached(port)

    def _instance(self) -> Attached:  # type: ignore[override]
        return self._attached
