"""Confidence of a hit, from its cosine similarity and the share of the query's words that it contains."""

import pytest

from mnemosyne.domain.confidence import Confidence, confidence

OFFLINE = "wordllama-l2-supercat-256"
MULTILINGUAL = "multilingual-e5-small-q4"


@pytest.mark.parametrize(
    ("model", "cosine", "words", "expected"),
    [
        pytest.param(OFFLINE, 0.1, 0.1, Confidence.WEAK, id="neither close nor with its words"),
        pytest.param(OFFLINE, 0.5, 0.2, Confidence.RELATED, id="close, with few of its words"),
        pytest.param(OFFLINE, 0.2, 0.55, Confidence.RELATED, id="with its words, not close"),
        pytest.param(OFFLINE, 0.6, 0.8, Confidence.STRONG, id="close and with its words"),
        pytest.param(OFFLINE, 0.2, None, Confidence.WEAK, id="by meaning alone, far"),
        pytest.param(OFFLINE, 0.9, None, Confidence.STRONG, id="by meaning alone, close"),
        pytest.param(OFFLINE, None, 0.0, Confidence.WEAK, id="by words alone, without them"),
        pytest.param(OFFLINE, None, 1.0, Confidence.STRONG, id="by words alone, with all of them"),
        pytest.param(OFFLINE, None, None, Confidence.STRONG, id="contains the query literally"),
        pytest.param(MULTILINGUAL, 0.8, 0.1, Confidence.WEAK, id="multilingual, unrelated"),
        pytest.param(MULTILINGUAL, 0.83, 0.0, Confidence.RELATED, id="multilingual, in another language"),
        pytest.param(MULTILINGUAL, 0.8, 0.3, Confidence.RELATED, id="multilingual, with a few words"),
        pytest.param(MULTILINGUAL, 0.84, 0.5, Confidence.STRONG, id="multilingual, close and with its words"),
        pytest.param("a-new-model", 0.7, 0.0, Confidence.WEAK, id="unknown model, without the words"),
        pytest.param("a-new-model", 0.7, 0.9, Confidence.STRONG, id="unknown model, with the words"),
    ],
)
def test_a_hit_is_strong_related_or_weak(
    model: str, cosine: float | None, words: float | None, expected: Confidence
) -> None:
    assert confidence(model, cosine, words) is expected


@pytest.mark.parametrize(
    ("model", "cosine", "words", "expected"),
    [
        pytest.param(OFFLINE, 0.6, 0.6, (Confidence.STRONG, Confidence.RELATED), id="close and with its words"),
        pytest.param(OFFLINE, 0.2, 0.5, (Confidence.RELATED, Confidence.WEAK), id="not close"),
        pytest.param(OFFLINE, 0.7, 0.1, (Confidence.RELATED, Confidence.RELATED), id="close, with few of its words"),
        pytest.param(OFFLINE, None, 0.5, (Confidence.RELATED, Confidence.WEAK), id="by words alone"),
        pytest.param(OFFLINE, 0.5, None, (Confidence.STRONG, Confidence.STRONG), id="by meaning alone"),
        pytest.param("a-new-model", 0.6, 0.7, (Confidence.STRONG, Confidence.RELATED), id="unknown model"),
    ],
)
def test_a_hit_that_lacks_a_name_of_the_query_has_a_lower_share_of_its_words(
    model: str, cosine: float | None, words: float | None, expected: tuple[Confidence, Confidence]
) -> None:
    assert (confidence(model, cosine, words), confidence(model, cosine, words, lacks_name=True)) == expected


@pytest.mark.parametrize(
    ("confidence_", "minimum", "reached"),
    [
        (Confidence.WEAK, Confidence.WEAK, True),
        (Confidence.WEAK, Confidence.RELATED, False),
        (Confidence.RELATED, Confidence.RELATED, True),
        (Confidence.STRONG, Confidence.RELATED, True),
        (Confidence.RELATED, Confidence.STRONG, False),
    ],
)
def test_a_minimum_confidence_admits_itself_and_higher_ones(
    confidence_: Confidence, minimum: Confidence, reached: bool
) -> None:
    assert confidence_.at_least(minimum) is reached
