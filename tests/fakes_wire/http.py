"""A JSON server on loopback, for services that are spoken to over HTTP."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Self


class JsonServer(ABC):
    """Answers each request with what `answer` returns; hung ones are released when it stops."""

    headers: Mapping[str, str] = MappingProxyType({})
    """Sent with every answer."""

    def __init__(self) -> None:
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._answer(json.loads(body) if "json" in self.headers["Content-Type"] else body)

            def _answer(self, body: Any) -> None:
                status, answer = server.answer(
                    self.path, body, {name.lower(): value for name, value in self.headers.items()}
                )
                data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain" if isinstance(answer, str) else "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in server.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Quiet."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that was killed or has given up: quiet."""

        self._http = Server(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._http.server_port}"
        self.url = f"http://{self.host}"

    @abstractmethod
    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        """Status and body: text as it is, anything else as JSON."""

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve until the context ends."""
        thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self._http.shutdown()
            self._http.server_close()
