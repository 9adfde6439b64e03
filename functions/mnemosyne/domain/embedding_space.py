"""Which embeddings compare: those of one model at one dimension. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EmbeddingSpace:
    """A model and the length of its vectors."""

    model: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.model} at dimension {self.dimension}"
