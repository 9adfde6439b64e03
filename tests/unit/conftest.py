"""Unit tests reach no network. Event loops and the embedded PostgreSQL use Unix sockets."""

from collections.abc import Iterator

import pytest
from pytest_socket import disable_socket, enable_socket


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    """Raise an error if a unit test opens a socket other than a Unix socket."""
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()
