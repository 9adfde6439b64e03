"""Facts about subjects, each in several wordings, and questions in other words."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from infra.benchmarks.collection import Question

SEPARATORS = {"host": "-"}
"""Text between the two parts of a subject's name, by kind of subject. For other kinds, it is a space."""


@dataclass(frozen=True)
class Attribute:
    """An attribute of a kind of subject, such as the deploy day of a service, with templates of sentences.

    In the templates, `{s}` stands for the subject, `{v}` for the value, and `{old}` for the previous value.
    """

    name: str
    statements: Sequence[str]
    changes: Sequence[str]
    questions: Sequence[str]
    values: Sequence[str]

    def write_statement(self, subject: str, value: str, rng: random.Random) -> str:
        """Return a sentence that states the value."""
        return rng.choice(self.statements).format(s=subject, v=value)

    def write_change(self, subject: str, old: str, value: str, rng: random.Random) -> str:
        """Return a sentence that states that a new value replaces the old one."""
        return rng.choice(self.changes).format(s=subject, v=value, old=old)

    def write_question(self, subject: str, rng: random.Random) -> str:
        """Return a question that asks for the value."""
        return rng.choice(self.questions).format(s=subject)

    def choose_other_value(self, value: str, rng: random.Random) -> str:
        """Return a value of the attribute that differs from `value`."""
        return rng.choice([other for other in self.values if other != value])


@dataclass(frozen=True)
class Kind:
    """A kind of subjects, such as hosts."""

    name: str
    subjects: Sequence[str]
    attributes: Sequence[Attribute]


@cache
def kinds() -> dict[str, Kind]:
    """Return the kinds of subjects that facts.json describes, by name."""
    read: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("facts.json").read_text())
    return {
        name: Kind(
            name,
            [f"{first}{SEPARATORS.get(name, ' ')}{second}" for first in kind["first"] for second in kind["second"]],
            [Attribute(attribute, **fields) for attribute, fields in kind["attributes"].items()],
        )
        for name, kind in read.items()
    }


def pairs(*names: str) -> Iterator[tuple[Kind, str, Attribute]]:
    """Yield each pair of a subject and an attribute of the subject's kind, for the kinds with these names."""
    for kind in (kinds()[name] for name in names):
        for subject in kind.subjects:
            for attribute in kind.attributes:
                yield kind, subject, attribute


def without_answer(
    unknown: Sequence[tuple[str, Attribute]], unstated: Sequence[tuple[str, Attribute]], rng: random.Random
) -> list[Question]:
    """Return questions about subjects that no memory names, and about attributes that no memory states."""
    return [
        Question(attribute.write_question(subject, rng), kind, frozenset())
        for kind, facts in (("unknown subject", unknown), ("unstated attribute", unstated))
        for subject, attribute in facts
    ]


def sentence(text: str) -> str:
    """Return the text with a capital first letter, unless it begins with the name of a host."""
    return text if text[:1].islower() and "-" in text.split()[0] else text[:1].upper() + text[1:]
