"""A deployment in one process, which records what its functions log and what Google measures during an incident."""

import base64
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from starlette.testclient import TestClient

from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.message import encode
from mnemosyne.errors import MnemosyneError
from mnemosyne.http.mcp.access import Access
from mnemosyne.http.mcp.app import build_app as build_mcp
from mnemosyne.http.push import Handler, build_app
from mnemosyne.observability import JsonFormatter
from mnemosyne.service import deliveries
from mnemosyne.service.api_keys import new_key
from tests.fakes import NOW, FakeServices, request
from tests.terraform.monitoring import Point, answered, entry
from tests.tools import call_tool

_, KEY = new_key(name="k", namespace="ns", scopes=frozenset(), created_at=NOW, expires_at=None)
OLD_SECONDS = 900.0
"""Age in seconds of a message that could not be stored during an incident of fifteen minutes."""


class World:
    """Functions that use the given services, with the log entries and metric points of an incident."""

    def __init__(self, services: FakeServices) -> None:
        self.services = services
        self.lines: list[str] = []
        self.entries: list[dict[str, Any]] = []
        self.points: list[Point] = []

    @contextmanager
    def function(self, name: str) -> Iterator[None]:
        """Record the lines that are logged inside the `with` block as log lines of the function `name`."""
        written = _Lines()
        logger = logging.getLogger("mnemosyne")
        level = logger.level
        logger.setLevel("INFO")
        logger.addHandler(written)
        try:
            yield
        finally:
            logger.removeHandler(written)
            logger.setLevel(level)
            self.lines += written.lines
            self.entries += [entry(line, f"mem-{name}") for line in written.lines]

    @property
    def events(self) -> set[str]:
        """Names of the logged events."""
        return {fields["jsonPayload.event"] for fields in self.entries if "jsonPayload.event" in fields}

    def deliver(
        self,
        function: str = "ingest",
        *,
        data: bytes | None = None,
        attributes: Mapping[str, str] | None = None,
        memory: IngestRequest | None = None,
        handler: Handler[Any] | None = None,
        age: timedelta = timedelta(seconds=1),
        path: str = "/",
        headers: Mapping[str, str] | None = None,
        identify: Any = lambda _: None,
        times: int = 1,
    ) -> int:
        """Push a message to a function `times` times, and return the last HTTP status.

        If the function refuses the message, the metric for the age of the oldest undelivered message gets a point.
        """
        encoded, named = encode("ns", [memory or request("Ada prefers tea.")], "")
        chosen: Any = (
            handler
            or {
                "ingest": deliveries.store,
                "dead-letter": deliveries.give_up,
                "import-object": deliveries.import_object,
            }[function]
        )
        app = build_app(chosen, self.services, threads=2, warm=lambda: None, identify=identify)
        body = {
            "message": {
                "data": base64.b64encode(encoded if data is None else data).decode(),
                "attributes": dict(named if attributes is None else attributes),
                "messageId": "12345678901234567",
                "publishTime": (datetime.now(UTC) - age).isoformat(),
            },
            "subscription": "s",
        }
        with self.function(function), TestClient(app) as client:
            for _ in range(times):
                status = client.post(path, json=body, headers=headers).status_code
        if status != 204:
            name = "bucket-exports" if function == "import-object" else function
            self.measure(
                "pubsub.googleapis.com/subscription/oldest_unacked_message_age",
                100_000.0 if function == "import-object" else OLD_SECONDS,
                {"type": "pubsub_subscription", "labels.subscription_id": f"mem-{name}"},
            )
        return status

    def fail_delivery(self, error: MnemosyneError, function: str = "ingest", **options: Any) -> int:
        """Push a message to a function whose handler raises this error."""

        def handler(push: deliveries.Push, services: Any) -> None:
            raise error

        return self.deliver(function, handler=handler, **options)

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool of the `mcp` function."""
        with self.function("mcp"):
            return call_tool(self.services, tool, **arguments)

    def search(self) -> Any:
        """Search for a memory."""
        return self.call("memory_search", query="what does Ada prefer")

    def ingest(self) -> Any:
        """Call the tool that accepts a memory."""
        return self.call("ingest_memory", content="Ada prefers tea.", timestamp="2026-05-20T14:30:00Z")

    def post(self, authenticator: Any, *, token: str = KEY, charged: str = "", times: int = 1) -> int:
        """Post a tool call to `/mcp` with a credential, and return the last status.

        `charged` names a principal that has already used up its rate limit.
        """
        access = Access(authenticator, per_minute=600, issuer="", allowed_hosts=("testserver",))
        access.budgets.charge(charged, 10_000)
        app = build_mcp(self.services, threads=2, access=access, allowed_origins=(), warm=lambda: None, examine=list)
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_stats", "arguments": {}}}
        client = TestClient(app)  # no lifespan: the request is refused before it reaches the server
        with self.function("mcp"):
            for _ in range(times):
                answer = client.post("/mcp", json=body, headers={"Authorization": f"Bearer {token}"})
        self.answered("mcp", answer.status_code)
        return answer.status_code

    async def get(self, app: Any, function: str) -> int:
        """Get `/health` of a function's ASGI app, and return the status."""
        with self.function(function):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
                status = (await client.get("/health")).status_code
        self.answered(function, status)
        return status

    def answered(self, function: str, status: int) -> None:
        """Add the log entry that Cloud Run writes when a function answers a request with this status."""
        self.entries.append(answered(f"mem-{function}", status))

    def measure(
        self, metric: str, value: float, resource: Mapping[str, str], labels: Mapping[str, str] | None = None
    ) -> None:
        """Add a measured value (a point) of a Google metric."""
        named = {f"metric.labels.{key}": label for key, label in (labels or {}).items()}
        resources = {f"resource.{key}": label for key, label in resource.items()}
        self.points.append(Point({"metric.type": metric, **resources, **named}, value))


class _Lines(logging.Handler):
    """Log handler that keeps the log lines of a function."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter("my-project"))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))
