"""The Gemini API's embedding endpoints over HTTP, with faults on demand."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from mnemosyne.ports import Vector
from tests.fakes import FakeEmbedder
from tests.fakes_wire.http import JsonServer
from tests.fakes_wire.metadata import TOKEN

Fault = Callable[["GeminiServer"], tuple[int, Any] | None]


class GeminiServer(JsonServer):
    """Embeds with the fake embedder's arithmetic, as the Gemini API and as Vertex AI.

    `fault` may answer a call instead.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.texts = 0
        self.requests: list[dict[str, Any]] = []
        self.fault: Fault | None = None
        self._lock = threading.Lock()

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        with self._lock:
            self.calls += 1
            self.requests.append(body)
        if self.fault is not None and (faulty := self.fault(self)) is not None:
            return faulty
        on_vertex = "/publishers/google/models/" in path
        if on_vertex and headers.get("authorization") != f"Bearer {TOKEN}":
            return error(401, "no such token")
        requests = body["requests"] if path.endswith(":batchEmbedContents") else [body]
        with self._lock:
            self.texts += len(requests)
        embeddings = [{"values": (3.0 * _vector(one)).tolist()} for one in requests]
        if on_vertex and path.endswith(":embedContent"):
            return 200, {"embedding": embeddings[0]}
        return 200, {"embeddings": embeddings}


def _vector(request: dict[str, Any]) -> Vector:
    embedder = FakeEmbedder()
    embedder.dimension = request.get("embedContentConfig", request)["outputDimensionality"]
    return embedder._embed(request["content"]["parts"][0]["text"])


def error(status: int, message: str = "as asked") -> tuple[int, Any]:
    """An error in the API's shape."""
    return status, {"error": {"code": status, "message": message, "status": "FAULT"}}
