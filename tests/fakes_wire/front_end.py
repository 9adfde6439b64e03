"""What the platform puts in front of a function: it holds a request while an instance starts, and always answers."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

START_SECONDS = 10.0
TIMEOUT_SECONDS = 60.0


class FrontEnd:
    """Forwards POSTs to `target`.

    The Pub/Sub emulator stops pushing for good after some refused connections; the real service never meets one,
    because it talks to a front end like this.
    """

    def __init__(self, target: str) -> None:
        self._client = httpx.Client(base_url=target, timeout=TIMEOUT_SECONDS, trust_env=False)
        self._pause = threading.Event()
        front_end = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                sent = {name: self.headers[name] for name in ("Content-Type", "Authorization") if self.headers[name]}
                status, answer = front_end.forward(self.path, body, sent)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Quiet."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def forward(self, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """Status and body of the function's answer; 503 where its instance died over the request."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                response = self._client.post(path, content=body, headers=headers)
                return response.status_code, response.content
            except httpx.ConnectError as exc:
                if time.monotonic() > deadline:
                    return 503, str(exc).encode()
                self._pause.wait(0.05)
            except httpx.HTTPError as exc:
                return 503, str(exc).encode()

    @contextmanager
    def serving(self) -> Iterator["FrontEnd"]:
        """Serve until the context ends."""
        thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            self._client.close()
