"""Print the size of each set, and some of its questions with the documents that answer them."""

import random
import statistics
from collections import Counter

from infra.benchmarks.collection import Collection
from infra.benchmarks.sets.assistant_logs import assistant_logs, short_requests
from infra.benchmarks.sets.documents import documents
from infra.benchmarks.sets.short_facts import short_facts

SETS = {
    "assistant_logs": assistant_logs,
    "short_requests": short_requests,
    "documents": documents,
    "short_facts": short_facts,
}


def describe(collection: Collection) -> None:
    """Print the size of a set, and five questions of each kind with documents that answer them."""
    words = sorted(len(document["text"].split()) for document in collection.documents.values())
    sessions = len({document.get("session") for document in collection.documents.values()} - {None})
    print(
        f"\n{collection.name}: {len(words):,} memories in {sessions} sessions, {len(collection.changes)} changed facts"
    )
    print(f"  words: median {statistics.median(words):.0f}, 90th percentile {words[len(words) * 9 // 10]}")
    for kind, count in Counter(question.kind for question in collection.questions).items():
        print(f"  {kind}: {count}")
        for question in random.Random(0).sample(
            [question for question in collection.questions if question.kind == kind], 5
        ):
            print(f"    {question.text[:150]}")
            for name in sorted(question.relevant)[:2]:
                print(f"      {' '.join(collection.documents[name]['text'].split())[:150]}")


def main() -> None:
    """Print a description of each set."""
    for make in SETS.values():
        describe(make())


if __name__ == "__main__":
    main()
