"""HTTP clients of other languages with their default options."""

import json
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.dev import DevServer

LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
JAVA = """
import java.net.URI;
import java.net.http.*;

class Post {
    public static void main(String[] arguments) throws Exception {
        var client = HttpClient.newHttpClient();
        for (int i = 0; i < 3; i++) {
            var request = HttpRequest.newBuilder(URI.create(arguments[0])).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(arguments[1])).build();
            System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
        }
    }
}
"""


def test_javas_client_which_offers_http2_is_served(dev: DevServer, tmp_path: Path) -> None:
    if not shutil.which("java"):
        pytest.skip("NOT TESTED: java is not installed")
    source = tmp_path / "Post.java"
    source.write_text(JAVA)
    completed = subprocess.run(
        ["java", source, dev.url, LIST], capture_output=True, text=True, timeout=120, check=False
    )
    lists = ["tools" in json.loads(line)["result"] for line in completed.stdout.splitlines() if line.strip()]
    assert lists == [True] * 3, completed.stderr


@pytest.mark.parametrize(("offer", "pieces"), [("Upgrade: h2c", 1), ("upgrade:h2c", 2), ("UPGRADE: H2C", 40)])
def test_an_offer_of_http2_is_ignored_however_the_request_arrives(dev: DevServer, offer: str, pieces: int) -> None:
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{dev.port}\r\nContent-Type: application/json\r\n{offer}\r\n"
        f"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n"
        f"Content-Length: {len(LIST)}\r\n\r\n"
    )
    request = (head + LIST).encode()
    size = -(-len(request) // pieces)
    with socket.create_connection(("127.0.0.1", dev.port), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(2):
            for start in range(0, len(request), size):
                connection.sendall(request[start : start + size])
            answer = b""
            while b'"tools"' not in answer or not answer.rstrip().endswith(b"}"):
                received = connection.recv(65536)
                assert received, answer
                answer += received
            assert answer.startswith(b"HTTP/1.1 200")


TLS_HELLO = bytes.fromhex("16030102000100") + b"\x01\xfc\x03\x03"
NO_HTTP = {"https": TLS_HELLO, "one byte": b"\x16", "json": LIST.encode() + b"\n", "text": b"hello\r\n"}


@pytest.mark.parametrize("sent", NO_HTTP.values(), ids=NO_HTTP)
def test_what_is_not_http_is_refused_instead_of_awaiting_the_end_of_a_request(dev: DevServer, sent: bytes) -> None:
    """A client that is configured with `https://` instead of `http://` thus gets a TLS error, and not a timeout."""
    with socket.create_connection(("127.0.0.1", dev.port), timeout=30) as connection:
        connection.sendall(sent)
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")


def test_a_request_with_bare_line_feeds_is_refused(dev: DevServer) -> None:
    with socket.create_connection(("127.0.0.1", dev.port), timeout=30) as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\nHost: 127.0.0.1\n\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")
