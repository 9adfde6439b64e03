"""Gemini embeddings through google-genai: Vertex AI with default credentials, or the developer API with a key."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemosyne.adapters import service_errors
from mnemosyne.adapters.embedders.gemini_calls import (
    DOCUMENTS_SECONDS,
    ONE_BY_ONE_SECONDS,
    calls,
    check_deadline,
    http_options,
    properties_of,
    repeat_if_broken_off,
    retry_options,
)
from mnemosyne.adapters.embedders.gemini_errors import INVALID_KEY, Explanations, UncertainCauseError, VertexAi
from mnemosyne.adapters.embedders.vector_cache import VectorCache
from mnemosyne.domain.chunking import ChunkLimit, embed_whole
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import InvalidRequest, ItemUnavailable, Misconfigured, MnemosyneError, ServiceError, TextTooLong
from mnemosyne.observability import EventLog, fault_fields
from mnemosyne.once import once
from mnemosyne.ports.embedder import Vector

if TYPE_CHECKING:
    from mnemosyne.settings import Settings

log = EventLog(__name__)

CHUNK_CHARACTERS: Final = 4_000
"""Maximum length of a chunk, about 700 tokens of English. Retrieval quality was measured with chunks of this size."""
RESERVED_TOKENS: Final = 48
"""Number of input tokens that are kept free for the task prefix, and for the tokens that the model adds itself."""
PROBE: Final = "memory"
"""Text of a probe: a call that finds out whether the service refuses every text."""
LONGEST_PROBED: Final = 200
"""Maximum characters of a text that is certainly not too long for the model. If the service calls such a text too long,
a probe finds out whether the service refuses every text. A longer text is split instead."""


@dataclass(frozen=True)
class _Task:
    """Purpose of an embedding: document or query. Older models get it as `task_type`, newer models as a text prefix."""

    task_type: str
    prefix: str
    attempts: int
    seconds: float
    """Timeout of an attempt, in seconds."""


_DOCUMENT: Final = _Task("RETRIEVAL_DOCUMENT", "title: none | text: ", attempts=3, seconds=12.0)
# The timeout of a query is short, because a search without the query's vector still finds memories by their words.
_QUERY: Final = _Task("RETRIEVAL_QUERY", "task: search result | query: ", attempts=2, seconds=5.0)


def build(settings: "Settings", space: EmbeddingSpace) -> "GeminiEmbedder":
    """Build the embedder of an embedding space, on Vertex AI if the settings say so."""
    vertex = VertexAi(settings.google_cloud_project, settings.google_cloud_location)
    return GeminiEmbedder(space.model, space.dimension, vertex if settings.google_genai_use_vertexai else None)


class GeminiEmbedder:
    """The Embedder on the Gemini API.

    A call to the API and its retries take at most about 40 seconds. After some errors, a probe (a call with another
    text) finds out whether the service refuses every text. A call and its probe take about 65 seconds, so they end
    before Pub/Sub would deliver the message again.

    If `embed_documents` fails or takes longer than DOCUMENTS_SECONDS, the finished vectors are cached for the next try.
    Each attempt of a call takes at most `longest_seconds`, or twice as long if the response arrives slowly. The pause
    before the first retry is between `pause_seconds` and twice as long.
    """

    # between 0.3, the best weight for queries by meaning, and 0.5, the weight of the offline embedder
    lexical_weight = 0.4

    def __init__(
        self,
        model: str,
        dimension: int,
        vertex: VertexAi | None = None,
        *,
        longest_seconds: float = 12.0,
        pause_seconds: float = 0.5,
    ) -> None:
        self.model = model
        self.dimension = dimension
        self._properties = properties_of(model)
        self.chunk_limit = ChunkLimit(
            characters=CHUNK_CHARACTERS, tokens=self._properties.input_tokens - RESERVED_TOKENS
        )
        self._vertex = vertex
        self._explanations = Explanations(model, dimension, vertex)
        self._longest_seconds = longest_seconds
        self._pause_seconds = pause_seconds
        self._one_by_one_until = 0.0
        self._vector_cache = VectorCache()

    def for_namespace(self, namespace: str) -> "GeminiEmbedder":
        """Return this embedder for every namespace: the vector of a text depends on that text only."""
        return self

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        contents = self._add_prefix(texts, _DOCUMENT)
        vectors = self._vector_cache.take(contents)
        try:
            self._embed_all(contents, _DOCUMENT, vectors, time.monotonic() + DOCUMENTS_SECONDS)
        except MnemosyneError:
            self._vector_cache.add(vectors)
            raise
        return [vectors[content] for content in contents]

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. The vector of a long query is the mean of its chunks' vectors."""
        (vectors,) = embed_whole([text], self.chunk_limit, self._embed_chunks_of_query)
        return _normalise(np.sum(vectors, axis=0))

    def _embed_chunks_of_query(self, texts: Sequence[str]) -> list[Vector]:
        contents, vectors = self._add_prefix(texts, _QUERY), dict[str, Vector]()
        self._embed_all(contents, _QUERY, vectors, math.inf)
        return [vectors[content] for content in contents]

    def _add_prefix(self, texts: Sequence[str], task: _Task) -> list[str]:
        return [task.prefix + text for text in texts] if self._properties.has_prefixes else list(texts)

    def _embed_all(self, contents: Sequence[str], task: _Task, vectors: dict[str, Vector], deadline: float) -> None:
        """Embed the texts that `vectors` lacks, and add them. Raises Unavailable if texts are left at the deadline."""
        missing = [content for content in contents if content not in vectors]
        for number, call in enumerate(calls(missing)):
            if number:
                check_deadline(deadline, len(vectors), len(contents))
            self._embed_call(call, task, vectors, deadline)

    def _embed_call(self, texts: Sequence[str], task: _Task, vectors: dict[str, Vector], deadline: float) -> None:
        """Add the vectors of a call's texts to `vectors`. If the service refuses the call, make several smaller calls.

        Some locations and models of Vertex AI take only one text per call. The error for more texts varies, and is
        sometimes the error for an invalid text. So each text is sent alone before any text is reported as invalid.
        """
        is_refused = False
        if len(texts) > 1 and time.monotonic() >= self._one_by_one_until:
            try:
                vectors.update(zip(texts, self._embed(texts, task), strict=True))
                return
            except TextTooLong:  # one text is too long, or the texts are too long in total
                middle = len(texts) // 2
                for half in (texts[:middle], texts[middle:]):
                    self._embed_call(half, task, vectors, deadline)
                return
            except UncertainCauseError as exc:
                if not exc.refuses:
                    self._probe(exc, task)
                    raise ItemUnavailable(str(exc)) from exc
                log.info("embedding_batch_refused", model=self.model, texts=len(texts), error=str(exc))
                is_refused = True
        for number, text in enumerate(texts):
            if number:
                check_deadline(deadline, number, len(texts))
            vectors[text] = self._embed_text(text, task)
        if is_refused:  # the service accepts each text alone but not several at once
            self._one_by_one_until = time.monotonic() + ONE_BY_ONE_SECONDS

    def _embed_text(self, text: str, task: _Task) -> Vector:
        """Return the vector of one text. An error counts as the text's fault only if the service embeds another text.

        A status 400 may concern the whole project, such as its billing. If this text were then rejected, its memory
        would be lost. A status 500 may concern this text only. If it counted as temporary, retries would never end.
        """
        try:
            (vector,) = self._embed([text], task)
        except TextTooLong as exc:
            if len(text) <= LONGEST_PROBED:
                self._probe(exc, task)
            raise
        except UncertainCauseError as exc:
            self._probe(exc, task)
            try:  # try again, because the service may have recovered just before the probe
                (vector,) = self._embed([text], task, attempts=1)
            except UncertainCauseError as again:
                raise (InvalidRequest if again.refuses else ItemUnavailable)(str(again)) from again
        return vector

    def _probe(self, exc: UncertainCauseError | TextTooLong, task: _Task) -> None:
        """Find out whether an error concerns all texts, by embedding another text. If so, raise the error."""
        if isinstance(exc, UncertainCauseError) and (exc.concerns_all or (task is _QUERY and not exc.refuses)):
            raise exc.error from exc
        try:
            self._embed([PROBE], task, attempts=1)
        except UncertainCauseError as probe:
            raise probe.error from probe
        except TextTooLong as probe:
            raise self._explanations.error(400, str(probe)) from probe

    @once
    def _client(self) -> Any:
        # cached, because the client closes its connections when it is garbage-collected
        from google import genai

        options = http_options(self._longest_seconds)
        try:
            if self._vertex is None:
                return genai.Client(vertexai=False, http_options=options)
            from mnemosyne.adapters.embedders.gemini_credentials import TimeLimitedCredentials

            # Pass project and location: the client ignores their environment variables if a base URL is set.
            return genai.Client(
                vertexai=True,
                credentials=TimeLimitedCredentials() if self._vertex.project else None,
                project=self._vertex.project or None,
                location=self._vertex.location or None,
                http_options=options,
            )
        except ValueError as exc:  # the key, project or location is missing, and the message says which one
            raise Misconfigured(
                "the Gemini client cannot be created",
                next_step="set GEMINI_API_KEY, or GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_CLOUD_PROJECT and "
                "GOOGLE_CLOUD_LOCATION",
                detail=str(exc),
            ) from exc

    def _embed(self, texts: Sequence[str], task: _Task, attempts: int | None = None) -> list[Vector]:
        import httpx2
        from google.auth.exceptions import GoogleAuthError
        from google.genai import types
        from google.genai.errors import APIError

        # With gemini-embedding-2 a list of strings is one input with one embedding: googleapis/python-genai issue 2523.
        contents = [types.Content(parts=[types.Part(text=text)]) for text in texts]
        config = types.EmbedContentConfig(
            output_dimensionality=self.dimension,
            task_type=None if self._properties.has_prefixes else task.task_type,
            # By default, Vertex AI silently cuts long texts. google-genai refuses auto_truncate for the developer API.
            auto_truncate=None if self._vertex is None else False,
            http_options=types.HttpOptions(
                timeout=int(min(task.seconds, self._longest_seconds) * 1000),
                retry_options=retry_options(attempts or task.attempts, self._pause_seconds),
            ),
        )
        try:
            answer = repeat_if_broken_off(
                lambda: self._client.models.embed_content(model=self.model, contents=contents, config=config)
            )
        except APIError as exc:
            error = self._explanations.api_error(exc)
            if exc.code == 429:
                self._log_throttled(len(texts), error)
            raise error from exc
        except httpx2.ReadTimeout as exc:
            raise self._explanations.uncertain_cause(service_errors.UNREACHABLE, "no answer in time") from exc
        except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError) as exc:
            message = f"the connection broke off ({type(exc).__name__}: {exc})"
            raise self._explanations.uncertain_cause(service_errors.UNREACHABLE, message) from exc
        except (UnicodeEncodeError, httpx2.LocalProtocolError) as exc:  # `exc` quotes the key
            raise self._explanations.error(service_errors.CREDENTIALS, INVALID_KEY) from exc
        except GoogleAuthError as exc:
            raise self._explanations.error(*service_errors.google_code(exc)) from exc
        except (httpx2.DecodingError, ValueError, TypeError, AttributeError, LookupError, RecursionError) as exc:
            raise self._unusable_answer(f"no embeddings ({type(exc).__name__})") from exc  # the response is invalid
        except (httpx2.HTTPError, OSError) as exc:
            raise self._explanations.error(*service_errors.google_code(exc)) from exc
        return self._read_vectors(answer, len(texts))

    def _log_throttled(self, texts: int, error: Exception) -> None:
        about = fault_fields(error) if isinstance(error, ServiceError) else {}
        log.warning("embedding_throttled", model=self.model, texts=texts, **about)

    def _unusable_answer(self, answer: str) -> UncertainCauseError:
        return self._explanations.uncertain_cause(service_errors.UNUSABLE, f"the embedding service returned {answer}")

    def _read_vectors(self, answer: Any, count: int) -> list[Vector]:
        """Return the vectors in an answer. Raises an error if a vector is missing or unusable, or if a text was cut."""
        embeddings = answer.embeddings or []
        if len(embeddings) != count:
            raise self._unusable_answer(f"{len(embeddings)} vectors for {count} texts")
        vectors = [np.asarray(embedding.values or [], dtype=np.float64) for embedding in embeddings]
        for vector in vectors:
            if not np.isfinite(vector).all() or not vector.any():
                raise self._unusable_answer("a vector that is empty, not finite or zero")
            if vector.shape != (self.dimension,):
                message = f"the embedding service returned a vector of dimension {vector.size}, not {self.dimension}"
                raise self._explanations.error(service_errors.DIMENSION, message)
        if any(embedding.statistics and embedding.statistics.truncated for embedding in embeddings):
            raise TextTooLong("the embedding service cut a text")
        return [_normalise(vector) for vector in vectors]  # the API normalises only vectors of full dimension


def _normalise(vector: NDArray[np.floating[Any]]) -> Vector:
    scaled = vector / np.abs(vector).max()  # otherwise the squares in the norm could be infinite or zero
    return np.asarray(scaled / np.linalg.norm(scaled), dtype=np.float32)
