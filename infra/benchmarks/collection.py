"""Read a retrieval test collection: documents, and questions with their relevant documents."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
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
class Collection:
    """Documents by id, and questions."""

    name: str
    documents: dict[str, dict[str, Any]]
    questions: list[Question]

    @property
    def has_tags(self) -> bool:
        """Whether its documents have tags."""
        return any(one.get("tags") for one in self.documents.values())

    @classmethod
    def read(cls, name: str, directory: Path) -> "Collection":
        """The collection in corpus.jsonl and queries.jsonl."""
        corpus = [json.loads(line) for line in (directory / "corpus.jsonl").read_text().splitlines()]
        queries = [json.loads(line) for line in (directory / "queries.jsonl").read_text().splitlines()]
        questions = [
            Question(one["query"], one.get("kind") or one.get("category", ""), frozenset(one["relevant_ids"]))
            for one in queries
        ]
        return cls(name, {one["id"]: one for one in corpus}, questions)

    def requests(self, *, sessions: bool, tags: bool) -> Iterator[tuple[str, IngestRequest]]:
        """Yield each document's id and the request that ingests it, with its session and tags or without."""
        for name, one in self.documents.items():
            yield (
                name,
                IngestRequest.of(
                    new_id(),
                    content=one["text"],
                    timestamp=datetime.fromisoformat(one["timestamp"]),
                    session=one.get("session") if sessions else None,
                    tags=tuple(one.get("tags", ())) if tags else (),
                ),
            )
