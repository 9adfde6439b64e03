"""Which embeddings compare: those of one provider's model at one dimension. And the providers there are. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class EmbeddingSpace:
    """A provider, its model, and the length of the model's vectors."""

    provider: str
    model: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.model} at dimension {self.dimension}"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Who makes embeddings: the module of that name in `adapters/embedders` builds its embedder."""

    model: str
    """The model used where none is named."""
    dimension: int
    """The dimension used where none is set."""
    model_prefix: str
    """How the names of its models begin."""
    is_fixed: bool = False
    """Whether that model at that dimension is all there is."""


PROVIDERS: Final[Mapping[str, Provider]] = {
    "gemini": Provider(model="gemini-embedding-2", dimension=768, model_prefix="gemini-"),
    "offline": Provider(model="wordllama-l2-supercat-256", dimension=256, model_prefix="wordllama-", is_fixed=True),
}


def provider_of(model: str, otherwise: str) -> str:
    """Return the provider whose models' names begin as that one's does; `otherwise` where none does."""
    return next((name for name, one in PROVIDERS.items() if model.startswith(one.model_prefix)), otherwise)
