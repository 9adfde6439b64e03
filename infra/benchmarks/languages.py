"""Measure searches in nine languages: recall@1 and recall@10, within a language and across languages.

`tests/data/languages` has thirty facts, each as a memory and as a question in other words, in every language. Within a
language, the questions in this language search only the memories in the same language. Across languages, the questions
search only the memories in the eight other languages. In this case, recall@1 of a question is 1 if the best hit
states the question's fact in any language, and recall@10 is the share of the fact's eight memories that are among the
ten best hits.

    python -m infra.benchmarks.languages [--embedder offline]
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from infra.benchmarks.collection import ROOT, Collection, Question
from infra.benchmarks.stored import Stored, opened_store
from mnemosyne.domain.search import SearchMode
from mnemosyne.ports.embedder import Embedder, Vector

DATA = ROOT / "tests" / "data" / "languages"
NAMES: Mapping[str, str] = {
    "en": "English", "de": "German", "it": "Italian", "es": "Spanish", "fr": "French", "ru": "Russian",
    "ja": "Japanese", "zh": "Chinese", "ar": "Arabic",
}  # fmt: skip
START = datetime(2026, 3, 1, tzinfo=UTC)
VARIANTS = ("words", "meaning", "hybrid")


@dataclass(frozen=True)
class Fact:
    """A fact in one language, as a memory and as a question."""

    number: int
    memory: str
    question: str


@dataclass(frozen=True)
class Recall:
    """Mean recall over the questions of a language."""

    at_1: float
    at_10: float

    def __str__(self) -> str:
        return f"{self.at_1:.2f} {self.at_10:.2f}"


def facts(language: str) -> list[Fact]:
    """Read the facts that are written in a language."""
    lines = (DATA / f"{language}.jsonl").read_text().splitlines()
    return [Fact(row["fact"], row["memory"], row["question"]) for row in map(json.loads, lines)]


class CachingEmbedder:
    """An embedder that embeds each text once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._documents: dict[str, Vector] = {}
        self._queries: dict[str, Vector] = {}
        self.model, self.dimension = embedder.model, embedder.dimension
        self.chunk_limit, self.lexical_weight = embedder.chunk_limit, embedder.lexical_weight

    def for_namespace(self, namespace: str) -> Embedder:
        own = self._embedder.for_namespace(namespace)
        return self if own is self._embedder else own

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        new = [text for text in texts if text not in self._documents]
        self._documents.update(zip(new, self._embedder.embed_documents(new), strict=True))
        return [self._documents[text] for text in texts]

    def embed_query(self, text: str) -> Vector:
        if text not in self._queries:
            self._queries[text] = self._embedder.embed_query(text)
        return self._queries[text]


def collection(name: str, languages: Sequence[str], questions: Sequence[Fact]) -> Collection:
    """Return a collection. Its documents are the facts in `languages`. Its questions come from `questions`."""
    documents = {f"{language} {fact.number}": fact for language in languages for fact in facts(language)}
    return Collection(
        name,
        {
            document: {"text": fact.memory, "timestamp": (START + timedelta(hours=place)).isoformat()}
            for place, (document, fact) in enumerate(documents.items())
        },
        [
            Question(fact.question, "", frozenset(f"{language} {fact.number}" for language in languages))
            for fact in questions
        ],
    )


def recall(stored: Stored, variant: str) -> Recall:
    """Return the mean recall of the collection's questions."""
    mode = SearchMode.SEMANTIC if variant == "meaning" else SearchMode.HYBRID
    search = stored.search(mode, words_only=variant == "words")
    hits = [(question.relevant, search(question.text)[:10]) for question in stored.collection.questions]
    first = sum(not relevant.isdisjoint(names[:1]) for relevant, names in hits)
    share = sum(len(relevant.intersection(names)) / len(relevant) for relevant, names in hits)
    return Recall(first / len(hits), share / len(hits))


def measure(name: str, languages: Sequence[str] = tuple(NAMES)) -> dict[tuple[str, str, str], Recall]:
    """Measure the recall of the embedder `name`. Return the recall by language, reach and variant.

    The reach "within" searches only memories in the language of the question; "across" searches only memories in the
    other languages. A variant is a kind of search: by words, by meaning or by both.
    """
    recalls = {}
    with opened_store(name) as (plain_embedder, memories, _):
        embedder = CachingEmbedder(plain_embedder)
        for language in languages:
            others = [other for other in languages if other != language]
            for reach, searched in (("within", [language]), ("across", others)):
                questions = collection(f"{language} {reach}", searched, facts(language))
                stored = Stored(questions, memories, embedder)
                for variant in VARIANTS:
                    recalls[language, reach, variant] = recall(stored, variant)
    return recalls


def mean(recalls: Sequence[Recall]) -> Recall:
    """Return the mean recall@1 and the mean recall@10 of several recalls."""
    count = len(recalls)
    return Recall(sum(recall.at_1 for recall in recalls) / count, sum(recall.at_10 for recall in recalls) / count)


def table(embedders: Mapping[str, Mapping[tuple[str, str, str], Recall]]) -> str:
    """Return recall@1 and recall@10 by language as a table in Markdown."""
    first = next(iter(embedders.values()))
    columns = [("words", "within", first)] + [
        (f"{name}, {reach}", reach, recalls) for reach in ("within", "across") for name, recalls in embedders.items()
    ]
    lines = [f"| | {' | '.join(title for title, _, _ in columns)} |", f"|---{'|---' * len(columns)}|"]
    rows = {name: [language] for language, name in NAMES.items()} | {"mean": list(NAMES)}
    for name, languages in rows.items():
        cells = [
            str(mean([recalls[language, reach, "words" if title == "words" else "hybrid"] for language in languages]))
            for title, reach, recalls in columns
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure each embedder. Print the table, and the mean recall of searches by words, by meaning and by both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", action="append", help="offline, multilingual or gemini [default: the first two]")
    names = parser.parse_args().embedder or ["offline", "multilingual"]
    embedders = {name: measure(name) for name in names}
    print(table(embedders))
    for name, recalls in embedders.items():
        for reach in ("within", "across"):
            means = (
                f"{variant} {mean([recalls[language, reach, variant] for language in NAMES])}" for variant in VARIANTS
            )
            print(f"{name}, {reach}: {', '.join(means)}")


if __name__ == "__main__":
    main()
