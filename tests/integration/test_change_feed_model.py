"""Random changes of memories, compared with a simple model of the change feed, with open transactions and crashes."""

import os
import random
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mnemosyne.adapters.database.change_feed import ChangeFeeds
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.app import operator
from mnemosyne.domain.change_feed import ChangeEvent
from mnemosyne.domain.memory import IngestRequest, IngestState
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.errors import Unavailable
from tests.change_feed import Reader
from tests.fakes import request
from tests.memories import rate, store
from tests.shared_database import SharedDatabase

SEQUENCES = int(os.environ.get("FEED_SEQUENCES", "2"))
STEPS = 40
CONTENTS = ("oolong", "sencha", "assam", "keemun")
RATERS = ("ada", "bob")
Kinds = dict[UUID, list[str]]


class UnreliableTopic:
    """A Topic that keeps published messages in a list.

    At random, it fails before or after it has accepted some messages.
    """

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.messages: list[ChangeEvent] = []

    def publish(self, events: Sequence[ChangeEvent]) -> None:
        fails = self._dice.random() < 0.4
        accepted = events[: self._dice.randint(0, len(events))] if fails else events
        self.messages += accepted
        if fails:
            raise Unavailable("the topic did not accept all messages")


@dataclass
class Life:
    """A memory in the model, with its expected state."""

    title: str
    pinned: bool = False
    superseded_by: UUID | None = None
    raters: set[str] = field(default_factory=set)


class World:
    """A store with its model: the living memories by content, and the events that each memory should have."""

    def __init__(self, dice: random.Random, memories: MemoryStore, database: SharedDatabase) -> None:
        self.dice, self.memories, self.database = dice, memories, database
        self.alive: dict[UUID, Life] = {}
        self.ids: dict[str, UUID] = {}
        self.settled: list[IngestRequest] = []
        self.expired: set[UUID] = set()
        self.expected: Kinds = defaultdict(list)

    def pick(self) -> UUID | None:
        """Return a random memory of the model that is alive, or None if there is none."""
        return self.dice.choice(list(self.alive)) if self.alive else None

    def gone(self, memory_id: UUID) -> None:
        """Remove a memory from the model's living memories."""
        del self.alive[memory_id]
        self.ids = {content: id_ for content, id_ in self.ids.items() if id_ != memory_id}

    def store(self) -> None:
        requests = [request(content) for content in self.dice.sample(CONTENTS, self.dice.randint(1, 3))]
        outcomes = store(self.memories, *requests)
        for ingest_request in requests:
            outcome = outcomes[ingest_request.request_id]
            assert outcome.memory_id
            if ingest_request.content not in self.ids:
                assert outcome.state is IngestState.STORED
                self.ids[ingest_request.content] = outcome.memory_id
                self.alive[outcome.memory_id] = Life(ingest_request.content)
                self.expected[outcome.memory_id].append("created")
            self.settled.append(ingest_request)
        self._expect_removals()

    def _expect_removals(self) -> None:
        """Expect an event for each expired memory whose row was removed.

        The delivery of a message, also a repeated one, removes the expired memories that have the message's contents.
        """
        rows = self.database.owner.run("SELECT id FROM memories WHERE namespace = 'ns'")
        present = {row["id"] for row in rows}
        for memory_id in self.expired - present:
            self.expected[memory_id].append("expired")
        self.expired &= present

    def redeliver(self) -> None:
        if self.settled:
            store(self.memories, self.dice.choice(self.settled))
            self._expect_removals()

    def edit(self) -> None:
        if memory_id := self.pick():
            life, title, pinned = self.alive[memory_id], self.dice.choice("abc"), self.dice.random() < 0.5
            self.memories.update(memory_id, MemoryChange(title=title, pinned=pinned))
            if (life.title, life.pinned) != (title, pinned):
                self.expected[memory_id].append("updated")
            life.title, life.pinned = title, pinned

    def supersede(self) -> None:
        current = [memory_id for memory_id, life in self.alive.items() if life.superseded_by is None]
        if len(current) > 1:
            older, newer = self.dice.sample(current, 2)
            self.memories.update(older, MemoryChange(superseded_by=newer))
            self.alive[older].superseded_by = newer
            self.expected[older].append("superseded")

    def bring_back(self) -> None:
        if memory_id := self.pick():
            self.memories.update(memory_id, MemoryChange(not_superseded=True))
            if self.alive[memory_id].superseded_by:
                self.expected[memory_id].append("updated")
            self.alive[memory_id].superseded_by = None

    def rate(self) -> None:
        if memory_id := self.pick():
            rater, rating = self.dice.choice(RATERS), self.dice.choice((1, -1, None))
            rate(self.memories, memory_id, rating, by=rater)
            raters = self.alive[memory_id].raters
            if rating is not None or rater in raters:
                self.expected[memory_id].append("rated")
            (raters.discard if rating is None else raters.add)(rater)

    def expire(self) -> None:
        if memory_id := self.pick():
            soon = datetime.now(UTC) - timedelta(seconds=1)
            self.database.owner.run("UPDATE memories SET expires_at = :at WHERE id = :id", at=soon, id=memory_id)
            self.expected[memory_id].append("updated")
            self.expired.add(memory_id)
            self.gone(memory_id)

    def sweep(self) -> None:
        self.database.owner.run("SELECT remove_expired(100)")
        for memory_id in self.expired:
            self.expected[memory_id].append("expired")
        self.expired.clear()

    def delete(self) -> None:
        if memory_id := self.pick():
            self._relink(memory_id)
            self.memories.delete(memory_id)
            self.expected[memory_id].append("deleted")
            self.gone(memory_id)

    def delete_many(self) -> None:
        chosen = self.dice.sample(list(self.alive), min(2, len(self.alive)))
        for memory_id in chosen:
            self._relink(memory_id, without=frozenset(chosen))
        self.memories.delete_many(chosen)
        for memory_id in chosen:
            self.expected[memory_id].append("deleted")
            self.gone(memory_id)

    def _relink(self, memory_id: UUID, without: frozenset[UUID] = frozenset()) -> None:
        """Let the successor of the deleted memory supersede the memories that the deleted memory had superseded.

        The model expects an event for each of them, except for those in `without`.
        """
        if successor := self.alive[memory_id].superseded_by:
            for older, life in self.alive.items():
                if life.superseded_by == memory_id:
                    life.superseded_by = successor
                    if older not in without:
                        self.expected[older].append("superseded")


STEPS_OF_A_LIFE = (
    World.store, World.store, World.redeliver, World.edit, World.supersede, World.bring_back, World.rate,
    World.expire, World.sweep, World.delete, World.delete_many,
)  # fmt: skip


def kinds_of(events: Sequence[ChangeEvent]) -> Kinds:
    """Return the kinds of each memory's events, in the order of `events`.

    Raises AssertionError if `events` contains an event twice.
    """
    assert len({event.id for event in events}) == len(events)
    kinds: Kinds = defaultdict(list)
    for event in events:
        kinds[event.memory_id].append(event.kind.value)
    return kinds


def without_repeats(messages: Sequence[ChangeEvent]) -> list[ChangeEvent]:
    """Remove messages with repeated ids, as a receiver would."""
    return list({message.id: message for message in messages}.values())


def announce(feeds: ChangeFeeds, topic: UnreliableTopic, *, until_done: bool = False) -> None:
    """Publish the new events. With `until_done`, try again until the topic has accepted all events."""
    while True:
        try:
            operator.announce(feeds, topic)
        except Unavailable:
            if until_done:
                continue
        return


@pytest.mark.usefixtures("feed_on")
@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_each_change_is_listed_once_and_published_in_order(
    seed: int, memories: MemoryStore, shared_database: SharedDatabase, feeds: ChangeFeeds
) -> None:
    dice = random.Random(seed)
    world, follower = World(dice, memories, shared_database), Reader(memories, limit=dice.choice([1, 3, 100]))
    topic, listed = UnreliableTopic(dice), list[ChangeEvent]()
    for _ in range(STEPS):
        dice.choice(STEPS_OF_A_LIFE)(world)
        if dice.random() < 0.3:
            listed += follower.read()
        if dice.random() < 0.3:
            announce(feeds, topic)
    listed += follower.read()
    announce(feeds, topic, until_done=True)
    expected = {memory_id: kinds for memory_id, kinds in world.expected.items() if kinds}
    assert kinds_of(listed) == expected
    assert kinds_of(without_repeats(topic.messages)) == expected


TITLE = """
UPDATE memories SET title = title || 'x' WHERE id = (
    SELECT id FROM memories WHERE namespace = 'ns' AND id = :id FOR UPDATE SKIP LOCKED
) RETURNING id
"""


@pytest.mark.usefixtures("feed_on")
@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_changes_of_open_transactions_are_listed_once_in_the_order_of_each_memory(
    seed: int, memories: MemoryStore, shared_database: SharedDatabase, feeds: ChangeFeeds
) -> None:
    dice = random.Random(seed)
    requests = [request(content) for content in CONTENTS]
    ids = [status.memory_id for status in store(memories, *requests).values() if status.memory_id]
    follower, topic = Reader(memories, limit=dice.choice([1, 3, 100])), UnreliableTopic(dice)
    expected, listed = dict.fromkeys(ids, 0), list[ChangeEvent]()
    with ExitStack() as opened:
        sessions = [shared_database.connect_as_owner() for _ in range(4)]
        for session in sessions:
            opened.callback(session.close)
        changed: dict[int, set[UUID]] = {}
        for _ in range(80):
            number = dice.randrange(len(sessions))
            if dice.random() < 0.2:
                listed += follower.read()
                announce(feeds, topic)
            elif number in changed and dice.random() < 0.4:
                _end(sessions[number], changed.pop(number), expected, commits=dice.random() < 0.8)
            else:
                if number not in changed:
                    sessions[number].script("BEGIN")
                    changed[number] = set()
                changed[number] |= {row["id"] for row in sessions[number].run(TITLE, id=dice.choice(ids))}
        for number, memory_ids in changed.items():
            _end(sessions[number], memory_ids, expected, commits=True)
    listed += follower.read()
    announce(feeds, topic, until_done=True)
    for events in (listed, without_repeats(topic.messages)):
        assert kinds_of(events) == {id_: ["created"] + ["updated"] * count for id_, count in expected.items()}
        for memory_id in ids:
            sequences = [event.sequence for event in events if event.memory_id == memory_id]
            assert sequences == sorted(sequences)


def _end(session: Connection, changed: set[UUID], expected: dict[UUID, int], *, commits: bool) -> None:
    session.script("COMMIT" if commits else "ROLLBACK")
    if commits:
        for memory_id in changed:
            expected[memory_id] += 1
