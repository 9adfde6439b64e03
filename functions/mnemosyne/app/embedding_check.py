"""Embed one word during a deployment. If that fails, the error names the variable to change.

Without this check, a region without the model, a restricted model or a missing right would be noticed only when
memories are not stored.
"""

import time
from typing import Final

from mnemosyne.adapters.embedders import registry
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import InvalidRequest, Misconfigured, Unavailable
from mnemosyne.observability import EventLog
from mnemosyne.settings import Settings

log = EventLog(__name__)

WORD: Final = "memory"
PATIENCE_SECONDS: Final = 240.0
"""How long to try. Google Cloud may take minutes to propagate a grant, or an API that the same apply enabled."""
PAUSE_SECONDS: Final = 10.0


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
            if time.monotonic() >= deadline:
                next_step = getattr(exc, "next_step", "") or "run `make deploy` again"
                cause, detail = getattr(exc, "cause", str(exc)), getattr(exc, "detail", "")
                raise Misconfigured(
                    f"{space.model} could not embed one word: {cause}", next_step=next_step, detail=detail
                ) from exc
            log.info("embedding_not_ready", error=str(exc))
            time.sleep(pause)
        else:
            return
