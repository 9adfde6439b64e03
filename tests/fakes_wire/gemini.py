"""The Gemini API's embedding endpoints over HTTP, with faults on demand."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes import FakeEmbedder

Fault = Callable[["GeminiServer"], tuple[int, Any] | None]


class GeminiServer:
    """Embeds with the fake embedder's arithmetic; `fault` may answer a call instead."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.calls = 0
        self.texts = 0
        self.requests: list[dict[str, Any]] = []
        self.fault: Fault | None = None
        self.released = threading.Event()
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = server.answer(self.path, body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Quiet."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        with self._lock:
            self.calls += 1
            self.requests.append(body)
        if self.fault is not None and (faulty := self.fault(self)) is not None:
            return faulty
        requests = body["requests"] if path.endswith(":batchEmbedContents") else [body]
        with self._lock:
            self.texts += len(requests)
        embedder = FakeEmbedder()
        embedder.dimension = self.dimension
        vectors = [embedder._embed(one["content"]["parts"][0]["text"]).tolist() for one in requests]
        return 200, {"embeddings": [{"values": [3.0 * value for value in vector]} for vector in vectors]}

    @contextmanager
    def serving(self) -> Iterator["GeminiServer"]:
        """Serve until the context ends."""
        thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self._http.shutdown()
            self._http.server_close()


def error(status: int, message: str = "as asked") -> tuple[int, Any]:
    """An error in the API's shape."""
    return status, {"error": {"code": status, "message": message, "status": "FAULT"}}
