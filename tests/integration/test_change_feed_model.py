"""Random changes of memories, compared with a simple model of the change feed, with open transactions and crashes."""

import os
import random
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from uuid import UUID

import pytest

from mnemosyne.adapters.database.change_feed import ChangeFeeds
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.app import operator
from mnemosyne.domain.change_feed import ChangeEvent
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.errors import Conflict, Unavailable
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


@dataclass(frozen=True)
class Row:
    """The state of a memory in the database."""

    labels: tuple[object, ...]
    superseded_by: UUID | None
    ratings: object


def kind_of(before: Row | None, after: Row | None, removal: str) -> str | None:
    """Return the kind of the event that a change of a row should have, or None if it should have none."""
    if before is None or after is None:
        return removal if after is None else "created"
    if after.superseded_by not in (None, before.superseded_by):
        return "superseded"
    if (after.labels, after.superseded_by) != (before.labels, before.superseded_by):
        return "updated"
    return None if after.ratings == before.ratings else "rated"


class World:
    """A store that changes at random, and the events that each memory should have."""

    def __init__(self, dice: random.Random, memories: MemoryStore, owner: Connection) -> None:
        self.dice, self.memories, self.owner = dice, memories, owner
        self.requests: list[IngestRequest] = []
        self.expected: Kinds = defaultdict(list)

    def change(self) -> None:
        before, action = self.rows(), self.dice.choice(ACTIONS)
        action(self)
        after = self.rows()
        for memory_id in before.keys() | after.keys():
            removal = "deleted" if action is World.delete else "expired"
            if kind := kind_of(before.get(memory_id), after.get(memory_id), removal):
                self.expected[memory_id].append(kind)

    def rows(self) -> dict[UUID, Row]:
        rows = self.owner.run(
            "SELECT id, title, pinned, expires_at, superseded_by, (SELECT string_agg(CAST(r.xmin AS text), ' ' ORDER BY"
            " r.rated_by) FROM memory_ratings r WHERE r.memory_id = m.id) AS ratings FROM memories m"
        )
        return {
            row["id"]: Row((row["title"], row["pinned"], row["expires_at"]), row["superseded_by"], row["ratings"])
            for row in rows
        }

    def pick(self, count: int = 1) -> list[UUID]:
        """Return the ids of at most `count` memories that have not expired."""
        rows = self.owner.run("SELECT id FROM memories WHERE expires_at IS NULL ORDER BY content")
        return [row["id"] for row in self.dice.sample(rows, min(count, len(rows)))]

    def store(self) -> None:
        """Store memories. This also removes the expired memories with the same contents."""
        requests = [request(content) for content in self.dice.sample(CONTENTS, self.dice.randint(1, 3))]
        store(self.memories, *requests)
        self.requests += requests

    def redeliver(self) -> None:
        if self.requests:
            store(self.memories, self.dice.choice(self.requests))

    def edit(self) -> None:
        for memory_id in self.pick():
            change = MemoryChange(title=self.dice.choice("abc"), pinned=self.dice.random() < 0.5)
            self.memories.update(memory_id, change)

    def supersede(self) -> None:
        chosen = self.pick(2)
        if len(chosen) == 2:
            with suppress(Conflict):  # otherwise the two memories would supersede each other
                self.memories.update(chosen[0], MemoryChange(superseded_by=chosen[1]))

    def bring_back(self) -> None:
        for memory_id in self.pick():
            self.memories.update(memory_id, MemoryChange(not_superseded=True))

    def rate(self) -> None:
        for memory_id in self.pick():
            rate(self.memories, memory_id, self.dice.choice((1, -1, None)), by=self.dice.choice(RATERS))

    def expire(self) -> None:
        for memory_id in self.pick():
            self.owner.run("UPDATE memories SET expires_at = now() WHERE id = :id", id=memory_id)

    def sweep(self) -> None:
        self.owner.run("SELECT remove_expired(100)")

    def delete(self) -> None:
        """Delete memories. Their successors then supersede the memories that the deleted ones have superseded."""
        chosen = self.pick(self.dice.randint(1, 2))
        if len(chosen) == 1:
            self.memories.delete(chosen[0])
        else:
            self.memories.delete_many(chosen)


ACTIONS = (
    World.store, World.store, World.redeliver, World.edit, World.supersede, World.bring_back, World.rate,
    World.expire, World.sweep, World.delete,
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
    seed: int, memories: MemoryStore, owner: Connection, feeds: ChangeFeeds
) -> None:
    dice = random.Random(seed)
    world, follower = World(dice, memories, owner), Reader(memories, limit=dice.choice([1, 3, 100]))
    topic, listed = UnreliableTopic(dice), list[ChangeEvent]()
    for _ in range(STEPS):
        world.change()
        if dice.random() < 0.3:
            listed += follower.read()
        if dice.random() < 0.3:
            announce(feeds, topic)
    listed += follower.read()
    announce(feeds, topic, until_done=True)
    assert kinds_of(listed) == world.expected
    assert kinds_of(without_repeats(topic.messages)) == world.expected


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
