"""Embedding spaces and providers. Pure.

Embeddings can be compared if they come from the same model of the same provider at the same dimension.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class EmbeddingSpace:
    """A provider, its model, and the length of the vectors."""

    provider: str
    model: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.model} at dimension {self.dimension}"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Provider of embeddings. The module of its name in `adapters/embedders` builds the embedder."""

    model: str
    """Default model."""
    dimension: int
    """Default dimension."""
    model_prefix: str
    """Beginning of the names of its models."""
    is_fixed: bool = False
    """Whether the default model and dimension are the only ones."""


PROVIDERS: Final[Mapping[str, Provider]] = {
    "gemini": Provider(model="gemini-embedding-2", dimension=768, model_prefix="gemini-"),
    "offline": Provider(model="wordllama-l2-supercat-256", dimension=256, model_prefix="wordllama-", is_fixed=True),
}


def provider_of(model: str, otherwise: str) -> str:
    """Return the provider of a model by the beginning of its name, `otherwise` if it matches none."""
    return next((name for name, one in PROVIDERS.items() if model.startswith(one.model_prefix)), otherwise)
