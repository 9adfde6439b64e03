"""Cloud Run's front end for a process that is already running, without instances."""

from tests.cloud_run.service import Deployment, Service


class Attached:
    """Stand-in for an instance: a process that runs already. It always has CPU time, and is never stopped."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.in_flight = 0

    def enter(self) -> None:
        """Count a request as running."""

    def leave(self) -> None:
        """Count a request as ended."""


class FrontEnd(Service):
    """Forwards requests to `port` on loopback, with the Host header of that server."""

    def __init__(self, deployment: Deployment, port: int) -> None:
        super().__init__(deployment)
        self._attached = Attached(port)

    def _instance(self) -> Attached:  # type: ignore[override]
        return self._attached
