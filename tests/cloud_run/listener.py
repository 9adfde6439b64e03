"""The HTTP listener of a front end."""

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.cloud_run.headers import Headers
from tests.cloud_run.instance import HOST


@dataclass(frozen=True)
class Answer:
    """An HTTP response to a client. `of_platform` says whether the platform (Cloud Run) or the function sent it."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    of_platform: bool = True


def http_server(
    answer: Callable[[str, str, Headers, bytes], Answer], port: int = 0, tls: ssl.SSLContext | None = None
) -> ThreadingHTTPServer:
    """Return an HTTP server on loopback. It answers each request with the result of `answer`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Buffer the output, so that the head and the body of a response are sent in one TCP segment. If the body of a
        # refusal came separately, the Pub/Sub emulator might not read it, and would then never deliver the message
        # again.
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def handle(self) -> None:
            with suppress(OSError):  # a client disconnects if it does not trust the certificate
                super().handle()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            response = answer(self.command, self.path, Headers.of(self.headers), body)  # type: ignore[arg-type]
            self.send_response_only(response.status)
            for name, value in response.headers:
                if name.lower() != "content-length":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(response.body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = _answer  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server((HOST, port), Handler)
    if tls is not None:
        # The TLS handshake is done in the connection's thread, because a browser opens connections that it never uses.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server
