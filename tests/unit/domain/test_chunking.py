"""Chunks of long texts: their size, that no character is lost, and smaller chunks if the model refuses one."""

import re
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne.adapters.embedders.gemini import GeminiEmbedder
from mnemosyne.domain.chunking import SMALLEST_CHARACTERS, ChunkLimit, chunks, embed_whole
from mnemosyne.errors import InvalidRequest, TextTooLong
from tests.texts import TEXTS
from tests.tokenizers import ADDED, token_counts

TEXT = " ".join(f"Sentence number {n} says something of its own." for n in range(200))
INPUT_TOKENS = {"gemini-embedding-001": 2_048, "gemini-embedding-2": 8_192}
PREFIXES = {"gemini-embedding-001": "", "gemini-embedding-2": "title: none | text: "}


def missing_characters(text: str, parts: Sequence[str]) -> str:
    """Return the characters of the text that no chunk contains at the right position. White space does not count."""
    text, position, missing = re.sub(r"\s", "", text), 0, ""
    for chunk in (re.sub(r"\s", "", part) for part in parts):
        # A chunk repeats the end of the chunk before, so it may begin before that chunk ends, but not after its end.
        at = text.rfind(chunk, 0, position + len(chunk))
        if at < 0:
            at = text.index(chunk, position)
            missing += text[position:at]
        position = max(position, at + len(chunk))
    return missing + text[position:]


def test_a_short_text_is_one_chunk_and_unchanged() -> None:
    assert chunks("  two\nlines ", ChunkLimit(characters=100)) == ["  two\nlines "]


def test_no_chunk_exceeds_the_limit_and_each_ends_with_a_sentence() -> None:
    parts = chunks(TEXT, ChunkLimit(characters=500))
    assert max(map(len, parts)) <= 500
    assert all(chunk.endswith("own.") for chunk in parts)


@pytest.mark.parametrize(
    "sentence",
    [
        "यह एक वाक्य है जो कुछ कहता है। ", "هل هذه جملة تقول شيئا؟ ", "یہ ایک جملہ ہے جو کچھ کہتا ہے۔ ",
        "Սա նախադասություն է։ ", "ይህ አረፍተ ነገር ነው። ", "ဤသည်မှာ စာကြောင်းဖြစ်သည်။ ", "នេះ ជា ប្រយោគ។ ", "これは文です。",
        "「これは文です。」", "真的走了！？", "他说：“走吧。”", "¿Es esto una frase? ", "Это предложение… ",
    ],
)  # fmt: skip
def test_chunks_end_with_sentences_in_every_script(sentence: str) -> None:
    parts = chunks(sentence * 40, ChunkLimit(characters=200))
    assert len(parts) > 1
    assert {part[-1] for part in parts} == {sentence.strip()[-1]}
    assert {part[0] for part in parts} == {sentence[0]}


def test_a_chunk_is_a_part_of_the_text_as_it_is_written() -> None:
    text = TEXT.replace(". ", ".\n\n\t")
    assert all(chunk in text for chunk in chunks(text, ChunkLimit(characters=500)))


def test_adjacent_chunks_overlap_by_at_most_an_eighth() -> None:
    parts = chunks(TEXT, ChunkLimit(characters=500))
    for part, other in pairwise(parts):
        assert other.split(".")[0] in part
    assert sum(map(len, parts)) <= len(TEXT) * 8 / 7 + 500


@pytest.mark.parametrize("letters", ["今天天气很好，", "สวัสดีครับ", "မင်္ဂလာပါ", "👩‍💻🇩🇪", "abcdefg"])
def test_chunks_of_a_text_without_spaces_overlap(letters: str) -> None:
    text = "".join(Random(letters).choices(letters, k=2_000))
    parts = chunks(text, ChunkLimit(characters=320, tokens=900))
    for part, other in pairwise(parts):
        overlap = next(size for size in range(len(other), 0, -1) if part.endswith(other[:size]))
        assert 20 <= overlap <= 40
    assert missing_characters(text, parts) == ""


def test_a_sentence_longer_than_a_chunk_is_cut_between_words() -> None:
    parts = chunks("word " * 500, ChunkLimit(characters=100))
    assert all(set(chunk.split()) == {"word"} for chunk in parts)


@given(
    st.text(max_size=3000),
    st.integers(20, 400),
    st.none() | st.integers(20, 400),
)
def test_only_white_space_is_omitted_from_chunks(text: str, characters: int, tokens: int | None) -> None:
    limit = ChunkLimit(characters=characters, tokens=tokens)
    parts = chunks(text, limit)
    assert all(limit.share(chunk) <= 1 for chunk in parts)
    assert missing_characters(text, parts) == ""


def _check_chunks(text: str, model: str) -> None:
    text_chunks = chunks(text, GeminiEmbedder(model, 768).chunk_limit)
    assert missing_characters(text, text_chunks) == ""
    counts = token_counts([PREFIXES[model] + chunk for chunk in text_chunks])
    assert max(counts, default=0) + ADDED <= INPUT_TOKENS[model]


@pytest.mark.parametrize("model", INPUT_TOKENS)
@pytest.mark.parametrize("kind", TEXTS)
def test_each_chunk_fits_the_model_and_each_character_is_in_a_chunk(kind: str, model: str) -> None:
    _check_chunks(TEXTS[kind][-1](Random(model), 10_000), model)


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(TEXTS)), st.integers(0, 3), st.integers(1, 4_000)), min_size=1, max_size=6
    ),
    st.text(max_size=200),
    st.sampled_from(sorted(INPUT_TOKENS)),
    st.integers(0, 2**32),
)
def test_each_chunk_of_mixed_texts_fits_the_model(
    parts: list[tuple[str, int, int]], between: str, model: str, seed: int
) -> None:
    random = Random(seed)
    _check_chunks(between.join(TEXTS[kind][n % len(TEXTS[kind])](random, length) for kind, n, length in parts), model)


@pytest.mark.parametrize(("model", "least"), [("gemini-embedding-001", 3_400), ("gemini-embedding-2", 3_800)])
def test_english_prose_fills_chunks_of_about_four_thousand_characters(model: str, least: int) -> None:
    prose, shuffled, *_ = TEXTS["English"]
    for shape in (prose, shuffled):
        *full, _ = chunks(shape(Random(1), 20_000), GeminiEmbedder(model, 768).chunk_limit)
        assert min(map(len, full)) >= least
        assert max(map(len, full)) <= 4_000


class Model:
    """A model that refuses texts of more than `characters` characters, whatever the estimated number of tokens is.

    As the vector of a text, it returns the text.
    """

    def __init__(self, characters: int) -> None:
        self.characters = characters
        self.calls = 0

    def embed(self, texts: list[str]) -> list[str]:
        self.calls += 1
        if any(len(text) > self.characters for text in texts):
            raise TextTooLong("the input token count exceeds the maximum")
        return texts


@pytest.mark.parametrize("characters", [4_000, 1_999, 700, 120])
def test_a_text_that_the_model_rejects_as_too_long_is_embedded_in_smaller_chunks(characters: int) -> None:
    long, short = TEXT, "green tea"
    limit = ChunkLimit(characters=4_000, tokens=2_000)
    first, second, third = embed_whole([short, long, short], limit, Model(characters).embed)
    assert (first, third) == ([short], [short])
    assert missing_characters(long, second) == ""
    assert max(map(len, second)) <= characters


def test_texts_that_fit_the_model_are_embedded_in_one_call() -> None:
    model = Model(4_000)
    embed_whole([TEXT, "green tea", TEXT * 3], ChunkLimit(characters=4_000), model.embed)
    assert model.calls == 1


def test_one_text_too_long_among_a_hundred_costs_few_calls() -> None:
    model = Model(1_000)
    embedded = embed_whole(["green tea"] * 99 + [TEXT[:1_800]], ChunkLimit(characters=4_000), model.embed)
    assert [len(vectors) for vectors in embedded[:99]] == [1] * 99
    assert model.calls <= 20


def test_a_model_that_rejects_every_length_is_called_a_bounded_number_of_times() -> None:
    model = Model(SMALLEST_CHARACTERS // 4)
    with pytest.raises(InvalidRequest, match="exceeds the maximum"):
        embed_whole([TEXT], ChunkLimit(characters=4_000), model.embed)
    assert model.calls <= 10


def test_embedding_no_texts_returns_no_vectors() -> None:
    assert embed_whole([], ChunkLimit(characters=100), lambda texts: texts) == []
