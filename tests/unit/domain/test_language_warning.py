"""A warning names the languages that the embedder does not know."""

from collections.abc import Mapping

import pytest

from mnemosyne.domain.embedding_space import Languages, language_warning

ENGLISH_ONLY = "the embedder offline knows English only, and "


@pytest.mark.parametrize(
    ("sampled", "memories", "query", "warning"),
    [
        (0, {}, None, None),
        (100, {"en": 100}, "en", None),
        (100, {"en": 60}, None, None),
        (100, {"en": 91, "de": 9}, "en", None),
        (100, {"en": 90, "de": 10}, "en", ENGLISH_ONLY + "10% of the sampled memories are in German"),
        (200, {"de": 30, "ja": 52}, None, ENGLISH_ONLY + "41% of the sampled memories are in Japanese, German"),
        (4, {"de": 1, "fr": 1, "it": 1, "es": 1}, None, ENGLISH_ONLY + "100% of the sampled memories are in "
         "German, Spanish, French and others"),
        (2, {"und": 1, "en": 1}, None, ENGLISH_ONLY + "50% of the sampled memories are in another language"),
        (100, {"en": 100}, "ru", ENGLISH_ONLY + "the query is in Russian"),
        (0, {}, "und", ENGLISH_ONLY + "the query is in another language"),
        (2, {"de": 2}, "fr", ENGLISH_ONLY + "the query is in French"),
    ],
)  # fmt: skip
def test_the_offline_embedder_knows_english(
    sampled: int, memories: Mapping[str, int], query: str | None, warning: str | None
) -> None:
    assert language_warning(Languages(sampled=sampled, memories=memories, query=query), "offline") == warning


@pytest.mark.parametrize("provider", ["gemini", "multilingual", "recorded"])
def test_other_embedders_know_many_languages(provider: str) -> None:
    assert language_warning(Languages(sampled=2, memories={"ja": 2}, query="ar"), provider) is None
