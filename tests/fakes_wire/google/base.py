"""Base of the fakes of Google's APIs. It answers a call with a fault, or with the method registered for its path."""

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.fakes_wire.google.errors import Answer, refused
from tests.fakes_wire.http import JsonServer

NUMBER = "123456789012"
NOW = "2026-01-01T00:00:00.000Z"


class Call(NamedTuple):
    """A recorded call; `path` has no query."""

    method: str
    path: str
    body: Any


Fault = Callable[[Call], Answer | None]
Handler = Callable[..., Answer]


def route(method: str, path: str) -> Callable[[Handler], Handler]:
    """Register a method for a path. It gets the path's {parameters} and the body."""
    parts = re.split(r"\{(\w+)\}", path)
    pattern = "".join(f"(?P<{part}>[^/:]+)" if at % 2 else re.escape(part) for at, part in enumerate(parts))

    def wrapped(handler: Handler) -> Handler:
        RoutedServer.routes.append((method, re.compile(pattern), handler))
        return handler

    return wrapped


class RoutedServer(JsonServer):
    """Server that records each call, and answers it with the method that is registered for the path."""

    routes: ClassVar[list[tuple[str, re.Pattern[str], Handler]]] = []

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.faults: Fault = lambda call: None
        """Called before each request. A result other than None is the response."""

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        raise NotImplementedError("answers by method: see exchange")

    def exchange(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        split = urlsplit(path)
        call = Call(method, path if method == "CONNECT" else split.path, None if body == b"" else body)
        self.calls.append(call)
        if method == "CONNECT":  # a call to another host: see the proxy in `gcloud_environment`
            return refused(403, f"Tests reach no {path}")
        if "authorization" not in headers:
            return refused(401, "Request had invalid authentication credentials.", "UNAUTHENTICATED")
        try:
            return self.faults(call) or self.routed(call, dict(parse_qsl(split.query)))
        except Exception as exc:  # noqa: BLE001 - without an answer, or with a 5xx, gcloud tries for half a minute
            return refused(400, f"The fake failed at {method} {path}: {exc!r}")

    def routed(self, call: Call, query: Mapping[str, str]) -> Answer:
        """Return the answer of the method that is registered for this call."""
        for method, pattern, handler in self.routes:
            if method == call.method and (matched := pattern.fullmatch(call.path)):
                values = {name: unquote(value) for name, value in matched.groupdict().items()}
                return handler(self, call.body, **values)
        return refused(404, f"The fake has no {call.method} {call.path}")
