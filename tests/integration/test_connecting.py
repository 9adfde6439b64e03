"""Connections that the server ends before they are open."""

import gc
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.errors import Unavailable


def _listening(directory: Path, *, unix: bool) -> tuple[socket.socket, str]:
    """Return a listening socket and the database URL that leads to it."""
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
    """Accept a connection, send each reply after a message of the client, and close the connection."""
    connection, _ = server.accept()
    with closing(connection):
        for reply in replies:
            connection.recv(4096)
            connection.sendall(reply)


@pytest.mark.parametrize("replies", [[], [b"N"], [b"N", b"R\0\0"]], ids=["nothing", "no TLS", "half a message"])
def test_the_socket_is_closed_if_the_server_ends_the_connection_while_it_is_opened(
    address: tuple[socket.socket, str], replies: list[bytes]
) -> None:
    server, url = address
    answering = threading.Thread(target=_answer, args=(server, replies))
    answering.start()
    _refused(connection_factory(url))
    answering.join()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        gc.collect()


def _refused(connect: Callable[[], object]) -> None:
    with pytest.raises(Unavailable, match="the database"):
        connect()
