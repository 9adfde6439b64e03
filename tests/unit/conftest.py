"""Unit tests reach no network. Event loops and the embedded PostgreSQL use Unix sockets."""

from collections.abc import Iterator

import pytest
from pytest_socket import disable_socket, enable_socket


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    """Any other socket that a unit test opens raises."""
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()
