"""Google credentials for Vertex AI: tokens that are fetched, reused, refused or not answered."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mnemosyne.adapters.embedders import gemini_credentials
from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.adapters.embedders.gemini_errors import VertexAi
from mnemosyne.errors import Broken, Unavailable
from tests.fakes_wire.gemini import TOKEN_PATH, GeminiServer, service_account


class TokenServer(GeminiServer):
    """A Gemini server that also issues tokens. `token_fault` may answer a request for a token instead."""

    def __init__(self) -> None:
        super().__init__()
        self.token_requests = 0
        self.token_fault: Callable[[], tuple[int, Any]] | None = None

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        if path == TOKEN_PATH:
            self.token_requests += 1
            if self.token_fault:
                return self.token_fault()
        return super().answer(path, body, headers)

    def hang(self) -> tuple[int, Any]:
        self.released.wait(20)
        return 503, ""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenServer]:
    with TokenServer().serving() as server:
        (tmp_path / "key.json").write_text(json.dumps(service_account(server)))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", server.url)
        yield server


@pytest.fixture
def embedder(server: TokenServer) -> Iterator[GeminiEmbedder]:
    vertex = VertexAi("test-project", "europe-west1")
    embedder = GeminiEmbedder("gemini-embedding-2", 64, vertex, pause_seconds=0.01)
    yield embedder
    embedder._client.close()


def test_a_token_is_fetched_once(server: TokenServer, embedder: GeminiEmbedder) -> None:
    for _ in range(3):
        assert len(embedder.embed_documents(["tea", "cars"])) == 2
    assert server.token_requests == 1


def test_a_refused_account_is_reported_until_it_is_restored(server: TokenServer, embedder: GeminiEmbedder) -> None:
    server.token_fault = lambda: (400, {"error": "invalid_grant", "error_description": "account not found"})
    for _ in range(2):
        with pytest.raises(Broken, match=r"refuses this deployment's credentials.*account not found"):
            embedder.embed_query("tea")
    server.token_fault = None
    assert len(embedder.embed_query("tea")) == 64


def test_calls_do_not_wait_one_after_the_other_for_a_token(
    server: TokenServer, embedder: GeminiEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """google-auth would wait two minutes, and google-genai fetches the token under a lock."""
    monkeypatch.setattr(gemini_credentials, "TOKEN_SECONDS", 0.2)
    server.token_fault = server.hang

    def embed(_: int) -> None:
        with pytest.raises(Unavailable, match="cannot be reached"):
            embedder.embed_query("tea")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(embed, range(4)))
    assert server.token_requests == 1
    server.token_fault = None
    later = time.monotonic() + 2 * gemini_credentials.PAUSE_SECONDS
    monkeypatch.setattr(gemini_credentials, "time", SimpleNamespace(monotonic=lambda: later))
    assert len(embedder.embed_query("tea")) == 64
