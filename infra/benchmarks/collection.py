"""Read a retrieval test collection: documents, and questions with their relevant documents.

corpus.jsonl has a document per line, with `id`, `text` and `timestamp`, and optionally `session` and `tags`.
queries.jsonl has a question per line, with `query` and `relevant_ids`, and optionally `kind`. A question without
relevant ids has no answer in the collection. A document's fields must follow the rules for the fields of a memory.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.memory_input import Defaults, read
from mnemosyne.domain.parsing import read_json
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.text_checks import excerpt, storable
from mnemosyne.errors import InvalidRequest
from mnemosyne.ids import new_id

ROOT = Path(__file__).resolve().parents[2]
OURS = {name: ROOT / "tests" / "data" / name for name in ("conversations", "many_conversations")}


@dataclass(frozen=True)
class Question:
    """A question, its kind, and the ids of the documents that answer it (`relevant`)."""

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
        """Whether the other fact states another value of the same attribute of the same subject."""
        if other is None or self.value == other.value:
            return False
        return (self.subject, self.attribute) == (other.subject, other.attribute)


@dataclass(frozen=True)
class Collection:
    """A test collection: documents by id, and questions about the documents."""

    name: str
    documents: dict[str, dict[str, Any]]
    questions: list[Question]
    changes: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of documents about one fact. The second document states another value of the fact than the first."""
    facts: dict[str, Fact] = field(default_factory=dict)
    """The fact that each document states, by the document's id. Documents that state no fact are left out."""

    @property
    def answerable(self) -> list[Question]:
        """The questions that at least one document of the collection answers."""
        return [question for question in self.questions if question.relevant]

    @property
    def unanswerable(self) -> list[Question]:
        """The questions that no document of the collection answers."""
        return [question for question in self.questions if not question.relevant]

    @property
    def has_tags(self) -> bool:
        """Whether the collection's documents have tags."""
        return any(document.get("tags") for document in self.documents.values())

    @classmethod
    def read(cls, name: str, directory: Path) -> "Collection":
        """Read the collection from the files corpus.jsonl and queries.jsonl in a directory."""
        return cls.of_files(name, directory / "corpus.jsonl", directory / "queries.jsonl")

    @classmethod
    def of_files(cls, name: str, corpus: Path, queries: Path) -> "Collection":
        """Read the collection from these two files.

        If a line is invalid, raises InvalidRequest, whose message names the file and the line.
        """
        documents: dict[str, dict[str, Any]] = {}
        for place, row in _rows(corpus):
            document = _document(place, row)
            if document["id"] in documents:
                raise InvalidRequest(f"{place}: the id {excerpt(document['id'])} is already used")
            documents[document["id"]] = document
        return cls(name, documents, [_question(place, row, documents) for place, row in _rows(queries)])

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


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the file name and number of each line, such as `corpus.jsonl:3`, and the JSON object in the line.

    Blank lines are skipped.
    """
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                place = f"{file.name}:{number}"
                row = read_json(line, of=place)
                if not isinstance(row, dict):
                    raise InvalidRequest(f"{place} must be a JSON object, got {excerpt(row)}")
                yield place, row


def _document(place: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a line, after checking its fields by the rules for memories."""
    fields = {"content": row.get("text"), **{name: row.get(name) for name in ("timestamp", "session", "tags")}}
    request = read(fields, Defaults(new_id=new_id))
    if not isinstance(request, IngestRequest):
        error = re.sub(r"(^|; )content\b", r"\1text", getattr(request, "error", ""))
        raise InvalidRequest(f"{place}: {error}")
    parsed = {"session": request.session, "tags": list(request.tags)}
    return {
        **row,
        **{name: value for name, value in parsed.items() if name in row},
        "id": _id(place, "id", row.get("id")),
        "timestamp": rfc3339(request.timestamp),
    }


def _question(place: str, row: Mapping[str, Any], documents: Mapping[str, object]) -> Question:
    text, relevant = row.get("query"), row.get("relevant_ids")
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequest(f"{place}: query must be a text of at least one word, got {excerpt(text)}")
    try:
        storable(text)
    except ValueError as exc:
        raise InvalidRequest(f"{place}: query {exc}") from exc
    if not isinstance(relevant, list):
        raise InvalidRequest(f"{place}: relevant_ids must be an array, got {excerpt(relevant)}")
    ids = frozenset(_id(place, "relevant_ids", value) for value in relevant)
    if unknown := sorted(ids - documents.keys()):
        raise InvalidRequest(f"{place}: the corpus has no {', '.join(map(excerpt, unknown[:5]))}")
    return Question(text, str(row.get("kind") or row.get("category") or ""), ids)


def _id(place: str, name: str, value: object) -> str:
    """Return an id as text, so that 7 and "7" are equal."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidRequest(f"{place}: {name} must be a text or a number, got {excerpt(value)}")
    return str(value)
