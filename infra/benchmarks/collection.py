"""Read and write a retrieval test collection: documents, and questions with their relevant documents.

corpus.jsonl has a document per line, with `id`, `text` and `timestamp`, and optionally `session` and `tags`.
queries.jsonl has a question per line, with `query` and `relevant_ids`, and optionally `kind`. A question without
relevant ids has no answer in the collection.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mnemosyne.domain.memory import IngestRequest
from mnemosyne.ids import new_id

ROOT = Path(__file__).resolve().parents[2]
OURS = {name: ROOT / "tests" / "data" / name for name in ("conversations", "many_conversations")}


@dataclass(frozen=True)
class Question:
    """A question, its kind, and the ids of the documents that answer it."""

    text: str
    kind: str
    relevant: frozenset[str]


@dataclass(frozen=True)
class Fact:
    """A fact that a document states: the value of a subject's attribute."""

    subject: str
    attribute: str
    value: str

    def is_another_value(self, other: "Fact | None") -> bool:
        """Whether the other fact has another value of the same attribute."""
        if other is None or self.value == other.value:
            return False
        return (self.subject, self.attribute) == (other.subject, other.attribute)


@dataclass(frozen=True)
class Collection:
    """Documents by id, and questions."""

    name: str
    documents: dict[str, dict[str, Any]]
    questions: list[Question]
    changes: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of documents. The second states another value of the same fact than the first."""
    facts: dict[str, Fact] = field(default_factory=dict)
    """The fact that a document states, by document; only for documents that state one."""

    @property
    def answerable(self) -> list[Question]:
        """The questions with relevant documents."""
        return [question for question in self.questions if question.relevant]

    @property
    def unanswerable(self) -> list[Question]:
        """The questions without relevant documents."""
        return [question for question in self.questions if not question.relevant]

    @property
    def has_tags(self) -> bool:
        """Whether the collection's documents have tags."""
        return any(document.get("tags") for document in self.documents.values())

    @classmethod
    def read(cls, name: str, directory: Path) -> "Collection":
        """Read the collection in corpus.jsonl and queries.jsonl."""
        return cls.of_files(name, directory / "corpus.jsonl", directory / "queries.jsonl")

    @classmethod
    def of_files(cls, name: str, corpus: Path, queries: Path) -> "Collection":
        """Read the collection in these two files."""
        documents = [json.loads(line) for line in corpus.read_text().splitlines()]
        questions = [
            Question(row["query"], row.get("kind") or row.get("category", ""), frozenset(row["relevant_ids"]))
            for row in map(json.loads, queries.read_text().splitlines())
        ]
        return cls(name, {document["id"]: document for document in documents}, questions)

    def write(self, directory: Path) -> None:
        """Write the files that `read` reads."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "corpus.jsonl").write_text(
            "".join(json.dumps(document) + "\n" for document in self.documents.values())
        )
        questions = [
            {"query": question.text, "kind": question.kind, "relevant_ids": sorted(question.relevant)}
            for question in self.questions
        ]
        (directory / "queries.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))

    def requests(self, *, sessions: bool, tags: bool) -> Iterator[tuple[str, IngestRequest]]:
        """Yield the id of each document, and the request that ingests it."""
        for name, document in self.documents.items():
            yield (
                name,
                IngestRequest.of(
                    new_id(),
                    content=document["text"],
                    timestamp=datetime.fromisoformat(document["timestamp"]),
                    session=document.get("session") if sessions else None,
                    tags=tuple(document.get("tags", ())) if tags else (),
                ),
            )
