"""Build the embedder of a provider.

Each provider has a module of its name in this package, with a function `build(settings, space)`. Only the module of the
chosen provider is imported, because the libraries are heavy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from mnemosyne.adapters.embedders.batching import MicroBatchingEmbedder
from mnemosyne.domain.embedding_space import PROVIDERS, EmbeddingSpace
from mnemosyne.errors import Misconfigured
from mnemosyne.ports.embedder import Embedder

if TYPE_CHECKING:
    from mnemosyne.settings import Settings


def build(settings: "Settings", space: EmbeddingSpace) -> Embedder:
    """Build the embedder of an embedding space.

    The embedder joins concurrent calls of `embed_documents` into fewer calls of the provider. Raises Misconfigured if
    the provider is unknown, or does not support the model or the dimension of the space.
    """
    provider = PROVIDERS.get(space.provider)
    if provider is None:
        raise Misconfigured(f"the embedder of {space} must be one of {', '.join(PROVIDERS)}, got {space.provider!r}")
    if provider.is_fixed and (space.model, space.dimension) != (provider.model, provider.dimension):
        raise Misconfigured(
            f"the embedder {space.provider} supports only {provider.model} at dimension {provider.dimension}, "
            f"not {space}"
        )
    embedder: Embedder = import_module(f"mnemosyne.adapters.embedders.{space.provider}").build(settings, space)
    return MicroBatchingEmbedder(embedder)
