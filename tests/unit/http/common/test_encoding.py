"""Request bodies that are too large are read to their end; which clients get responses in gzip."""

import asyncio

import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient
from starlette.types import Message

from mnemosyne.http.common import body as bodies
from mnemosyne.http.common.encoding import accepts_gzip
from mnemosyne.http.console import site
from tests.fakes import FakeServices
from tests.mcp_app import LIST, mcp_app, post

ACCEPTED = (
    "gzip", "GZIP", "x-gzip", "br, gzip", "gzip, deflate, br, zstd", "gzip;q=1.0", "gzip; q=0.5", "gzip;q=0.001", "*",
    "identity;q=0.5, *;q=0.1", "*;q=0, gzip", "identity;q=0, gzip", "br;q=1, gzip ;q = 0.8", "deflate;level=9, gzip",
)  # fmt: skip
REFUSED = (
    "", "identity", "br", "gzip;q=0", "gzip; q=0.0", "gzip ;q=0.000", "gzip;q=0, *", "*;q=0", "identity, *;q=0",
    "GZip;Q=0", "br, gzip;q=0", "gzipped", "identity;q=0", ",;,=", "gzip;q=many", "gzip;q=1.2.3",
)  # fmt: skip


@pytest.mark.parametrize(
    ("header", "accepts"), [*((header, True) for header in ACCEPTED), *((header, False) for header in REFUSED)]
)
def test_a_client_accepts_gzip_if_the_header_names_gzip_with_a_weight(header: str, accepts: bool) -> None:
    assert accepts_gzip(Headers({"Accept-Encoding": header})) is accepts


def test_tools_pages_and_files_are_sent_in_an_encoding_that_the_client_accepts(services: FakeServices) -> None:
    with TestClient(mcp_app(services)) as client:
        for header, encoding in [("gzip;q=0", None), ("br, gzip;q=0.5", "gzip")]:
            accept = {"Accept-Encoding": header}
            for answer in (
                post(client, LIST, **accept),
                client.get("/", headers=accept),
                client.get(f"/console/{site.digest()}/app.js", headers=accept),
            ):
                assert answer.status_code == 200
                assert answer.headers.get("content-encoding") == encoding
                assert "Accept-Encoding" in answer.headers["vary"]


def test_several_headers_count_as_one_list() -> None:
    assert accepts_gzip(Headers(raw=[(b"accept-encoding", b"br"), (b"accept-encoding", b"gzip")]))
    assert not accepts_gzip(Headers(raw=[(b"accept-encoding", b"gzip;q=0"), (b"accept-encoding", b"*")]))
    assert not accepts_gzip(Headers({}))


CHUNK = b" " * 1024 * 1024


@pytest.mark.parametrize("mebibytes", [5, 33, 60, 500])
def test_a_body_that_is_too_large_is_read_to_its_end(mebibytes: int) -> None:
    """A client that reads the response only after it has sent the body would get a connection reset instead."""
    messages: list[Message] = [
        {"type": "http.request", "body": CHUNK, "more_body": left > 0} for left in range(mebibytes)
    ]

    async def receive() -> Message:
        return messages.pop()

    assert asyncio.run(bodies.read(receive)) is None
    assert messages == []
