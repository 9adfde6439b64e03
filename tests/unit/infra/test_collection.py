"""A user's own test collection: the forms of its files that are read, and the mistakes that are reported."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.benchmarks.collection import Collection
from mnemosyne.errors import InvalidRequest

DOCUMENT = {"id": "a", "text": "The oolong is on shelf 7.", "timestamp": "2026-05-20T12:00:00Z"}
QUESTION = {"query": "Where is the oolong?", "relevant_ids": ["a"]}


def _lines(*rows: object) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _read(directory: Path, corpus: bytes, queries: bytes) -> Collection:
    (directory / "corpus.jsonl").write_bytes(corpus)
    (directory / "queries.jsonl").write_bytes(queries)
    return Collection.read("own", directory)


@pytest.mark.parametrize("text", ["a\u2028b", "a\x85b", "Größe 東京 😀", "a\x1cb\x0c"])
def test_a_text_with_any_character_is_one_document(tmp_path: Path, text: str) -> None:
    collection = _read(tmp_path, _lines(DOCUMENT | {"text": text}), _lines(QUESTION | {"query": text}))
    assert collection.documents["a"]["text"] == collection.questions[0].text == text
    ((_, request),) = collection.requests(sessions=True, tags=True)
    assert request.content == text


@pytest.mark.parametrize(
    ("corpus", "queries"),
    [
        (b"\xef\xbb\xbf" + _lines(DOCUMENT), b"\xef\xbb\xbf" + _lines(QUESTION)),
        (_lines(DOCUMENT).replace(b"\n", b"\r\n\r\n"), _lines(QUESTION).replace(b"\n", b"\r\n  \r\n")),
        (_lines(DOCUMENT | {"id": 1}), _lines(QUESTION | {"relevant_ids": ["1"]})),
        (_lines(DOCUMENT | {"id": "1"}), _lines(QUESTION | {"relevant_ids": [1]})),
        (_lines(DOCUMENT | {"timestamp": "2026-05-20"}), _lines(QUESTION)),
        (_lines(DOCUMENT | {"timestamp": "2026-05-20T12:00"}), _lines(QUESTION)),
        (_lines(DOCUMENT | {"timestamp": 1_779_287_400}), _lines(QUESTION)),
        (_lines(DOCUMENT | {"tags": None, "session": None}), _lines(QUESTION | {"kind": None})),
        (_lines(DOCUMENT | {"tags": "x, y", "session": "s"}), _lines(QUESTION | {"kind": 3})),
    ],
)
def test_files_of_other_programs_are_read(tmp_path: Path, corpus: bytes, queries: bytes) -> None:
    another = DOCUMENT | {"id": "b", "timestamp": "2026-05-21T12:00:00+02:00"}
    collection = _read(tmp_path, corpus + _lines(another), queries)
    (question,) = collection.answerable
    assert question.relevant <= collection.documents.keys() and isinstance(question.kind, str)
    requests = [request for _, request in collection.requests(sessions=True, tags=True)]
    assert requests[0].timestamp < requests[1].timestamp
    assert requests[0].tags in ((), ("x", "y"))


@pytest.mark.parametrize(
    ("corpus", "queries", "message"),
    [
        (b"{", _lines(QUESTION), "corpus.jsonl:1 must be JSON"),
        (b"[1]\n", _lines(QUESTION), "corpus.jsonl:1 must be a JSON object"),
        (_lines(DOCUMENT, DOCUMENT), _lines(QUESTION), 'corpus.jsonl:2: the id "a" is already used'),
        (_lines({"id": "a", "text": "x"}), _lines(QUESTION), "corpus.jsonl:1: timestamp is required"),
        (_lines(DOCUMENT | {"text": " "}), _lines(QUESTION), "corpus.jsonl:1: text must contain"),
        (_lines(DOCUMENT | {"timestamp": 2026}), _lines(QUESTION), "corpus.jsonl:1: timestamp must be a date"),
        (_lines(DOCUMENT | {"id": None}), _lines(QUESTION), "corpus.jsonl:1: id must be a text or a number"),
        (_lines(DOCUMENT), _lines(QUESTION | {"relevant_ids": ["a", "z"]}), 'queries.jsonl:1: .* has no "z"'),
        (_lines(DOCUMENT), _lines(QUESTION | {"relevant_ids": "a"}), "queries.jsonl:1: relevant_ids must be an array"),
        (_lines(DOCUMENT), _lines({"relevant_ids": []}), "queries.jsonl:1: query must be a text"),
        (_lines(DOCUMENT), _lines(QUESTION | {"query": "a\0"}), "queries.jsonl:1: query must not contain NUL"),
        (_lines(DOCUMENT), _lines(QUESTION).replace(b"oolong", b"th\xe9"), "queries.jsonl:1: query .* as UTF-8"),
        (_lines(DOCUMENT), _lines(QUESTION).replace(b"oolong", rb"\ud800"), "queries.jsonl:1: query .* U.D800"),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(tmp_path: Path, corpus: bytes, queries: bytes, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        _read(tmp_path, corpus, queries)


def test_a_collection_of_this_repository_is_unchanged() -> None:
    directory = Path(__file__).parents[2] / "data" / "conversations"
    rows: list[dict[str, Any]] = list(map(json.loads, (directory / "corpus.jsonl").read_text().splitlines()))
    assert list(Collection.read("conversations", directory).documents.values()) == rows
