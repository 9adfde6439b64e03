"""Embedding spaces and providers of embeddings. Pure.

Two embeddings can only be compared if they are in one space: from the same model of the same provider, with the same
dimension.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class EmbeddingSpace:
    """Provider, model and dimension of embeddings."""

    provider: str
    model: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.model} at dimension {self.dimension}"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Defaults of an embedding provider. The module of the same name in `adapters/embedders` builds its embedder."""

    model: str
    """Default model."""
    dimension: int
    """Default dimension."""
    model_prefix: str
    """Prefix of the names of the provider's models."""
    is_fixed: bool = False
    """Whether the provider has no other model and dimension than the default."""
    is_local: bool = False
    """Whether the model runs in the functions' own processes."""
    languages: frozenset[str] | None = None
    """ISO 639-1 codes of the languages that the models know; None for multilingual models."""


PROVIDERS: Final[Mapping[str, Provider]] = {
    "gemini": Provider(model="gemini-embedding-2", dimension=768, model_prefix="gemini-"),
    "offline": Provider(
        model="wordllama-l2-supercat-256",
        dimension=256,
        model_prefix="wordllama-",
        is_fixed=True,
        is_local=True,
        languages=frozenset({"en"}),
    ),
    "multilingual": Provider(
        model="multilingual-e5-small-q4", dimension=384, model_prefix="multilingual-e5-", is_fixed=True, is_local=True
    ),
}


def provider_of(model: str, otherwise: str) -> str:
    """Return the provider whose prefix the model's name begins with; `otherwise` if there is none."""
    return next((name for name, provider in PROVIDERS.items() if model.startswith(provider.model_prefix)), otherwise)
