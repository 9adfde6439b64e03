"""The generated tuning sets have the documented properties."""

import functools
import re
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.benchmarks.collection import Collection
from infra.benchmarks.sets.assistant_logs import assistant_logs, short_requests
from infra.benchmarks.sets.documents import documents
from infra.benchmarks.sets.passages import files
from infra.benchmarks.sets.short_facts import short_facts

pytestmark = pytest.mark.nightly  # generating the sets takes half a minute of CPU time

_WORD = re.compile(r"[a-z]{4,}")


@functools.cache
def _collection(make: Callable[[], Collection]) -> Collection:
    return make()


@pytest.mark.parametrize(
    ("make", "memories", "questions", "unanswerable", "changes"),
    [
        (assistant_logs, 5_000, 300, 60, 100),
        (short_requests, 3_000, 200, 60, 60),
        (documents, 300, 200, 40, 0),
        (short_facts, 10_000, 300, 60, 500),
    ],
)
def test_a_set_has_its_documented_size_and_later_statements_of_changed_facts(
    make: Callable[[], Collection], memories: int, questions: int, unanswerable: int, changes: int
) -> None:
    generated = _collection(make)
    assert len(generated.documents) >= memories
    assert len(generated.answerable) >= questions
    assert len(generated.unanswerable) >= unanswerable
    assert len(generated.changes) >= changes
    named = {name for question in generated.questions for name in question.relevant}
    assert named | {name for pair in generated.changes for name in pair} <= generated.documents.keys()
    times = {name: document["timestamp"] for name, document in generated.documents.items()}
    assert all(times[earlier] < times[later] for earlier, later in generated.changes)


@pytest.mark.parametrize("make", [assistant_logs, short_requests, short_facts])
def test_a_set_is_the_same_each_time(make: Callable[[], Collection]) -> None:
    assert make() == _collection(make)


@pytest.mark.parametrize("parent", ["packages", "tests", "latest/packages"])
def test_the_modules_of_a_package_do_not_depend_on_the_directory_that_contains_it(tmp_path: Path, parent: str) -> None:
    package = tmp_path / parent / "kettle"
    (package / "tests").mkdir(parents=True)
    for name in ("boil.py", "pour.py", "test_boil.py", "tests/spout.py"):
        (package / name).touch()
    assert [file.name for file in files(package)] == ["boil.py", "pour.py"]


def test_in_short_requests_people_write_short_messages_with_most_of_the_evidence() -> None:
    generated = _collection(short_requests)
    evidence = [generated.documents[name]["text"] for question in generated.answerable for name in question.relevant]
    assert sum(text.startswith("Assistant: ") for text in evidence) <= 0.1 * len(evidence)
    texts = [document["text"] for document in generated.documents.values()]
    requests = [len(text.split()) for text in texts if not text.startswith("Assistant: ")]
    answers = [len(text.split()) for text in texts if text.startswith("Assistant: ")]
    assert 20 <= statistics.median(requests) <= 40
    assert 400 <= statistics.median(answers) <= 500


def test_the_median_question_shares_at_most_half_of_its_words_with_its_memory() -> None:
    generated = _collection(short_facts)
    shares = []
    for question in generated.answerable:
        words = set(_WORD.findall(question.text.lower()))
        evidence = set(_WORD.findall(" ".join(generated.documents[name]["text"] for name in question.relevant).lower()))
        shares.append(len(words & evidence) / len(words))
    assert sorted(shares)[len(shares) // 2] <= 0.5
