"""Measure the precision and recall of the hint `may_replace`, which names memories with the old value of a fact.

    python -m infra.benchmarks.changed_facts [--embedder multilingual]

The hint is computed for the memories of two generated sets, short facts and assistant logs. Of the log messages that
state no fact, only every tenth is measured. A memory that the hint names is right if it states another value of the
same attribute of the same subject. Precision is the share of the named memories that are right. Recall is the share of
changed facts for which the hint of the newer memory names a right memory.

Half of the data is held out: the rules of the hint were written without looking at errors in this half. It consists of
every second attribute of each kind of subject in sets/facts.json, and of every second pair in sets/changed_pairs.jsonl.
This file has pairs of hand-written texts. In half of the pairs a fact changes, and in the other half the texts only
look similar. The two texts of a pair are compared directly, and are not stored. The hint is also computed for a set of
conversations. For this set only the number of hints is printed, because it is not known which facts in the
conversations change.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.benchmarks.collection import OURS, Collection
from infra.benchmarks.sets.assistant_logs import assistant_logs
from infra.benchmarks.sets.short_facts import short_facts
from infra.benchmarks.sets.statements import kinds
from infra.benchmarks.stored import Stored, opened_store
from mnemosyne.domain import changed_facts

PAIRS = Path(__file__).with_name("sets") / "changed_pairs.jsonl"
SAMPLE = 10
"""Only every tenth of the messages without a fact is measured, so a hint for such a message counts as ten hints."""


@dataclass
class Figures:
    """Counts for one part of a set, from which precision and recall are computed.

    A hint names memories that a new memory possibly replaces. A named memory is right if it states the old value of the
    changed fact. `hints` counts the named memories, and `right` counts the right ones among them. `changes` counts the
    changed facts, and `hinted` counts the changed facts whose hint names a right memory.
    """

    hints: int = 0
    right: int = 0
    changes: int = 0
    hinted: int = 0

    def __str__(self) -> str:
        precision = f"{self.right / self.hints:.2f}" if self.hints else "–"
        recall = f"{self.hinted / self.changes:.2f}" if self.changes else "–"
        return f"{self.hints:,} | {precision} | {self.changes:,} | {recall} |"


def held_out() -> frozenset[str]:
    """Return the names of the attributes that were not used for tuning the rules of the hint.

    These are every second attribute of each kind of subject.
    """
    return frozenset(attribute.name for kind in kinds().values() for attribute in kind.attributes[1::2])


def pair_figures(pairs: Sequence[dict[str, object]]) -> Figures:
    """Ask for each hand-written pair of texts whether the later text gets a hint that it replaces the earlier one.

    Return how many pairs have a hint, and how many of the hints are right.
    """
    figures = Figures()
    for pair in pairs:
        is_hinted = bool(changed_facts.replaced_ids(str(pair["later"]), [(0, str(pair["earlier"]))]))
        figures.hints += is_hinted
        figures.right += is_hinted and pair["changed"] is True
        figures.changes += pair["changed"] is True
        figures.hinted += is_hinted and pair["changed"] is True
    return figures


def store_figures(
    collection: Collection, hints: Callable[[str], Iterable[str]], *, sample: int = 1
) -> tuple[dict[str, Figures], float]:
    """Compute the hint for the memories of a set. Return the counts for each part, and a hint's median milliseconds.

    The parts of a set are: memories whose fact has an attribute that was used for tuning the rules, memories whose
    fact has a held-out attribute, and memories that state no fact. `hints` takes a memory's name, and returns the names
    of the memories in its hint. Only one in `sample` memories without a fact is measured, and counts `sample` times.
    """
    parts = {name: Figures() for name in ("tuned on", "held out", "states no fact")}
    times, facts, held_out_attributes = [], collection.facts, held_out()
    later = {name for _, name in collection.changes}
    for number, name in enumerate(collection.documents):
        fact = facts.get(name)
        weight = 1 if fact else sample
        if number % weight:
            continue
        figures = parts[
            "states no fact" if fact is None else "held out" if fact.attribute in held_out_attributes else "tuned on"
        ]
        start = time.perf_counter()
        hinted = list(hints(name))
        times.append(1000 * (time.perf_counter() - start))
        right = sum(fact.is_another_value(facts.get(hinted_name)) for hinted_name in hinted) if fact else 0
        figures.hints += weight * len(hinted)
        figures.right += right
        if name in later:
            figures.changes += 1
            figures.hinted += right > 0
    return parts, statistics.median(times)


def main() -> None:
    """Measure the pairs and the stored sets, and print the precision and recall of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", default="offline", help="offline, multilingual or gemini")
    arguments = parser.parse_args()
    print("| set | hints | precision | changed facts | recall |\n|---|---|---|---|---|")
    pairs = [json.loads(line) for line in PAIRS.read_text().splitlines()]
    for part, part_pairs in (("tuned on", pairs[::2]), ("held out", pairs[1::2])):
        print(f"| pairs by hand, {part} | {pair_figures(part_pairs)}")
    with opened_store(arguments.embedder) as (embedder, memories, _):
        conversations = Collection.read("conversations", OURS["many_conversations"])
        for collection, sample in ((short_facts(), 1), (assistant_logs(), SAMPLE), (conversations, 1)):
            store = Stored(collection, memories, embedder)
            parts, milliseconds = store_figures(collection, store.may_replace, sample=sample)
            for part, figures in parts.items():
                if figures.hints or figures.changes or (part == "states no fact" and not collection.facts):
                    print(f"| {collection.name}, {part} | {figures}")
            print(f"{collection.name}: {len(collection.documents):,} memories, a hint takes {milliseconds:.1f} ms")


if __name__ == "__main__":
    main()
