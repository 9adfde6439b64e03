"""Short facts as agents store them: one sentence each, about many subjects with almost the same names."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from infra.benchmarks.collection import Collection, Fact, Question
from infra.benchmarks.sets.statements import kinds, pairs, sentence, without_answer

START = datetime(2025, 1, 1, tzinfo=UTC)
CHANGED = 600
QUESTIONS = {"single fact": 150, "changed fact": 100, "several facts": 60}
UNANSWERABLE = 60
"""Number of questions about subjects that no memory names, and of questions about attributes that no memory states."""
UNKNOWN = 40
"""Number of subjects that no memory names."""
TOGETHER = 3
"""A question about several facts is answered by at least this number of facts about one subject."""


def short_facts() -> Collection:
    """Generate the short facts and the questions about them, for tuning the ranking.

    A changed fact is stated again later with another value.
    """
    rng = random.Random(1)
    everything = list(pairs(*kinds()))
    rng.shuffle(everything)
    unknown = set(rng.sample(sorted({subject for _, subject, _ in everything}), UNKNOWN))
    strangers = [(subject, attribute) for _, subject, attribute in everything if subject in unknown]
    usual = [triple for triple in everything if triple[1] not in unknown]
    unstated, stated = [(subject, attribute) for _, subject, attribute in usual[:UNANSWERABLE]], usual[UNANSWERABLE:]
    documents: dict[str, dict[str, Any]] = {}
    by_fact: dict[tuple[str, str], list[str]] = {}
    values: dict[tuple[str, str], str] = {}

    facts: dict[str, Fact] = {}

    def store(subject: str, attribute: str, value: str, text: str) -> str:
        name = f"f{len(documents)}"
        documents[name] = {
            "id": name,
            "text": sentence(text),
            "timestamp": (START + timedelta(minutes=30 * len(documents))).isoformat(),
        }
        by_fact.setdefault((subject, attribute), []).append(name)
        facts[name] = Fact(subject, attribute, value)
        return name

    for _, subject, attribute in stated:
        value = values[subject, attribute.name] = rng.choice(attribute.values)
        store(subject, attribute.name, value, attribute.write_statement(subject, value, rng))
    changed = rng.sample(stated, CHANGED)
    changes = []
    for _, subject, attribute in changed:
        key = subject, attribute.name
        value = attribute.choose_other_value(values[key], rng)
        later = store(subject, attribute.name, value, attribute.write_change(subject, values[key], value, rng))
        changes.append((by_fact[key][0], later))
    questions = _questions(stated, changed, by_fact, rng)
    questions += without_answer(rng.sample(strangers, UNANSWERABLE), unstated, rng)
    return Collection("short facts", documents, questions, changes, facts)


def _questions(
    stated: list[Any], changed: list[Any], by_fact: dict[tuple[str, str], list[str]], rng: random.Random
) -> list[Question]:
    again = {(subject, attribute.name) for _, subject, attribute in changed}
    once = [triple for triple in stated if (triple[1], triple[2].name) not in again]
    questions = [
        Question(attribute.write_question(subject, rng), kind, frozenset(by_fact[subject, attribute.name]))
        for kind, facts in (("single fact", once), ("changed fact", changed))
        for _, subject, attribute in rng.sample(facts, QUESTIONS[kind])
    ]
    subjects: dict[str, list[str]] = {}
    for (subject, _), names in by_fact.items():
        subjects.setdefault(subject, []).extend(names)
    several = [subject for subject, names in subjects.items() if len(names) >= TOGETHER]
    return questions + [
        Question(f"Tell me everything we know about {subject}.", "several facts", frozenset(subjects[subject]))
        for subject in rng.sample(several, QUESTIONS["several facts"])
    ]
