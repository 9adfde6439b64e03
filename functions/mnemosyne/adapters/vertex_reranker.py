"""The reranker on Vertex AI's ranking API: https://cloud.google.com/generative-ai-app-builder/docs/ranking.

The query and the beginnings of the results are sent to the API's global endpoint, because it has no regional endpoints.
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

from mnemosyne.adapters import service_error_tables, service_errors
from mnemosyne.errors import MnemosyneError, Unavailable

if TYPE_CHECKING:
    from google.cloud.discoveryengine_v1 import RankServiceClient

DEADLINE_SECONDS = 0.3
"""Timeout of a request, in seconds. After the timeout, the search returns its results in the original order."""
CHECK_SECONDS = 20.0
"""Timeout of the check for `doctor`, in seconds. The check also imports the client, which takes several seconds."""


def _open_client() -> "RankServiceClient":
    from google.cloud.discoveryengine_v1 import RankServiceClient

    return RankServiceClient()


class VertexReranker:
    """The Reranker on the ranking API. It raises Unavailable until a background thread has loaded its client."""

    def __init__(self, project: str, model: str, connect: "Callable[[], RankServiceClient]" = _open_client) -> None:
        self._ranking_config = f"projects/{project}/locations/global/rankingConfigs/default_ranking_config"
        self._model = model
        self._connect = connect
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="reranker")
        self._lock = Lock()
        self._loading = self._threads.submit(self._load_client)

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return self._score(query, texts, DEADLINE_SECONDS)

    def check(self) -> str:
        """Call the model once, and describe it for `doctor`. Raises a ServiceError if the model cannot be used."""
        self._score("Is anyone there?", ["Yes."], CHECK_SECONDS)
        return f"{self._model} orders the results"

    def _score(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
        until = time.monotonic() + seconds
        try:
            client = self._client().result(seconds)
        except TimeoutError:
            raise Unavailable(
                "the client of the ranking API is still loading: searches are not reranked until it has loaded"
            ) from None
        # Import these modules only now, when the client is loaded. Until then, another thread imports the same modules
        # for the client. An import in this thread would wait for the other thread, without a timeout.
        from google.api_core.exceptions import GoogleAPICallError
        from google.auth.exceptions import GoogleAuthError

        request = {
            "ranking_config": self._ranking_config,
            "model": self._model,
            "query": query,
            "records": [{"id": str(place), "content": text} for place, text in enumerate(texts)],
            "ignore_record_details_in_response": True,
        }
        try:
            answer = client.rank(request=request, retry=None, timeout=max(0.0, until - time.monotonic()))
        except (GoogleAPICallError, GoogleAuthError) as exc:
            raise self._translate_error(exc) from exc
        return _order_scores({record.id: record.score for record in answer.records}, len(texts))

    def _client(self) -> "Future[RankServiceClient]":
        """Return a Future for the client, which is loaded in a thread. If loading has failed, start it again."""
        with self._lock:
            if self._loading.done() and self._loading.exception():
                self._loading = self._threads.submit(self._load_client)
            return self._loading

    def _load_client(self) -> "RankServiceClient":
        from google.auth.exceptions import GoogleAuthError

        try:
            return self._connect()
        except GoogleAuthError as exc:
            raise self._translate_error(exc) from exc

    def _translate_error(self, exc: Exception) -> MnemosyneError:
        return service_errors.google_error(service_error_tables.RANKING, exc, model=self._model)


def _order_scores(scores: dict[str, float], count: int) -> list[float]:
    """Return the scores in the order of the texts; raises Unavailable if a score is missing or invalid."""
    relevances = [scores.get(str(place), math.nan) for place in range(count)]
    if not all(0 <= relevance <= 1 for relevance in relevances):
        raise Unavailable(f"the ranking API returned {len(scores)} scores for {count} texts, and not all are usable")
    return relevances
