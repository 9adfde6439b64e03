"""How well each search mode finds what answers a question: recall@5, recall@10 and nDCG@10.

Measured through the real store and service with the offline embedder, on a conversational set of our own
(tests/data/conversations) and, where it is present, on the Cranfield abstracts.

    python benchmarks/retrieval.py [--weights] [--cranfield DIR]
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "functions"), str(ROOT / "infra"), str(ROOT)]

from benchmarks.figures import Figure  # noqa: E402
from mnemosyne.adapters.database.connections import connection_factory  # noqa: E402
from mnemosyne.adapters.database.memories import PostgresMemories  # noqa: E402
from mnemosyne.adapters.database.pool import Pool  # noqa: E402
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder  # noqa: E402
from mnemosyne.domain.memory import IngestRequest  # noqa: E402
from mnemosyne.domain.message import IngestMessage  # noqa: E402
from mnemosyne.domain.search import SearchMode, SearchQuery  # noqa: E402
from mnemosyne.ids import new_id  # noqa: E402
from mnemosyne.service import ingest  # noqa: E402
from mnemosyne_cli.local import postgres  # noqa: E402
from mnemosyne_cli.local.data_dir import DataDir  # noqa: E402

Search = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class Collection:
    """Documents, and questions with the ids of the documents that answer them."""

    name: str
    documents: dict[str, tuple[str, str]]
    questions: list[tuple[str, set[str]]]

    @classmethod
    def read(cls, name: str, directory: Path) -> "Collection":
        """The collection in corpus.jsonl and queries.jsonl."""
        corpus = [json.loads(line) for line in (directory / "corpus.jsonl").read_text().splitlines()]
        queries = [json.loads(line) for line in (directory / "queries.jsonl").read_text().splitlines()]
        return cls(
            name,
            {one["id"]: (one["text"], one["timestamp"]) for one in corpus},
            [(one["query"], set(one["relevant_ids"])) for one in queries],
        )


def store(collection: Collection, memories: PostgresMemories, embedder: OfflineEmbedder) -> dict[str, str]:
    """Store every document; from memory id to document id."""
    documents = list(collection.documents.items())
    names: dict[str, str] = {}
    for start in range(0, len(documents), 100):
        batch = documents[start : start + 100]
        requests = tuple(
            IngestRequest.of(new_id(), content=text, timestamp=datetime.fromisoformat(timestamp))
            for _, (text, timestamp) in batch
        )
        message = IngestMessage(collection.name, requests)
        outcomes = ingest.store(message, memories=memories, embedder=embedder).outcomes
        names |= {str(outcomes[one.request_id].memory_id): name for (name, _), one in zip(batch, requests, strict=True)}
    return names


def measure(collection: Collection, search: Search) -> dict[str, float]:
    """Recall@5, recall@10 and nDCG@10, averaged over the questions."""
    recall5 = recall10 = ndcg = 0.0
    for question, relevant in collection.questions:
        found = search(question)[:10]
        recall5 += len(relevant & set(found[:5])) / len(relevant)
        recall10 += len(relevant & set(found)) / len(relevant)
        gain = sum(1 / math.log2(place + 2) for place, name in enumerate(found) if name in relevant)
        ndcg += gain / sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    count = len(collection.questions)
    return {"recall@5": recall5 / count, "recall@10": recall10 / count, "nDCG@10": ndcg / count}


def run(
    collection: Collection, server: postgres.EmbeddedPostgres, scratch: Path, *, weights: bool
) -> dict[str, dict[str, float]]:
    """Every mode on one collection."""
    embedder = OfflineEmbedder(scratch / f"{collection.name}.bin")
    pool = Pool(connection_factory(server.url(postgres.RUNTIME_USER)), 1)
    memories = PostgresMemories(pool, SPACE)
    names = store(collection, memories, embedder)

    def searcher(mode: SearchMode, *, words_only: bool = False, weight: float = embedder.lexical_weight) -> Search:
        def search(question: str) -> Sequence[str]:
            vector = None if words_only else embedder.for_namespace(collection.name).embed_query(question)
            query = SearchQuery(query=question, mode=mode, limit=10)
            hits = memories.search(collection.name, query, vector, model=embedder.model, lexical_weight=weight).hits
            return [names[str(hit.id)] for hit in hits]

        return search

    searches = {
        "semantic": searcher(SearchMode.SEMANTIC),
        "full text": searcher(SearchMode.HYBRID, words_only=True),
        "hybrid": searcher(SearchMode.HYBRID),
    }
    if weights:
        steps = [step / 10 for step in range(1, 10)]
        searches |= {f"hybrid, weight {w}": searcher(SearchMode.HYBRID, weight=w) for w in steps}
    results = {name: measure(collection, search) for name, search in searches.items()}
    pool.close()
    print(f"\n{collection.name}: {len(collection.documents)} memories, {len(collection.questions)} questions")
    print(f"  {'':20}" + "".join(f"{metric:>12}" for metric in ("recall@5", "recall@10", "nDCG@10")))
    for name, figures in results.items():
        print(f"  {name:20}" + "".join(f"{figure:12.3f}" for figure in figures.values()))
    return results


def figures() -> list[Figure]:
    """Recall@10 of each mode on the conversations."""
    collection = Collection.read("conversations", ROOT / "tests" / "data" / "conversations")
    with tempfile.TemporaryDirectory(prefix="mnemosyne-bench-") as scratch:
        server = postgres.start(DataDir.at(scratch))
        try:
            postgres.prepare(server, SPACE)
            results = run(collection, server, Path(scratch), weights=False)
        finally:
            server.stop()
    return [
        Figure.of(f"recall@10 on conversations, {mode}", [found["recall@10"]], more_is_better=True)
        for mode, found in results.items()
    ]


def main() -> None:
    """Measure and print; the figures also go to benchmarks/results/retrieval.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", action="store_true", help="also hybrid by lexical weight")
    parser.add_argument("--cranfield", type=Path, default=ROOT.parent / "shared" / "data" / "cranfield")
    arguments = parser.parse_args()
    collections = [Collection.read("conversations", ROOT / "tests" / "data" / "conversations")]
    if arguments.cranfield.is_dir():
        collections.append(Collection.read("cranfield", arguments.cranfield))
    results = {}
    for collection in collections:
        with tempfile.TemporaryDirectory(prefix="mnemosyne-bench-") as scratch:
            server = postgres.start(DataDir.at(scratch))
            try:
                postgres.prepare(server, SPACE)
                results[collection.name] = run(collection, server, Path(scratch), weights=arguments.weights)
            finally:
                server.stop()
    directory = ROOT / "benchmarks" / "results"
    directory.mkdir(exist_ok=True)
    (directory / "retrieval.json").write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
