"""Measure the retrieval quality of each search mode: recall@5, recall@10, nDCG@10 and the time.

    python -m infra.benchmarks.retrieval [SET ...] [--embedder gemini] [--reranking-model MODEL] [--weights]
    python -m infra.benchmarks.retrieval --corpus corpus.jsonl --queries queries.jsonl

All sets are measured by default. To measure your own collection, write the files that `infra.benchmarks.collection`
describes. Searches use the real store and service. Each collection is stored with and without sessions, and also with
tags if it has tags. All searches run right after the ingestion, and hybrid searches run again after ANALYZE. The
results are compared with plain BM25 and with searches by meaning alone. The printed intervals of differences come from
a paired bootstrap over the questions. Times are medians, divided by the time of a search by meaning. nDCG@10 is also
printed by kind of question.

Gemini needs GEMINI_API_KEY or the settings of Vertex AI. A reranking model needs GOOGLE_CLOUD_PROJECT and credentials.
"""

import argparse
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from infra.benchmarks.bm25 import BM25
from infra.benchmarks.collection import OURS, ROOT, Collection, Question
from infra.benchmarks.database import owner_of
from infra.benchmarks.figures import Figure
from infra.benchmarks.sets.__main__ import SETS
from infra.benchmarks.stored import Search, Stored, opened_store
from mnemosyne.adapters.vertex_reranker import VertexReranker
from mnemosyne.domain.search import SearchMode
from mnemosyne.errors import InvalidRequest
from mnemosyne.ports.embedder import Reranker

CRANFIELD = ROOT.parent / "shared" / "data" / "cranfield"
Rows = npt.NDArray[np.float64]
"""Recall@5, recall@10, nDCG@10 and seconds of a search, one row per question."""
METRICS = ("recall@5", "recall@10", "nDCG@10")
RESAMPLES = 2_000
STEPS = (
    ("plain BM25", "hybrid"),
    ("semantic", "hybrid"),
    ("hybrid, without sessions", "hybrid"),
    ("semantic", "semantic, with tags"),
    ("hybrid", "hybrid, with tags"),
    ("hybrid", "hybrid, reranked"),
)
"""Pairs of search variants whose results are compared question by question."""
BY_KIND = ("plain BM25", "semantic", "full text", "hybrid")


def measure(questions: Sequence[Question], search: Search) -> Rows:
    """Search for each question. Return recall@5, recall@10, nDCG@10 and seconds, one row per question."""
    rows = []
    for question in questions:
        started = time.perf_counter()
        names = search(question.text)[:10]
        seconds = time.perf_counter() - started
        gain = sum(1 / math.log2(place + 2) for place, name in enumerate(names) if name in question.relevant)
        ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(question.relevant))))
        recalls = [len(question.relevant & set(names[:depth])) / len(question.relevant) for depth in (5, 10)]
        rows.append([*recalls, gain / ideal, seconds])
    return np.array(rows)


def interval(before: Rows, after: Rows, metric: str = "recall@10") -> str:
    """Return the 95 % interval of the mean difference in a metric between two searches.

    It is a bootstrap interval: the questions are resampled RESAMPLES times.
    """
    gains = (after - before)[:, METRICS.index(metric)]
    generator = np.random.default_rng(0)
    means = [gains[generator.integers(0, len(gains), len(gains))].mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{low:+.3f} to {high:+.3f}"


def run(
    collection: Collection, embedder_name: str, *, weights: bool = False, reranker: Reranker | None = None
) -> dict[str, dict[str, float]]:
    """Measure every kind of search on one collection. Print the results, and return each kind's mean metrics."""
    with opened_store(embedder_name) as (embedder, memories, server):
        plain = Stored(collection, memories, embedder, sessions=False)
        all_memories = Stored(collection, memories, embedder)
        bm25 = BM25({name: document["text"] for name, document in collection.documents.items()})
        searches: dict[str, Search] = {
            "plain BM25": bm25.search,
            "semantic": all_memories.search(SearchMode.SEMANTIC),
            "full text": all_memories.search(SearchMode.HYBRID, words_only=True),
            "hybrid, without sessions": plain.search(SearchMode.HYBRID),
            "hybrid": all_memories.search(SearchMode.HYBRID),
        }
        if collection.has_tags:
            tagged = Stored(collection, memories, embedder, tags=True)
            searches["semantic, with tags"] = tagged.search(SearchMode.SEMANTIC)
            searches["hybrid, with tags"] = tagged.search(SearchMode.HYBRID)
        if weights:
            for step in range(1, 10):
                searches[f"hybrid, weight .{step}"] = all_memories.search(SearchMode.HYBRID, weight=step / 10)
        if reranker:
            searches["hybrid, reranked"] = all_memories.reranked(reranker)
        rows_by_search = {name: measure(collection.answerable, search) for name, search in searches.items()}
        with owner_of(server) as owner:
            owner.script("ANALYZE")
        rows_by_search["hybrid, after ANALYZE"] = measure(collection.answerable, searches["hybrid"])
    _print(collection, rows_by_search)
    return {
        name: dict(zip(METRICS, map(float, rows.mean(axis=0)[:3]), strict=True))
        for name, rows in rows_by_search.items()
    }


def _print(collection: Collection, rows_by_search: dict[str, Rows]) -> None:
    print(f"\n{collection.name}: {len(collection.documents)} memories, {len(collection.answerable)} questions")
    print(f"  {'':26}" + "".join(f"{metric:>12}" for metric in METRICS) + f"{'time':>12}")
    base = float(np.median(rows_by_search["semantic"][:, 3]))
    for name, rows in rows_by_search.items():
        means = "".join(f"{figure:12.3f}" for figure in rows.mean(axis=0)[:3])
        print(f"  {name:26}{means}{float(np.median(rows[:, 3])) / base:12.2f}")
    for before, after in STEPS:
        if before in rows_by_search and after in rows_by_search:
            print(
                f"  {after}: {interval(rows_by_search[before], rows_by_search[after])} of recall@10 more than {before}"
            )
    print(f"  {'nDCG@10 by kind':26}" + "".join(f"{name[:11]:>12}" for name in BY_KIND))
    for kind in sorted({question.kind for question in collection.answerable}):
        mask = np.array([question.kind == kind for question in collection.answerable])
        print(f"    {kind[:24]:24}" + "".join(f"{rows_by_search[name][mask][:, 2].mean():12.3f}" for name in BY_KIND))


def figures() -> list[Figure]:
    """Measure the collection `conversations`, and return the recall@10 of each kind of search."""
    collection = Collection.read("conversations", OURS["conversations"])
    return [
        Figure.of(f"recall@10 on conversations, {mode}", [metrics["recall@10"]], more_is_better=True)
        for mode, metrics in run(collection, "offline").items()
    ]


def available_collections() -> list[str]:
    """Return the names of the test collections on this machine."""
    return [*OURS, *(["cranfield"] if CRANFIELD.is_dir() else []), *SETS]


def collection_of(name: str) -> Collection:
    """Return the test collection with this name."""
    if name in SETS:
        return SETS[name]()
    return Collection.read(name, OURS.get(name, CRANFIELD))


def main() -> None:
    """Measure the chosen collections, and print the results."""
    names = available_collections()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(names))
    parser.add_argument("--corpus", type=Path, help="your own corpus.jsonl, with --queries")
    parser.add_argument("--queries", type=Path, help="your own queries.jsonl, with --corpus")
    parser.add_argument("--weights", action="store_true", help="also hybrid by lexical weight")
    parser.add_argument("--embedder", default="offline", help="offline, multilingual or gemini")
    parser.add_argument("--reranking-model", default="", help="also hybrid, reranked by that model")
    arguments = parser.parse_args()
    if unknown := set(arguments.sets) - set(names):
        parser.error(f"the sets are {', '.join(names)}; got {', '.join(sorted(unknown))}")
    if (arguments.corpus is None) != (arguments.queries is None):
        parser.error("--corpus and --queries need each other")
    model = arguments.reranking_model
    reranker = VertexReranker(os.environ["GOOGLE_CLOUD_PROJECT"], model) if model else None
    if reranker:
        print(reranker.check())
    if arguments.corpus:
        try:
            collections = [Collection.of_files(arguments.corpus.stem, arguments.corpus, arguments.queries)]
        except (OSError, InvalidRequest) as exc:
            parser.error(str(exc))
        if not collections[0].answerable:
            parser.error(f"{arguments.queries} has no question with relevant_ids")
    else:
        collections = [collection_of(name) for name in arguments.sets or names]
    for collection in collections:
        run(collection, arguments.embedder, weights=arguments.weights, reranker=reranker)


if __name__ == "__main__":
    main()
