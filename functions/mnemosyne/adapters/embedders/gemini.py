"""Gemini embeddings through google-genai: Vertex AI with default credentials, or an API key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import InvalidRequest, Misconfigured, Unavailable
from mnemosyne.observability import EventLog
from mnemosyne.ports import Vector

if TYPE_CHECKING:
    from mnemosyne.settings import Settings

log = EventLog(__name__)

CALL_TEXTS = 100
CALL_CHARACTERS = 60_000
"""Per call, at most: the developer API takes 100 texts, Vertex AI 20,000 tokens (three characters each, at least)."""
TIMEOUT_MILLISECONDS = 15_000
ATTEMPTS = 3
RETRIED = [408, 429, 500, 502, 503, 504]
MODELS_WITH_PREFIXES = ("gemini-embedding-2",)


@dataclass(frozen=True)
class VertexAi:
    """Where the models are used with default credentials; empty: as those say, and globally."""

    project: str = ""
    location: str = ""


def build(settings: "Settings", space: EmbeddingSpace) -> "GeminiEmbedder":
    """Build the embedder of that space, on Vertex AI where the settings say so."""
    vertex = VertexAi(settings.google_cloud_project, settings.google_cloud_location)
    return GeminiEmbedder(space.model, space.dimension, vertex if settings.google_genai_use_vertexai else None)


class GeminiEmbedder:
    """The Embedder on the Gemini API. Builds its one client on first use and keeps it: a collected client is closed.

    A call and its retries end within about 50 seconds, less than a push's acknowledgement deadline. Where each text has
    a call of its own, a push that is late for that reason is delivered again.
    """

    chunk_characters = 4_000
    lexical_weight = 0.4  # between what was best for meaning alone (.3) and for the offline embedder (.5)

    def __init__(self, model: str, dimension: int, vertex: VertexAi | None = None) -> None:
        self.model = model
        self.dimension = dimension
        self._vertex = vertex
        self._one_by_one = False
        self._prefixes = model.startswith(MODELS_WITH_PREFIXES)

    def for_namespace(self, namespace: str) -> "GeminiEmbedder":
        """Itself: it learns nothing of what it embeds."""
        return self

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector per text, in order; raises Unavailable, or InvalidRequest where the model refuses a text."""
        asked = [f"title: none | text: {text}" for text in texts] if self._prefixes else list(texts)
        return [vector for call in _calls(asked) for vector in self._embed_call(call, "RETRIEVAL_DOCUMENT")]

    def embed_query(self, text: str) -> Vector:
        """Return the vector to search with; raises Unavailable, or InvalidRequest."""
        asked = f"task: search result | query: {text}" if self._prefixes else text
        return self._embed([asked], "RETRIEVAL_QUERY")[0]

    def _embed_call(self, texts: Sequence[str], task: str) -> list[Vector]:
        """Return the vectors of some texts: together, or one by one where the service takes no more than one
        text a call.

        Vertex AI's documents say so of gemini-embedding-001, while its batches are reported to work:
        https://cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings. A refused batch says
        nothing of its texts: each is asked for before any is called unfit.
        """
        if len(texts) == 1 or not self._one_by_one:
            try:
                return self._embed(texts, task)
            except InvalidRequest as exc:
                if len(texts) == 1:
                    raise
                log.warning("embedding_batch_refused", model=self.model, texts=len(texts), error=str(exc))
        vectors = [self._embed([text], task)[0] for text in texts]
        self._one_by_one = True  # every text was fit, so it was the batch that was not
        return vectors

    @cached_property
    def _client(self) -> Any:
        from google import genai
        from google.genai import types

        retry = types.HttpRetryOptions(
            attempts=ATTEMPTS, initial_delay=0.5, max_delay=4.0, exp_base=2.0, http_status_codes=RETRIED
        )
        options = types.HttpOptions(timeout=TIMEOUT_MILLISECONDS, retry_options=retry)
        try:
            if self._vertex is None:
                return genai.Client(vertexai=False, http_options=options)
            # Said outright: from its own variables the client would not take them where it has a base URL.
            return genai.Client(
                vertexai=True,
                project=self._vertex.project or None,
                location=self._vertex.location or None,
                http_options=options,
            )
        except ValueError as exc:  # it lacks a key, a project or a location, and says which
            raise Misconfigured(
                f"the Gemini client cannot be made: {exc} Set GEMINI_API_KEY, or GOOGLE_GENAI_USE_VERTEXAI=true with "
                "GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"
            ) from exc

    def _embed(self, texts: Sequence[str], task: str) -> list[Vector]:
        import httpx2
        from google.auth.exceptions import GoogleAuthError
        from google.genai import types
        from google.genai.errors import APIError

        # A list of strings collapses into one embedding with gemini-embedding-2: googleapis/python-genai issue 2523.
        contents = [types.Content(parts=[types.Part(text=text)]) for text in texts]
        config = types.EmbedContentConfig(
            output_dimensionality=self.dimension, task_type=None if self._prefixes else task
        )
        try:
            answer = self._client.models.embed_content(model=self.model, contents=contents, config=config)
        except APIError as exc:
            if exc.code == 429:
                log.warning("embedding_throttled", model=self.model, texts=len(texts))
            said = f"the embedding service answered {exc.code}: {exc.message}"
            if exc.code == 400 and "API key" not in str(exc.message):
                raise InvalidRequest(said) from exc
            raise Unavailable(said) from exc
        except (httpx2.HTTPError, GoogleAuthError, OSError) as exc:
            raise Unavailable(f"the embedding service cannot be reached: {type(exc).__name__}: {exc}") from exc
        return self._vectors(answer, len(texts))

    def _vectors(self, answer: Any, count: int) -> list[Vector]:
        """Return the answer's vectors, checked: a wrong one stored would never be found, and never be noticed."""
        embeddings = answer.embeddings or []
        if len(embeddings) != count:
            raise Unavailable(f"the embedding service answered {len(embeddings)} vectors for {count} texts")
        vectors = [np.asarray(embedding.values or [], dtype=np.float32) for embedding in embeddings]
        for vector in vectors:
            if vector.shape != (self.dimension,):
                raise Unavailable(
                    f"the embedding service answered a vector of dimension {vector.size}, not {self.dimension}"
                )
            if not np.isfinite(vector).all() or not vector.any():
                raise Unavailable("the embedding service answered a vector that is not finite or zero")
        # Only the full dimension comes normalised.
        return [np.asarray(vector / np.linalg.norm(vector), dtype=np.float32) for vector in vectors]


def _calls(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in groups that one call takes."""
    call: list[str] = []
    size = 0
    for text in texts:
        if call and (len(call) == CALL_TEXTS or size + len(text) > CALL_CHARACTERS):
            yield call
            call, size = [], 0
        call.append(text)
        size += len(text)
    if call:
        yield call
