"""The embedding endpoints of the Gemini developer API and of Vertex AI over HTTP, with faults on demand."""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.fakes import FakeEmbedder
from tests.fakes_wire.http import JsonServer
from tests.fakes_wire.metadata import TOKEN
from tests.tokenizers import token_counts

Fault = Callable[["GeminiServer"], tuple[int, Any] | None]

INPUT_TOKENS = {"gemini-embedding-001": 2_048, "gemini-embedding-2": 8_192}
FULL_DIMENSION = 3_072
TOKEN_PATH = "/token"
VERTEX_CALL_TOKENS = 20_000
_DEVELOPER = re.compile(r"/v1\w*/models/(?P<model>[^/:]+):batchEmbedContents")
_VERTEX = re.compile(
    r"/v1\w*/projects/[^/]+/locations/[^/]+/publishers/google/models/(?P<model>[^/:]+):(batchE|e)mbedContents?"
)


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text.

    If all texts together are short, return the number of their bytes instead, to save time. It is an upper bound.
    """
    sizes = [len(text.encode()) for text in texts]
    return sizes if sum(sizes) <= min(INPUT_TOKENS.values()) else token_counts(texts)


class GeminiServer(JsonServer):
    """Returns the vectors of the fake embedder. Ignores the part of a text beyond the model's input limit.

    If `fault` is set, it is called for each call, and can answer instead. `tokens` counts the tokens of texts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.texts = 0
        self.paths: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.embedded: list[str] = []
        """The embedded texts. Of each text, only the part that the model has read."""
        self.fault: Fault | None = None
        self.tokens: Callable[[Sequence[str]], list[int]] = count_tokens
        self._current = threading.local()
        self._lock = threading.Lock()

    @property
    def body(self) -> str:
        """The body of the request that the current thread answers."""
        return str(self._current.body)

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        if path == TOKEN_PATH:
            return 200, {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}
        self._current.body = body
        with self._lock:
            self.calls += 1
            self.paths.append(path)
            self.requests.append(body)
        if self.fault is not None and (faulty := self.fault(self)) is not None:
            return faulty
        on_vertex = _VERTEX.fullmatch(path)
        match = on_vertex or _DEVELOPER.fullmatch(path)
        if match is None:
            return error(404, f"no such method: {path}")
        model = match["model"]
        if model not in INPUT_TOKENS:
            return error(404, f"models/{model} is not found for API version v1beta")
        if on_vertex and headers.get("authorization") != f"Bearer {TOKEN}":
            return error(401, "no such token")
        requests = body.get("requests", [body])
        texts = ["".join(part["text"] for part in request["content"]["parts"]) for request in requests]
        configs = [request.get("embedContentConfig", {}) if on_vertex else request for request in requests]
        if refused := self._refused(texts, configs, INPUT_TOKENS[model], vertex=on_vertex is not None):
            return error(400, refused)
        return 200, self._embeddings(texts, configs, INPUT_TOKENS[model], "requests" in body)

    def _refused(self, texts: list[str], configs: list[Any], limit: int, *, vertex: bool) -> str | None:
        if not vertex:
            if any("autoTruncate" in config for config in configs):
                return 'Invalid JSON payload received. Unknown name "autoTruncate"'
            too_many = len(texts) > 100
            return (
                "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch" if too_many else None
            )
        counts = self.tokens(texts)
        cut = [count for count, config in zip(counts, configs, strict=True) if not config.get("autoTruncate", True)]
        for count, most in [(sum(counts), VERTEX_CALL_TOKENS), (max(cut, default=0), limit)]:
            if count > most:
                return f"The input token count ({count}) exceeds the maximum number of tokens allowed ({most})."
        return None

    def _embeddings(self, texts: list[str], configs: list[Any], limit: int, several: bool) -> dict[str, Any]:
        read = [self._read(text, count, limit) for text, count in zip(texts, self.tokens(texts), strict=True)]
        with self._lock:
            self.texts += len(texts)
            self.embedded += read
        embeddings = [
            _embedding(text, config["outputDimensionality"]) for text, config in zip(read, configs, strict=True)
        ]
        return {"embeddings": embeddings} if several else {"embedding": embeddings[0], "truncated": read != texts}

    def _read(self, text: str, count: int, limit: int) -> str:
        while count > limit:
            text = text[: min(len(text) - 1, len(text) * limit // count)]
            (count,) = self.tokens([text])
        return text


def _embedding(text: str, dimension: int) -> dict[str, Any]:
    embedder = FakeEmbedder()
    embedder.dimension = dimension
    vector = embedder._embed(text)
    return {"values": (vector if dimension == FULL_DIMENSION else np.float32(3) * vector).tolist()}


@cache
def _private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # short, so that reading it is fast
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def service_account(server: GeminiServer) -> dict[str, str]:
    """The key file of a service account whose tokens this server issues and accepts."""
    return {
        "type": "service_account",
        "client_email": "test@test-project.iam.gserviceaccount.com",
        "private_key": _private_key(),
        "token_uri": server.url + TOKEN_PATH,
    }


def error(status: int, message: str = "as asked") -> tuple[int, Any]:
    """An error in the format of the API."""
    return status, {"error": {"code": status, "message": message, "status": "FAULT"}}
