"""Find the words of a query in the hits, for clients that highlight them."""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from mnemosyne.domain.matches import (
    NormalText,
    Span,
    add_adjacent_characters,
    literal_spans,
    marked_spans,
    merge_spans,
    unseparated_parts,
    unseparated_spans,
)
from mnemosyne.domain.preview import is_given
from mnemosyne.domain.search import SearchMode
from mnemosyne.mcp.record import Matches, SearchHit

if TYPE_CHECKING:
    from mnemosyne.adapters.database.memories import MemoryStore

MARKED_CHARACTERS = 2_000
"""Length of the beginning of a query whose words are marked. Later words are not marked."""
LANGUAGE_CHARACTERS = 1_000
"""Length of the beginning of a text from which the database detects the language."""


def with_matches(
    hits: Sequence[SearchHit], query: str | None, mode: SearchMode, memories: "MemoryStore"
) -> list[SearchHit]:
    """Return the hits with the spans of the query's words and of their inflected forms.

    In mode exact, the spans are the occurrences of the query itself.
    """
    originals = [(hit.title, hit.content, hit.snippet or "") for hit in hits]
    if not query:
        spans: list[list[list[Span]]] = [[[], [], []] for _ in hits]
    elif mode is SearchMode.EXACT:
        texts = [[NormalText.of(text) for text in of_hit] for of_hit in originals]
        spans = [[text.original(literal_spans(query, text.text)) for text in of_hit] for of_hit in texts]
    else:
        beginning = query[:MARKED_CHARACTERS]
        # The database detects the language of a hit from the beginning of its text. Letters such as ß show the
        # language, but `of_words` replaces them. So the database gets the beginning with these letters as first text.
        beginnings = [NormalText.of(" ".join(of_hit)[:LANGUAGE_CHARACTERS]).text for of_hit in originals]
        texts = [[NormalText.of_words(text) for text in of_hit] for of_hit in originals]
        marked = memories.mark_words(
            beginning,
            [[first, *(text.text for text in of_hit)] for first, of_hit in zip(beginnings, texts, strict=True)],
        )
        plain_query, parts = NormalText.of_words(beginning).text, unseparated_parts(beginning)
        spans = [
            [
                merge_spans(
                    text.original(
                        [
                            *add_adjacent_characters(chain(*map(marked_spans, variants)), plain_query, text.text),
                            *unseparated_spans(parts, text.text),
                        ]
                    )
                )
                for text, variants in zip(of_hit, marked_texts, strict=True)
            ]
            for of_hit, (_, *marked_texts) in zip(texts, marked, strict=True)
        ]
    matches = [Matches(title=title, content=content, snippet=snippet) for title, content, snippet in spans]
    return [
        hit.model_copy(update={"matches": of_hit, "title_given": is_given(hit.title, hit.content)})
        for hit, of_hit in zip(hits, matches, strict=True)
    ]
