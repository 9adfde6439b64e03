"""A JSON server on loopback, the base of fakes of HTTP services."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Self


@contextmanager
def served(http: HTTPServer) -> Iterator[str]:
    """Serve until the `with` block ends, and yield the server's address."""
    threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        http.server_close()


class Events(str):
    """Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html."""


class Html(str):
    """A page."""


@dataclass(frozen=True)
class Reply:
    """A response of bytes, with its own headers. If `cut` is true, the connection ends after half of the bytes."""

    data: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    protocol_version = "HTTP/1.1"
    # Send the head and the body of a response in one TCP segment. If they were in two segments, the second would wait
    # 40 ms for the acknowledgement of the first.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_CONNECT = do_GET  # noqa: N815 - the names that http.server looks for

    def _answer(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, answer = self.server.owner.exchange(self.command, self.path, self._body(headers), headers)
        reply = answer if isinstance(answer, Reply) else Reply()
        if isinstance(answer, Reply):
            data, kind = answer.data, "application/octet-stream"
        elif isinstance(answer, Events):
            data, kind = answer.encode(), "text/event-stream"
        elif isinstance(answer, Html):
            data, kind = answer.encode(), "text/html; charset=utf-8"
        elif isinstance(answer, bytes):
            data, kind = answer, "application/octet-stream"
        elif isinstance(answer, str):
            data, kind = answer.encode(), "text/plain"
        else:
            data, kind = json.dumps(answer).encode(), "application/json"
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
        for name, value in {**self.server.owner.headers, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if status != 204:
            self.wfile.write(data[: len(data) // 2] if reply.cut else data)
        self.close_connection = self.close_connection or reply.cut

    def _body(self, headers: Mapping[str, str]) -> Any:
        if "chunked" in headers.get("transfer-encoding", ""):
            body = b"".join(iter(self._chunk, b""))
        elif self.command != "POST" and "content-length" not in headers:
            return None
        else:
            body = self.rfile.read(int(headers["content-length"]))
        kind = headers.get("content-type", "").partition(";")[0]
        return json.loads(body) if body and kind.endswith(("/json", "+json")) else body

    def _chunk(self) -> bytes:
        chunk = self.rfile.read(int(self.rfile.readline().split(b";")[0], 16))
        self.rfile.readline()
        return chunk

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, owner: "JsonServer") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error of a client that has disconnected."""


class JsonServer(ABC):
    """Answers each request with the result of `answer`. Requests that hang are released when the server stops."""

    headers: Mapping[str, str] = MappingProxyType({})
    """Headers that are sent with every answer."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self._http = _Server(self)
        self.host = f"127.0.0.1:{self._http.server_port}"
        self.url = f"http://{self.host}"

    def exchange(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        """Return status and body, as `answer` does.

        Subclasses override this method if the answer depends on the HTTP method.
        """
        return self.answer(path, body, headers)

    @abstractmethod
    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        """Return status and body: text and bytes unchanged, other values as JSON."""

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve until the `with` block ends."""
        with served(self._http):
            try:
                yield self
            finally:
                self.released.set()
