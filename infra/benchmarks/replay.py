"""Try other ranking weights on recorded candidates of searches, in seconds and without a database.

    python -m infra.benchmarks.replay record candidates.jsonl.gz [SET ...]
    python -m infra.benchmarks.replay try candidates.jsonl.gz previous=0.5 session_best=0.2

The candidates of a question are the memories that the database returns before they are ranked. `record` writes the
candidates of each question of the named sets to a file, with their vectors. Without names, it records all sets of
`infra.benchmarks.retrieval`. `try` ranks the recorded candidates with the default weights and with the changed weights.
It prints recall@5, recall@10 and nDCG@10 for both, and the 95 % intervals of the differences in recall@10 and nDCG@10.
The weights are the fields of `mnemosyne.domain.ranking_weights.Weights`.
"""

import argparse
import base64
import functools
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from infra.benchmarks.collection import Question
from infra.benchmarks.database import owner_of
from infra.benchmarks.retrieval import METRICS, Rows, available_collections, collection_of, interval, measure
from infra.benchmarks.stored import Stored, opened_store
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.domain.candidates import Candidate, Candidates
from mnemosyne.domain.ranking_weights import DEFAULT_WEIGHTS, Weights
from mnemosyne.domain.search import SearchQuery
from mnemosyne.domain.time.window import TimeWindow
from mnemosyne.service import search

VECTORS = """
SELECT id, CAST(embedding AS text) AS vector FROM memories WHERE id = ANY(CAST(:ids AS uuid[]))
"""


@dataclass(frozen=True)
class RecordedSearch:
    """The recorded candidates of one question. `search.rank` reads them from this object, not from a memory store."""

    recorded: Mapping[str, Any]
    memories: Mapping[str, tuple[str, str]]
    """The name and the packed vector of each memory of the collection, by id."""

    def find_candidates(self, *_: object, **__: object) -> Candidates:
        """Return the recorded candidates of the question, whatever the arguments are."""
        candidates = self.recorded["candidates"]
        if any(len(row) != len(Candidate._fields) for row in candidates["rows"]):
            raise SystemExit("the candidates were recorded by another version: record them again")
        return Candidates(**candidates | {"rows": [Candidate(*row) for row in candidates["rows"]]})

    def pairwise_cosines(self, ids: Sequence[str]) -> Sequence[Sequence[float | None]]:
        """Return the cosine of each pair of the recorded vectors with these ids."""
        packed = [np.frombuffer(base64.b64decode(self.memories[memory_id][1]), np.float16) for memory_id in ids]
        vectors = np.array(packed, dtype=np.float32)
        cosines: list[list[float | None]] = (vectors @ vectors.T).tolist()
        return cosines

    def rank(self, weights: Weights) -> list[str]:
        """Rank the recorded candidates with these weights. Return the names of the ten best documents."""
        preferred = tuple(
            TimeWindow(**{name: bound and datetime.fromisoformat(bound) for name, bound in window.items()})
            for window in self.recorded["preferred"]
        )
        query = SearchQuery(query=self.recorded["question"], preferred=preferred)
        ranked, _ = search.rank(
            query,
            np.zeros(1, dtype=np.float32),
            memories=self,
            model="",
            lexical_weight=self.recorded["lexical_weight"],
            weights=weights,
        )
        return [self.memories[ranked_memory.candidate.id][0] for ranked_memory in ranked[:10]]


def record(file: Path, names: Sequence[str]) -> None:
    """Write the candidates of every answerable question of the sets to a file.

    The memories are stored with their sessions, and embedded by the offline embedder. In the file, each question of a
    set has one line. After these lines, one line has the document names and the vectors of all candidates of the set.
    """
    with (
        gzip.open(file, "wt") as lines,
        opened_store("offline") as (embedder, memories, server),
        owner_of(server) as owner,
    ):
        for name in names:
            collection = collection_of(name)
            store = Stored(collection, memories, embedder)
            ids: set[str] = set()
            for question in collection.answerable:
                recorded = _record_question(store, question)
                ids.update(row.id for row in recorded["candidates"]["rows"] if row.eligible)
                lines.write(json.dumps({"collection": name} | recorded) + "\n")
            lines.write(json.dumps({"collection": name, "memories": _memories(store, sorted(ids), owner)}) + "\n")


def _record_question(store: Stored, question: Question) -> dict[str, Any]:
    query, candidates, lexical_weight = store.candidates(question.text)
    return {
        "question": question.text,
        "kind": question.kind,
        "relevant": sorted(question.relevant),
        "preferred": [
            {"after": window.after and window.after.isoformat(), "before": window.before and window.before.isoformat()}
            for window in query.preferred
        ],
        "lexical_weight": lexical_weight,
        "candidates": vars(candidates),
    }


def _memories(store: Stored, ids: Sequence[str], owner: Connection) -> dict[str, tuple[str, str]]:
    """Return a dictionary from the id of each memory to the name of its document and its vector in base64."""
    vectors = {
        str(row["id"]): base64.b64encode(np.array(orjson.loads(row["vector"]), dtype=np.float16).tobytes()).decode()
        for row in owner.run(VECTORS, ids=ids)
    }
    return {memory_id: (name, vectors[memory_id]) for memory_id, name in zip(ids, store.names(ids), strict=True)}


def read(file: Path) -> dict[str, list[RecordedSearch]]:
    """Return the searches that are recorded in the file, by collection."""
    by_collection: dict[str, list[RecordedSearch]] = {}
    questions: list[Mapping[str, Any]] = []
    with gzip.open(file, "rt") as lines:
        for line in map(json.loads, lines):
            if "memories" in line:
                by_collection[line["collection"]] = [
                    RecordedSearch(question, line["memories"]) for question in questions
                ]
                questions = []
            else:
                questions.append(line)
    return by_collection


def try_weights(file: Path, changes: Mapping[str, float]) -> None:
    """Print the quality with the default weights and with the changed ones, by collection."""
    for name, searches in read(file).items():
        before, after = (
            _quality(searches, weights) for weights in (DEFAULT_WEIGHTS, replace(DEFAULT_WEIGHTS, **changes))
        )
        print(f"{name}: {len(searches)} questions" + "".join(f"{metric:>12}" for metric in METRICS))
        for label, quality in (("default", before), ("changed", after)):
            print(f"  {label:10}" + "".join(f"{figure:12.3f}" for figure in quality.mean(axis=0)[:3]))
        for metric in METRICS[1:]:
            print(f"  difference in {metric}: {interval(before, after, metric)}")


def _quality(searches: Sequence[RecordedSearch], weights: Weights) -> Rows:
    def rows() -> Iterator[Rows]:
        for replayed in searches:
            question = Question(
                replayed.recorded["question"],
                replayed.recorded["kind"],
                frozenset(replayed.recorded["relevant"]),
            )
            yield measure([question], functools.partial(_answer, replayed, weights))

    return np.concatenate(list(rows()))


def _answer(recorded: RecordedSearch, weights: Weights, _: str) -> Sequence[str]:
    return recorded.rank(weights)


def main() -> None:
    """Record candidates, or try weights on them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("record", "try"))
    parser.add_argument("file", type=Path)
    parser.add_argument("changes", nargs="*", metavar="SET or WEIGHT=NUMBER")
    arguments = parser.parse_args()
    if arguments.command == "record":
        record(arguments.file, arguments.changes or available_collections())
    else:
        try_weights(
            arguments.file,
            {name: float(number) for name, _, number in (change.partition("=") for change in arguments.changes)},
        )


if __name__ == "__main__":
    main()
