"""Measure how well the confidence of a search distinguishes questions with an answer from questions without one.

    python -m infra.benchmarks.confidence [--embedder gemini]

Each row of the table compares the answerable questions of a set with questions that have no answer in this set. A
generated set contains such questions. Each of the two collections of conversations is searched with the questions of
the other collection, which have no answer in the searched collection. One row is for the questions that name a
person of the searched collection, and another row is for the questions about strangers.

The first three columns show how well each of three values separates the two groups of questions, as ROC AUC. A hit has
these values: the weighted sum of its cosine and its share of words, its cosine, and its share of words (the share of
the question's words that are in the hit). A question gets the largest value of its three best hits. The last two
columns have error rates: the share of answerable questions whose three best hits are all weak, and the share of
unanswerable questions with a strong hit among the three best. `mnemosyne.domain.confidence` defines weak and strong.
"""

import argparse
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from infra.benchmarks.collection import OURS, Collection, Question
from infra.benchmarks.sets.__main__ import SETS
from infra.benchmarks.stored import Stored, opened_store
from mnemosyne.domain.confidence import CALIBRATIONS, UNCALIBRATED, Confidence, confidence, reduced_share
from mnemosyne.domain.search import SearchMode

Values = npt.NDArray[np.float64]
"""One row per question, with three values of the question's best hits: the largest cosine, the largest share of the
question's words in a hit, and the largest weighted sum of cosine and share."""
HITS = 3
"""Number of a question's best hits that are examined. The question gets the largest value among them."""
QUESTIONS = 250


def auc(answerable: Values, others: Values) -> float:
    """Return, as ROC AUC, how well a value separates answerable questions from unanswerable questions (`others`).

    Each argument has the values of one group of questions. The ROC AUC is the probability that an answerable question
    has a higher value than an unanswerable question. Equal values count half. The ROC AUC is also Mann-Whitney's U,
    divided by the number of pairs.
    """
    higher = (answerable[:, None] > others[None, :]).mean()
    return float(higher + 0.5 * (answerable[:, None] == others[None, :]).mean())


def values(stored: Stored, questions: Sequence[Question]) -> tuple[Values, list[Confidence]]:
    """Search for each question. Return three values of the question's best hits, and their highest confidence.

    `Values` describes the three values.
    """
    rows, best = [], []
    calibration = CALIBRATIONS.get(stored.model, UNCALIBRATED)
    for question in questions:
        ranked, _ = stored.rank(question.text, SearchMode.HYBRID)
        hits = [hit.candidate for hit in ranked[:HITS]]
        shares = [reduced_share(hit.words_share or 0.0, lacks_name=hit.lacks_name) for hit in hits] or [0.0]
        cosines = [hit.vector_score or 0.0 for hit in hits] or [0.0]
        rows.append([max(cosines), max(shares), max(map(calibration.weighted_sum, cosines, shares))])
        order = list(Confidence)
        levels = [
            confidence(stored.model, hit.vector_score, hit.words_share, lacks_name=hit.lacks_name) for hit in hits
        ]
        best.append(max(levels, key=order.index, default=Confidence.WEAK))
    return np.array(rows), best


def people(collection: Collection) -> set[str]:
    """Return the names of all speakers. Each document of the collection begins with the name of its speaker."""
    return {
        name for document in collection.documents.values() if (name := document["text"].partition(": ")[0]).isalpha()
    }


def unanswerable(stored: Stored, others: Collection | None) -> dict[str, list[Question]]:
    """Return questions that the stored collection cannot answer, by kind.

    `others` is a collection of conversations of other people, whose questions have no answer in the stored collection.
    If it is None, the questions are the stored collection's own questions without an answer.
    """
    by_kind: dict[str, list[Question]] = {}
    names = people(stored.collection)
    for question in stored.collection.unanswerable if others is None else others.answerable:
        kind = question.kind
        if others is not None:
            is_named = any(re.search(rf"\b{name}\b", question.text) for name in names)
            kind = "known people" if is_named else "strangers"
        by_kind.setdefault(kind, []).append(question)
    return by_kind


def measure(stored: Stored, kind: str, questions: Sequence[Question]) -> None:
    """Print the row that compares the answerable questions with `questions`, which have no answer."""
    answerable, near = values(stored, stored.collection.answerable[:QUESTIONS])
    without, far = values(stored, questions[:QUESTIONS])
    areas = [auc(answerable[:, column], without[:, column]) for column in (2, 0, 1)]
    missed = np.mean([confidence is Confidence.WEAK for confidence in near])
    wrong = np.mean([confidence is Confidence.STRONG for confidence in far])
    name = f"{stored.collection.name}, {kind}"
    print(f"| {name:36} |" + "".join(f" {figure:.2f} |" for figure in (*areas, missed, wrong)), flush=True)


def main() -> None:
    """Measure each set with each kind of unanswerable question, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", default="offline", help="offline, multilingual or gemini")
    arguments = parser.parse_args()
    ours = [Collection.read(name, directory) for name, directory in OURS.items()]
    print("| questions | AUC of both | cosine | words | answerable but weak | unanswerable but strong |")
    print("|---|---|---|---|---|---|")
    with opened_store(arguments.embedder) as (embedder, memories, _):
        collections: list[tuple[Collection, Collection | None]] = [*zip(ours, reversed(ours), strict=True)]
        for collection, others in [*collections, *((make(), None) for make in SETS.values())]:
            stored = Stored(collection, memories, embedder)
            for kind, questions in unanswerable(stored, others).items():
                measure(stored, kind, questions)


if __name__ == "__main__":
    main()
