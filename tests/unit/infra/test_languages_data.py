"""The facts of the languages benchmark are the same in every language."""

import json

import pytest

from infra.benchmarks.languages import DATA, NAMES, facts


def test_each_file_is_a_language_of_the_benchmark() -> None:
    assert {file.stem for file in DATA.iterdir()} == NAMES.keys()


@pytest.mark.parametrize("language", NAMES)
def test_a_language_has_thirty_facts_each_once(language: str) -> None:
    own = facts(language)
    assert [fact.number for fact in own] == list(range(1, 31))
    assert len({fact.memory for fact in own}) == len({fact.question for fact in own}) == 30
    assert json.loads((DATA / f"{language}.jsonl").read_text().splitlines()[0]).keys() == {"fact", "memory", "question"}
