"""Compare searches among long memories with searches among as many short memories, by time and recall@10.

A long memory has several paragraphs of docstrings (1,700 to 2,000 characters), and a short memory has one paragraph.
Both are in one database, in two namespaces. The time is the duration of a hybrid search. Recall is the share of the
true ten nearest memories that a search by meaning finds. The distance of a memory is the distance of its nearest chunk.

    python -m infra.benchmarks.long_memories [--memories 16000] [--questions 100]
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence

from infra.benchmarks.corpus import questions, texts
from infra.benchmarks.database import new_database
from infra.benchmarks.search import Bench, fill, writing_bench
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder
from mnemosyne.domain.search import SearchMode

LONG_CHARACTERS = 1_700
PARAGRAPHS = 13
"""Number of paragraphs to read for each long memory. This is enough, because a long memory has fewer than twelve
paragraphs on average."""
WARM_UP = 5
EXACT = """
SELECT id FROM (
    SELECT m.id, m.embedding <=> CAST(:vector AS halfvec) AS distance FROM memories m WHERE m.namespace = :namespace
    UNION ALL
    SELECT c.memory_id, c.embedding <=> CAST(:vector AS halfvec) FROM memory_chunks c WHERE c.namespace = :namespace
) AS chunk
GROUP BY id ORDER BY min(distance), id LIMIT 10
"""


def join_paragraphs(paragraphs: Sequence[str], count: int) -> list[str]:
    """Join paragraphs into at most `count` texts, each of LONG_CHARACTERS characters or a little more."""
    contents: list[str] = []
    parts: list[str] = []
    for paragraph in paragraphs:
        parts.append(paragraph)
        if sum(map(len, parts)) >= LONG_CHARACTERS:
            contents.append("\n\n".join(parts))
            parts = []
        if len(contents) == count:
            break
    return contents


def recall(bench: Bench, namespace: str, query_texts: Sequence[str]) -> float:
    """Search by meaning for each question. Return the mean share of the true ten nearest memories that are found."""
    shares = []
    for question in query_texts:
        vector = bench.vector(namespace, question)
        rows = bench.owner.run(EXACT, namespace=namespace, vector=json.dumps(vector.tolist()))
        nearest = {str(row["id"]) for row in rows}
        hits = bench.search(namespace, question, vector, mode=SearchMode.SEMANTIC)
        shares.append(len(nearest & set(hits)) / len(nearest))
    return statistics.fmean(shares)


def milliseconds(bench: Bench, namespace: str, question: str) -> float:
    """Run a hybrid search for ten hits, and return its duration in milliseconds."""
    vector = bench.vector(namespace, question)
    started = time.perf_counter()
    bench.search(namespace, question, vector, mode=SearchMode.HYBRID)
    return 1000 * (time.perf_counter() - started)


def measure(bench: Bench, query_texts: Sequence[str]) -> None:
    """Search the long and the short memories, and print the times, the ratio of the times, and the recall."""
    pairs = [
        (milliseconds(bench, "long", question), milliseconds(bench, "short", question)) for question in query_texts
    ]
    pairs = pairs[WARM_UP:]
    ratios = [long / short for long, short in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4)
    print("                     long    short")
    print("hybrid, ms, median" + "".join(f"{statistics.median(times):8.1f}" for times in zip(*pairs, strict=True)))
    print(f"long / short      {middle:8.2f} ({low:.2f} to {high:.2f})")
    print(
        "recall@10         "
        + "".join(f"{recall(bench, namespace, query_texts):8.3f}" for namespace in ("long", "short"))
    )


def main() -> None:
    """Store long memories and short memories in two namespaces, and compare the searches in them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=4_000, help="memories of each kind")
    parser.add_argument("--questions", type=int, default=60)
    options = parser.parse_args()
    paragraphs = texts(PARAGRAPHS * options.memories + options.questions)
    long = join_paragraphs(paragraphs, options.memories)
    assert len(long) == options.memories, f"{len(paragraphs)} paragraphs are enough for only {len(long)} long memories"
    query_texts = questions(paragraphs, options.questions + WARM_UP)
    with (
        new_database(SPACE) as (server, directory),
        writing_bench(server, OfflineEmbedder(directory.path / "words.bin")) as bench,
    ):
        fill(bench, {"long": long})
        fill(bench, {"short": paragraphs[: len(long)]})
        measure(bench, query_texts)


if __name__ == "__main__":
    main()
