"""Unit tests touch no network."""

import pytest


@pytest.fixture(autouse=True)
def _no_network(socket_disabled: None) -> None:
    """Any socket opened by a unit test raises."""
