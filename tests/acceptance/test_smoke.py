"""The smoke test that follows a deployment, on a server of our own."""

import pytest

from mnemosyne.errors import MnemosyneError
from smoke import smoke
from tests.dev import DevServer


def test_a_server_that_remembers_passes_and_keeps_nothing_of_it(dev: DevServer) -> None:
    before = dev.call("memory_stats", {})["memories"]
    assert "found, forgotten" in smoke(dev.url)
    assert dev.call("memory_stats", {})["memories"] == before


def test_a_server_that_is_not_there_fails() -> None:
    with pytest.raises(MnemosyneError, match="cannot be reached"):
        smoke("http://127.0.0.1:9/mcp")
