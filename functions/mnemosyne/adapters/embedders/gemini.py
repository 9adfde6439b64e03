"""Gemini embeddings through google-genai: Vertex AI with default credentials, or the developer API with a key."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mnemosyne.domain.chunking import ChunkLimit, embed_whole
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.tokens import most_tokens
from mnemosyne.errors import InvalidRequest, Misconfigured, TextTooLong, Unavailable
from mnemosyne.observability import EventLog
from mnemosyne.ports import Vector

if TYPE_CHECKING:
    from google.genai.errors import APIError

    from mnemosyne.settings import Settings

log = EventLog(__name__)

CALL_TEXTS: Final = 100
"""Most texts of a call, by the developer API. Vertex AI takes 250."""
CALL_TOKENS: Final = 20_000
"""Most tokens of a call, by Vertex AI."""
CHUNK_CHARACTERS: Final = 4_000
"""About 700 tokens of English. Retrieval quality was measured with chunks of this size."""
RESERVED_TOKENS: Final = 48
"""Part of the model's input for the task prefix and for the tokens that the model adds itself."""
PROBE: Final = "memory"
"""Text that the service refuses only if it refuses every text."""
LONGEST_PROBED: Final = 200
"""Longer texts may really be too long for the model, and are split."""
TIMEOUT_MILLISECONDS = 15_000
ATTEMPTS = 3
RETRIED = [408, 429, 500, 502, 503, 504]

# Seen: "The input token count (25270) exceeds the maximum number of tokens allowed (2048).", "Request
# payload size exceeds the limit: 36000 bytes.", "... input is too long ...". The words change.
_TOO_LONG = re.compile(r"token|exceed|too (long|large)", re.I)
# Seen: "API key not valid.", "User location is not supported for the API use.", "Precondition check failed.",
# "Publisher Model ... is not supported in the embedContent API.". Such an answer says nothing about the text.
_NOT_THE_TEXT = re.compile(r"API key|User location|Precondition check|Publisher Model\b.*\bnot\b")


@dataclass(frozen=True)
class _Task:
    """Use of an embedding: the `task_type` of older models, and the prefix that newer models take in its place."""

    task_type: str
    prefix: str


_DOCUMENT: Final = _Task("RETRIEVAL_DOCUMENT", "title: none | text: ")
_QUERY: Final = _Task("RETRIEVAL_QUERY", "task: search result | query: ")


@dataclass(frozen=True)
class _Model:
    input_tokens: int
    has_prefixes: bool


def _model(name: str) -> _Model:
    """Return the properties of a model; unknown models have the smaller input of gemini-embedding-001."""
    return _Model(8_192, True) if name.startswith("gemini-embedding-2") else _Model(2_048, False)


@dataclass(frozen=True)
class VertexAi:
    """Project and location of the models. Empty: the project of the default credentials, the location `global`."""

    project: str = ""
    location: str = ""


def build(settings: "Settings", space: EmbeddingSpace) -> "GeminiEmbedder":
    """Build the embedder of an embedding space, on Vertex AI if the settings say so."""
    vertex = VertexAi(settings.google_cloud_project, settings.google_cloud_location)
    return GeminiEmbedder(space.model, space.dimension, vertex if settings.google_genai_use_vertexai else None)


class GeminiEmbedder:
    """The Embedder on the Gemini API.

    A call and its retries take at most about 50 seconds, less than the acknowledgement deadline of a push. A push whose
    texts need a call each may take longer; Pub/Sub then delivers it again.
    """

    lexical_weight = 0.4  # between the best value for meaning alone (.3) and the offline embedder's (.5)

    def __init__(self, model: str, dimension: int, vertex: VertexAi | None = None) -> None:
        self.model = model
        self.dimension = dimension
        self._properties = _model(model)
        self.chunk_limit = ChunkLimit(
            characters=CHUNK_CHARACTERS, tokens=self._properties.input_tokens - RESERVED_TOKENS
        )
        self._vertex = vertex
        self._one_by_one = False

    def for_namespace(self, namespace: str) -> "GeminiEmbedder":
        """Return itself: it learns nothing from the texts."""
        return self

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector per text, in order. Raises TextTooLong, InvalidRequest or Unavailable."""
        return self._embed_all(texts, _DOCUMENT)

    def embed_query(self, text: str) -> Vector:
        """Return the vector to search with, of a long query the mean of its chunks' vectors."""
        (vectors,) = embed_whole([text], self.chunk_limit, partial(self._embed_all, task=_QUERY))
        return _normalised(np.sum(vectors, axis=0))

    def _embed_all(self, texts: Sequence[str], task: _Task) -> list[Vector]:
        contents = [task.prefix + text for text in texts] if self._properties.has_prefixes else texts
        return [vector for call in _calls(contents) for vector in self._embed_call(call, task)]

    def _embed_call(self, texts: Sequence[str], task: _Task) -> list[Vector]:
        """Return the vectors of a call's texts, from more calls if the service does not take them in one.

        Some locations and models of Vertex AI take one text a call. The answer to a larger call says so in various
        ways, which cannot be told from the refusal of a text: so each text is sent alone before one is called invalid.
        """
        if len(texts) == 1:
            return [self._embed_one(texts[0], task)]
        if not self._one_by_one:
            try:
                return self._embed(texts, task)
            except TextTooLong:  # one of them is, or only all together
                middle = len(texts) // 2
                return [*self._embed_call(texts[:middle], task), *self._embed_call(texts[middle:], task)]
            except (InvalidRequest, _Unusable) as exc:
                log.warning("embedding_batch_refused", model=self.model, texts=len(texts), error=str(exc))
        vectors = [self._embed_one(text, task) for text in texts]
        self._one_by_one = True  # the service took every text alone, so it does not take several
        return vectors

    def _embed_one(self, text: str, task: _Task) -> Vector:
        """Return the vector of one text; raise InvalidRequest only if the service takes another text.

        A 400 may also concern the whole project, such as its billing or region. Then no text is at fault, and memories
        that were recorded as failed would be lost.
        """
        try:
            (vector,) = self._embed([text], task)
        except InvalidRequest as exc:
            if isinstance(exc, TextTooLong) and len(text) > LONGEST_PROBED:
                raise
            try:
                self._embed([PROBE], task)
            except InvalidRequest:
                raise _Unusable(f"{self.model} refuses every text {self._place}: {exc}; {self._advice}") from exc
            raise
        return vector

    @cached_property
    def _client(self) -> Any:
        # Kept, because the client closes its connections when it is collected.
        from google import genai
        from google.genai import types

        retry = types.HttpRetryOptions(
            attempts=ATTEMPTS, initial_delay=0.5, max_delay=4.0, exp_base=2.0, http_status_codes=RETRIED
        )
        options = types.HttpOptions(timeout=TIMEOUT_MILLISECONDS, retry_options=retry)
        try:
            if self._vertex is None:
                return genai.Client(vertexai=False, http_options=options)
            # Passed as arguments: the client ignores its own variables for them if a base URL is set.
            return genai.Client(
                vertexai=True,
                project=self._vertex.project or None,
                location=self._vertex.location or None,
                http_options=options,
            )
        except ValueError as exc:  # names the missing key, project or location
            raise Misconfigured(
                f"the Gemini client cannot be made: {exc} Set GEMINI_API_KEY, or GOOGLE_GENAI_USE_VERTEXAI=true with "
                "GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"
            ) from exc

    def _embed(self, texts: Sequence[str], task: _Task) -> list[Vector]:
        import httpx2
        from google.auth.exceptions import GoogleAuthError
        from google.genai import types
        from google.genai.errors import APIError

        # With gemini-embedding-2 a list of strings is one input with one embedding: googleapis/python-genai issue 2523.
        contents = [types.Content(parts=[types.Part(text=text)]) for text in texts]
        config = types.EmbedContentConfig(
            output_dimensionality=self.dimension,
            task_type=None if self._properties.has_prefixes else task.task_type,
            # The default cuts a long text silently. google-genai refuses the option for the developer API.
            auto_truncate=None if self._vertex is None else False,
        )
        try:
            answer = self._client.models.embed_content(model=self.model, contents=contents, config=config)
        except APIError as exc:
            if exc.code == 429:
                log.warning("embedding_throttled", model=self.model, texts=len(texts))
            raise self._error(exc) from exc
        except (httpx2.HTTPError, GoogleAuthError, OSError) as exc:
            raise Unavailable(f"the embedding service cannot be reached: {type(exc).__name__}: {exc}") from exc
        return self._vectors(answer, len(texts))

    def _error(self, error: "APIError") -> InvalidRequest | Unavailable:
        answered = f"the embedding service answered {error.code}: {error.message}"
        refused, message = error.code == 400, str(error.message)
        if error.code in (403, 404) or (refused and _NOT_THE_TEXT.search(message)):
            said = f"{self.model} cannot be used {self._place}: {answered}; {self._advice}"
            return Unavailable(said) if error.code == 403 else _Unusable(said)
        if error.code == 413 or (refused and _TOO_LONG.search(message)):
            return TextTooLong(answered)
        return InvalidRequest(answered) if refused else Unavailable(answered)

    @property
    def _place(self) -> str:
        return "with this API key" if self._vertex is None else f"at location {self._vertex.location or 'global'}"

    @property
    def _advice(self) -> str:
        if self._vertex is None:
            return "check GEMINI_API_KEY and MNEMOSYNE_EMBEDDING_MODEL"
        return (
            "set GOOGLE_CLOUD_LOCATION (embedding_location in Terraform) or MNEMOSYNE_EMBEDDING_MODEL (embedding_model)"
        )

    def _vectors(self, answer: Any, count: int) -> list[Vector]:
        """Return the vectors of an answer. Raises unless it has one usable vector per text, none of a cut text."""
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
        if any(embedding.statistics and embedding.statistics.truncated for embedding in embeddings):
            raise TextTooLong("the embedding service cut a text")
        return [_normalised(vector) for vector in vectors]  # only vectors of the full dimension come normalised


class _Unusable(Unavailable):
    """Raised when the model cannot be used in this way, whatever the text."""


def _normalised(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def _calls(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in calls within the service's limits."""
    call: list[str] = []
    filled = 0
    for text in texts:
        tokens = most_tokens(text)
        if call and (len(call) == CALL_TEXTS or filled + tokens > CALL_TOKENS):
            yield call
            call, filled = [], 0
        call.append(text)
        filled += tokens
    if call:
        yield call
