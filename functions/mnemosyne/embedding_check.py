"""Embed one word during a deployment, and say which variable to change if that fails.

A region without the model, a restricted model or a missing right is otherwise noticed only when nothing is stored.
"""

import re
import time
from typing import TYPE_CHECKING, Final

from mnemosyne.adapters.embedders import registry
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import InvalidRequest, Misconfigured, Unavailable
from mnemosyne.observability import EventLog
from mnemosyne.settings import Settings

if TYPE_CHECKING:
    from google.genai.errors import APIError

log = EventLog(__name__)

WORD: Final = "memory"
PATIENCE_SECONDS: Final = 240.0
"""A grant or an API that was enabled in the same apply takes up to some minutes to be known everywhere."""
PAUSE_SECONDS: Final = 10.0
_UNPLACED = re.compile(r"not (found|supported|available|offered)|unsupported|unavailable in|precondition", re.I)
_DIMENSION = re.compile(r"dimension", re.I)
_DISABLED = re.compile(r"has not been used|is disabled|SERVICE_DISABLED|not enabled", re.I)
_RESTRICTED = re.compile(r"legacy|restricted|allow-?list|deprecated|no longer|new (project|customer|user)s?", re.I)
_KEY = re.compile(r"API[ _]key", re.I)


def check_embedding(
    settings: Settings, space: EmbeddingSpace, *, patience: float = PATIENCE_SECONDS, pause: float = PAUSE_SECONDS
) -> None:
    """Embed one word in an embedding space. Raises Misconfigured with the variable to change."""
    embedder = registry.build(settings, space)
    deadline = time.monotonic() + patience
    while True:
        try:
            embedder.embed_query(WORD)
        except (InvalidRequest, Unavailable) as exc:
            if not _may_pass(exc) or time.monotonic() >= deadline:
                raise Misconfigured(_explanation(exc, settings, space)) from exc
            log.warning("embedding_not_ready", error=str(exc))
            time.sleep(pause)
        else:
            return


def _may_pass(exc: Exception) -> bool:
    """Whether the same call may succeed within some minutes. The wrong dimension has no cause and does not pass."""
    answer = _answer(exc)
    return exc.__cause__ is not None if answer is None else answer.code in (403, 408, 429) or answer.code >= 500


def _answer(exc: BaseException | None) -> "APIError | None":
    """The embedding service's answer that caused an error; None if there was none."""
    from google.genai.errors import APIError

    while exc is not None and not isinstance(exc, APIError):
        exc = exc.__cause__
    return exc


def _explanation(exc: Exception, settings: Settings, space: EmbeddingSpace) -> str:
    answer, model = _answer(exc), space.model
    code, said = (None, str(exc)) if answer is None else (answer.code, f"{answer.code}: {answer.message}")
    if settings.google_genai_use_vertexai:
        location, api = settings.google_cloud_location or "global", "aiplatform.googleapis.com"
        where, elsewhere = f"at {location}", "set embedding_location to eu, us, global or a region that offers it, or "
        rights = "grant this service account roles/aiplatform.user"
    else:
        where, elsewhere, api = "with this API key", "", "generativelanguage.googleapis.com"
        rights = "allow the key to call the Gemini API"
    another = "embedding_model to another model" if elsewhere else "set embedding_model to another model"
    if _DIMENSION.search(said) and code in (None, 400):
        reason = f"the model {model} makes no vectors of dimension {space.dimension}: set embedding_dimension"
    elif code == 401 or (code in (400, 403) and _KEY.search(said)):
        reason = f"the Gemini API refuses the API key: put a valid key into gemini_api_key_secret, or {rights}"
    elif code == 400 and re.search("user location", said, re.I):
        reason = (
            f"the model {model} is not available at the location of this caller: {elsewhere}{another}, or leave "
            "gemini_api_key_secret empty to use Vertex AI"
        )
    elif code == 404 or (code == 400 and _UNPLACED.search(said)):
        reason = f"the model {model} is not available {where}: {elsewhere}{another}"
    elif code == 403 and _DISABLED.search(said):
        reason = f"the embedding API is not enabled in project {settings.google_cloud_project}: enable {api}"
    elif code == 403 and _RESTRICTED.search(said):
        reason = f"the model {model} is restricted in this project: set embedding_model to another model"
    elif code == 403:
        reason = f"the model {model} may not be used {where}: {rights}, or set embedding_model to another model"
    elif code == 429:
        reason = f"the quota of {model} {where} is used up or zero: request more, or {elsewhere}{another}"
    else:
        reason = f"one word could not be embedded by {model} {where}: apply again"
    return f"{reason} ({said})"
