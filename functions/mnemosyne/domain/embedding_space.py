"""Embedding spaces, and the providers of embedding models with the languages of these models. Pure.

Two embeddings can only be compared if they are in one space: from the same model of the same provider, with the same
dimension.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DIMENSIONS: Final = (128, 3072)
"""Smallest and largest dimension of Gemini's models. Terraform enforces the same limits."""


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
    """An embedding provider: its default model, and properties of its models. The module with the provider's name in
    `adapters/embedders` builds the embedder."""

    model: str
    """Default model."""
    dimension: int
    """Default dimension."""
    model_prefix: str
    """Prefix of the names of the provider's models."""
    is_fixed: bool = False
    """Whether the provider has only the default model, with only the default dimension."""
    is_local: bool = False
    """Whether the model runs in the processes of the Cloud Run functions, and not in another service."""
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
    """Return the provider whose `model_prefix` the model's name begins with; `otherwise` if there is none."""
    return next((name for name, provider in PROVIDERS.items() if model.startswith(provider.model_prefix)), otherwise)


def how_to_select(space: EmbeddingSpace) -> str:
    """Return the settings with which the functions use an embedding space, as an instruction to the operator."""
    provider = PROVIDERS.get(space.provider)
    if provider and provider.is_fixed:
        return (
            f"set MNEMOSYNE_EMBEDDER to {space.provider}, and remove MNEMOSYNE_EMBEDDING_MODEL and "
            "MNEMOSYNE_EMBEDDING_DIMENSION"
        )
    return (
        f"set embedding_model (MNEMOSYNE_EMBEDDING_MODEL) to {space.model} and embedding_dimension "
        f"(MNEMOSYNE_EMBEDDING_DIMENSION) to {space.dimension}, and run `make deploy`; without Terraform, also set "
        f"MNEMOSYNE_EMBEDDER to {space.provider}"
    )


NOTICEABLE: Final = 0.1
"""A warning is given if at least this fraction of the sampled memories is in languages that the embedder does not
know."""
LISTED_LANGUAGES: Final = 3
"""Maximum languages that a warning names."""
_MULTILINGUAL = PROVIDERS["multilingual"]
REMEDY: Final = (
    "on one machine, export the memories, and import them into a new directory of `mnemosyne dev --embedder "
    "multilingual --data-dir NEW`; otherwise run `mnemosyne reembed --model "
    f"{_MULTILINGUAL.model} --dimension {_MULTILINGUAL.dimension}`, or with a model of Gemini"
)
_NAMES: Final[Mapping[str, str]] = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "es": "Spanish", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi",
    "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish",
    "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Languages:
    """The detected languages of a query and of a sample of the stored memories, for `language_warning`.

    A language is an ISO 639-1 code. The code "und" means that a text is not in English, but its language could not be
    detected.
    """

    sampled: int
    memories: Mapping[str, int]
    """Number of memories of the sample in each language. Memories with too few words for a detection are left out."""
    query: str | None = None
    """Language of the query; None if the query has too few words to detect it."""


def known_languages(provider: str) -> frozenset[str] | None:
    """Return the languages that the provider's embedder knows, or None if it is multilingual."""
    return PROVIDERS[provider].languages if provider in PROVIDERS else None


def language_warning(languages: Languages, provider: str) -> str | None:
    """Return a warning if the provider's embedder does not know the language of the query or of many memories."""
    supported = known_languages(provider)
    if supported is None:
        return None
    limits = f"the embedder {provider} knows {', '.join(sorted(map(_language_name, supported)))} only"
    if languages.query is not None and languages.query not in supported:
        return f"{limits}, and the query is in {_language_name(languages.query)}"
    counts = {language: count for language, count in languages.memories.items() if language not in supported}
    share = sum(counts.values()) / max(languages.sampled, 1)
    if share < NOTICEABLE:
        return None
    names = [
        _language_name(language) for language in sorted(counts, key=lambda language: (-counts[language], language))
    ]
    listing = ", ".join(names[:LISTED_LANGUAGES]) + (" and others" if len(names) > LISTED_LANGUAGES else "")
    return f"{limits}, and {share:.0%} of the sampled memories are in {listing}"


def _language_name(language: str) -> str:
    return _NAMES.get(language, "another language")
