"""Push messages to an internal function in this process, as Pub/Sub does."""

import base64
from collections.abc import Mapping
from typing import Any

from starlette.testclient import TestClient

from mnemosyne.http.push import build_app


def function_client(handler: Any, services: Any, **options: Any) -> TestClient:
    """Return an HTTP client of an internal function with this handler. By default the function accepts every caller."""
    defaults: dict[str, Any] = {"threads": 2, "warm": lambda: None, "identify": lambda _: None}
    return TestClient(build_app(handler, services, **defaults | options))


def push(
    client: TestClient, data: bytes, attributes: Mapping[str, str], *, message_id: str = "1", **fields: Any
) -> int:
    """Push a message, and return the status of the response."""
    message = {
        "data": base64.b64encode(data).decode(),
        "attributes": dict(attributes),
        "messageId": message_id,
        **fields,
    }
    return client.post("/", json={"message": message, "subscription": "s"}).status_code
