"""Logs of people who work with an assistant: long messages, long sessions, and facts stated in passing.

A session interleaves three topics. A person's message asks about a paragraph of a topic, and may quote some text. The
assistant answers with lists, prose or code. Now and then a person's message also states a fact, at the beginning, in
the middle or at the end. Later messages change or contradict some facts. The assistant sometimes repeats a fact.

There are two sets. In `assistant_logs`, people often quote text, and the assistant repeats half of the facts. In
`short_requests`, people write short messages and the assistant answers at length, as in a chat window.
"""

import itertools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from infra.benchmarks.collection import Collection, Fact, Question
from infra.benchmarks.sets.log_wording import ASKS, ENDS, FOLLOW_UPS, LEADS, OPENINGS, REPEATS, SERVICE_LEADS
from infra.benchmarks.sets.passages import paragraphs_by_topic
from infra.benchmarks.sets.statements import Attribute, kinds, pairs, without_answer

START = datetime(2025, 1, 6, 8, tzinfo=UTC)
PEOPLE = kinds()["person"].subjects[::23][:8]
SERVICES = kinds()["service"].subjects[::9]
FACT = 0.18
"""Probability that a message of a person states a fact."""
UNANSWERABLE = 60
"""Number of questions about subjects that no memory names, and of questions about attributes that no memory states."""
MOST_EVIDENCE = 8
"""Maximum messages that answer a question about several facts, so that the recall of ten hits can be 1."""


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """The properties in which the two sets of logs differ."""

    name: str
    sessions: int
    quoted: Sequence[int]
    """Numbers of paragraphs that a person's message quotes; one number is chosen for each message."""
    answered: range
    """Numbers of paragraphs that follow the first paragraph of an answer; one number is chosen for each answer."""
    repeated: float
    """Probability that the assistant repeats a stated fact."""
    asked_answers: float
    """Probability of a question about an answer of the assistant."""
    stretch: range | None = None
    """Possible lengths of a stretch, which is a series of exchanges about one service. Its first message names the
    service, and later messages often do not. If this is None, there are no stretches, and a message names a service
    only if it states a fact about it."""
    unnamed: float = 0.0
    """Probability that a fact about the service of the stretch says "it" instead of the service's name."""


QUOTING = _Shape(
    name="assistant logs",
    sessions=44,
    quoted=(0, 0, 1, 3, 6),
    answered=range(3, 22),
    repeated=0.5,
    asked_answers=0.03,
)
ASKING = _Shape(
    name="short requests",
    sessions=30,
    quoted=(0, 0, 1, 1, 2),
    answered=range(4, 30),
    repeated=0.1,
    asked_answers=0.0,
    stretch=range(3, 9),
    unnamed=0.4,
)


@dataclass
class _Log:
    rng: random.Random
    shape: _Shape
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    time: datetime = START
    facts: dict[tuple[str, str], list[tuple[list[str], str]]] = field(default_factory=dict)
    """All statements of each fact, by the subject and attribute of the fact. A statement consists of the messages that
    make it, and the value that they state."""
    contradicted: set[tuple[str, str]] = field(default_factory=set)
    """Facts that a message contradicts. The message states a new value, but has no word such as "now", which would tell
    that the fact has changed."""
    answers: list[tuple[str, str, str]] = field(default_factory=list)
    """Some answers of the assistant: message, topic, and the paragraph with which the answer begins."""

    def say(self, session: str, speaker: str, text: str) -> str:
        self.time += timedelta(seconds=self.rng.randrange(20, 240))
        name = f"m{len(self.documents)}"
        self.documents[name] = {
            "id": name,
            "text": f"{speaker}: {text}",
            "timestamp": self.time.isoformat(),
            "session": session,
        }
        return name


def assistant_logs() -> Collection:
    """Generate the logs in which people often quote text, for tuning the ranking."""
    return _logs(QUOTING)


def short_requests() -> Collection:
    """Generate the logs in which people write short messages and get long answers, for tuning the ranking."""
    return _logs(ASKING)


def _logs(shape: _Shape) -> Collection:
    rng = random.Random(1)
    log = _Log(rng, shape)
    subject_attributes = [(subject, attribute) for _, subject, attribute in pairs("service") if subject in SERVICES]
    subject_attributes += [(subject, attribute) for _, subject, attribute in pairs("person") if subject in PEOPLE]
    rng.shuffle(subject_attributes)
    unstated, stated = subject_attributes[:UNANSWERABLE], subject_attributes[UNANSWERABLE:]
    for number in range(shape.sessions):
        _session(log, f"session {number}", PEOPLE[number % len(PEOPLE)], stated)
    questions = _questions(log, {(subject, attribute.name): attribute for subject, attribute in subject_attributes})
    strangers = [(subject, attribute) for _, subject, attribute in pairs("customer", "host")]
    questions += without_answer(rng.sample(strangers, UNANSWERABLE), unstated, rng)
    changes = [
        (earlier[0][0], later[0][0])
        for statements in log.facts.values()
        for earlier, later in itertools.pairwise(statements)
        if earlier[1] != later[1]
    ]
    facts = {
        message: Fact(*key, value)
        for key, statements in log.facts.items()
        for messages, value in statements
        for message in messages
    }
    return Collection(shape.name, log.documents, questions, changes, facts)


def _session(log: _Log, session: str, person: str, stated: list[tuple[str, Attribute]]) -> None:
    rng, shape = log.rng, log.shape
    log.time += timedelta(hours=rng.randrange(8, 70))
    names = rng.sample(sorted(paragraphs_by_topic()), 3)
    stretch, topic, service = 0, "", None
    for _ in range(rng.randrange(30, 101)):
        opening = stretch == 0
        if opening:
            topic = rng.choice(names)
            stretch, service = (rng.choice(shape.stretch), rng.choice(SERVICES)) if shape.stretch else (1, None)
        stretch -= 1
        paragraphs = paragraphs_by_topic()[topic]
        paragraph = rng.choice(paragraphs)
        request = _request(rng, topic, paragraph, service, opening=opening)
        quoted = " ".join(rng.choices(paragraphs, k=rng.choice(shape.quoted)))
        fact, key = _fact(log, person, stated, service) if rng.random() < FACT else ("", None)
        if service and key and key[0] == service and not opening and rng.random() < shape.unnamed:
            fact = fact.replace(f"the {service}", "it").replace(f"The {service}", "It")
        parts = [part for part in (request, fact, quoted) if part]
        rng.shuffle(parts)
        request_id = log.say(session, person.split()[0], " ".join(parts))
        repeat = rng.choice(REPEATS).format(fact=fact) if fact and rng.random() < shape.repeated else ""
        answer = log.say(session, "Assistant", _answer(log, topic, paragraph, repeat, service))
        if key:
            log.facts[key][-1][0].extend([request_id, answer] if repeat else [request_id])
        elif rng.random() < shape.asked_answers:
            log.answers.append((answer, topic, paragraph))


def _request(rng: random.Random, topic: str, paragraph: str, service: str | None, *, opening: bool) -> str:
    """Return a person's request about a paragraph.

    `opening` is true for the first request of a stretch, which also names the service. A stretch is a part of a session
    in which the person works on one service.
    """
    words = re.findall(r"[A-Za-z_]{4,}", paragraph) or [topic]
    asks = ASKS if opening else FOLLOW_UPS
    request = rng.choice(asks).format(topic=topic, words=" ".join(rng.sample(words, min(6, len(words)))))
    return f"{rng.choice(OPENINGS).format(service=service)} {request}" if service and opening else request


def _fact(
    log: _Log, person: str, stated: list[tuple[str, Attribute]], service: str | None
) -> tuple[str, tuple[str, str]]:
    """Return a sentence that states a fact, and the fact's key: the subject and the attribute.

    The fact may have been stated before. In this case the sentence states the same value again, or a new value.
    `service` is the service on which the person is working, or None. If it is not None, two thirds of the facts are
    about this service.
    """
    rng = log.rng
    of_service = service is not None and rng.random() < 2 / 3
    known_keys = sorted(key for key in log.facts if not of_service or key[0] == service)
    if known_keys and rng.random() < 0.3:
        key = rng.choice(known_keys)
        attribute = next(attribute for subject, attribute in stated if (subject, attribute.name) == key)
        old = log.facts[key][-1][1]
        value = attribute.choose_other_value(old, rng)
        if rng.random() < 0.6:
            text = attribute.write_change(key[0], old, value, rng)
        else:
            text = attribute.write_statement(key[0], value, rng)
            log.contradicted.add(key)
    else:
        subjects = [service] if of_service else [person, *SERVICES]
        subject, attribute = rng.choice([pair for pair in stated if pair[0] in subjects])
        key, value = (subject, attribute.name), rng.choice(attribute.values)
        if key in log.facts:
            value = log.facts[key][-1][1]
        text = attribute.write_statement(subject, value, rng)
    log.facts.setdefault(key, []).append(([], value))
    return text, key


def _answer(log: _Log, topic: str, paragraph: str, repeat: str, service: str | None) -> str:
    """Return a long answer of the assistant.

    If `service` is not None, the answer names this service with a probability of one half.
    """
    rng = log.rng
    paragraphs = [paragraph, *rng.choices(paragraphs_by_topic()[topic], k=rng.choice(log.shape.answered))]
    style = rng.choice(("list", "prose", "code"))
    if style == "list":
        paragraphs = [f"{number}. {text}" for number, text in enumerate(paragraphs, 1)]
    elif style == "code":
        paragraphs[1] = f"```python\nfrom {topic} import {paragraphs[1].split()[0]}\n# {paragraphs[1]}\n```"
    leads = SERVICE_LEADS if service and rng.random() < 0.5 else LEADS
    lead = rng.choice(leads).format(service=service)
    return "\n".join(part for part in (repeat, lead, *paragraphs, rng.choice(ENDS)) if part)


def _questions(log: _Log, attributes: dict[tuple[str, str], Attribute]) -> list[Question]:
    rng, questions = log.rng, []
    for (subject, name), statements in log.facts.items():
        values = {value for _, value in statements}
        relevant = frozenset(message for messages, _ in statements for message in messages)
        question = attributes[subject, name].write_question(subject, rng)
        kind = "contradiction" if (subject, name) in log.contradicted else "changed fact"
        kind = kind if len(values) > 1 else "single fact"
        questions.append(Question(question, kind, relevant))
        if len(values) > 1 and (dated := _in_first_month(log, statements)):
            month, relevant = dated
            questions.append(Question(f"{question[:-1]} in {month}?", "time", relevant))
    questions += _several_facts(log, attributes)
    for message, topic, paragraph in log.answers:
        words = sorted({word.lower() for word in re.findall(r"[A-Za-z]{5,}", paragraph)})
        if len(words) >= 8:
            text = f"What did the assistant explain in {topic} about {' '.join(rng.sample(words, 4))}?"
            questions.append(Question(text, "answer of the assistant", frozenset([message])))
    return questions


def _in_first_month(log: _Log, statements: Sequence[tuple[list[str], str]]) -> tuple[str, frozenset[str]] | None:
    """Return the month in which a fact was first stated, and all messages of this month that state the fact.

    Returns None if the messages of the month state different values.
    """
    months = [
        datetime.fromisoformat(log.documents[messages[0]]["timestamp"]).strftime("%B %Y") for messages, _ in statements
    ]
    of_month = [statement for statement, month in zip(statements, months, strict=True) if month == months[0]]
    if len({value for _, value in of_month}) > 1:
        return None
    return months[0], frozenset(message for messages, _ in of_month for message in messages)


def _several_facts(log: _Log, attributes: Mapping[tuple[str, str], Attribute]) -> list[Question]:
    """Return questions about two attributes of a service. The answer is every message that states one of them."""
    questions = []
    for subject in SERVICES:
        names = sorted(name for stated, name in log.facts if stated == subject)
        for first, second in zip(names[::2], names[1::2], strict=False):
            evidence = [
                message for name in (first, second) for messages, _ in log.facts[subject, name] for message in messages
            ]
            if len(evidence) <= MOST_EVIDENCE:
                parts = [attributes[subject, name].write_question(subject, log.rng) for name in (first, second)]
                questions.append(Question(" ".join(parts), "several facts", frozenset(evidence)))
    return questions
