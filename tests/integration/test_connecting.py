"""Connections that cannot be opened, or that the server ends before they are open."""

import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.cli.local.postgres import OWNER, EmbeddedPostgres
from mnemosyne.errors import Unavailable


def _listening(directory: Path, *, unix: bool) -> tuple[socket.socket, str]:
    """Return a listening socket, and the database URL with which a client connects to it."""
    if unix:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(f"{directory}/.s.PGSQL.5432")
        server.listen()
        return server, f"postgresql://u@/d?host={directory}"
    server = socket.create_server(("127.0.0.1", 0))
    return server, f"postgresql://u@127.0.0.1:{server.getsockname()[1]}/d"


@pytest.fixture(params=[True, False], ids=["Unix socket", "TCP"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    server, url = _listening(tmp_path, unix=request.param)
    with closing(server):
        yield server, url


def _answer(server: socket.socket, replies: list[bytes]) -> None:
    """Accept a connection, send each reply after a message of the client, and close the connection.

    After the last reply, the client cannot write.
    """
    connection, _ = server.accept()
    with closing(connection):
        for number, reply in enumerate(replies, 1):
            connection.recv(4096)
            if number == len(replies):
                connection.shutdown(socket.SHUT_RD)
            connection.sendall(reply)


def _open_files() -> Counter[str]:
    """Return the open files and sockets of this process.

    A closed descriptor's number is used again, but the target of a socket's descriptor has a unique number.
    """
    files: Counter[str] = Counter()
    for descriptor in Path("/dev/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor with which iterdir reads the directory
            files[str(descriptor.readlink())] += 1
    return files


def test_a_connection_to_a_unix_socket_loads_no_certificates(
    cluster: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssl, "create_default_context", None)
    connection_factory(cluster.url(OWNER))().close()


ERROR = b"SFATAL\0C57P03\0Mthe database system is starting up\0\0"


@pytest.mark.parametrize(
    "replies",
    [[], [b"N"], [b"N", b"R\0\0"], [b"N", b"E" + (4 + len(ERROR)).to_bytes(4, "big") + ERROR]],
    ids=["nothing", "no TLS", "half a message", "an error"],
)
def test_the_socket_is_closed_if_the_server_ends_the_connection_while_it_is_opened(
    address: tuple[socket.socket, str], replies: list[bytes]
) -> None:
    server, url = address
    if server.family == socket.AF_UNIX:  # the driver does not ask for TLS
        replies = [reply for reply in replies if reply != b"N"]
    answering = threading.Thread(target=_answer, args=(server, replies))
    before = _open_files()
    answering.start()
    with pytest.raises(Unavailable, match="the database") as refused:
        connection_factory(url)()
    answering.join()
    assert not _open_files() - before, "also while the error refers to the driver's objects"
    assert refused.value.__cause__ is not None


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("postgresql://u@127.0.0.1:9/d", "127.0.0.1, port 9: "),
        ("postgresql://u@/d?host=/nowhere", "/nowhere/.s.PGSQL.5432: "),
        ("postgresql://u@nowhere.invalid/d", "nowhere.invalid, port 5432: "),
    ],
)
def test_a_connection_that_cannot_be_opened_names_the_address(
    url: str, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(Unavailable) as refused:
        connection_factory(url)()
    assert f"cannot connect to {address}" in str(refused.value.__cause__)
    (record,) = (record for record in caplog.records if record.msg == "database_unreachable")
    assert vars(record)["fields"]["error"] == str(refused.value.__cause__)
    assert address not in str(refused.value), "callers do not see addresses"
