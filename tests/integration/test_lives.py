"""Random changes of memories: after each step the visible memories are those of a simple model."""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.owner_store import Holds
from mnemosyne.adapters.database.retention import Retention
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import IngestRequest, IngestState, IngestStatus
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.domain.search import Filters
from mnemosyne.errors import Conflict
from mnemosyne.service import deliveries, redrives
from mnemosyne.service.deliveries import Push
from tests.fakes import request
from tests.integration.test_forgetting import Letters, forget, push
from tests.memories import list_memories, status_of, store
from tests.shared_database import SharedDatabase

SEQUENCES = int(os.environ.get("LIFE_SEQUENCES", "6"))
STEPS = 25
CONTENTS = ("oolong", "sencha", "assam")
EXPIRIES = (None, timedelta(days=1), timedelta(days=2))


@dataclass
class Life:
    """A memory in the model, with its expected state."""

    id: UUID
    given: datetime | None
    """The latest expiry that the requests with this content have asked for, or None if a request has asked for none."""
    superseded: bool = False


@dataclass
class Model:
    """The expected state: the visible memories by content, and the messages that are not delivered yet."""

    alive: dict[str, Life] = field(default_factory=dict)
    expired: dict[str, Life] = field(default_factory=dict)
    """Expired memories whose rows are not removed yet, by content, the earliest expiry first. If a content is delivered
    again, the row of its expired memory is removed."""
    settled: list[IngestRequest] = field(default_factory=list)
    """Requests with a final outcome."""
    on_the_way: list[IngestRequest] = field(default_factory=list)
    """Requests of messages that are not delivered yet."""
    letters: list[IngestRequest] = field(default_factory=list)
    """Requests of dead letters."""
    forgotten: set[UUID] = field(default_factory=set)
    """Requests that were published before the latest forgetting of all memories."""
    hold: UUID | None = None

    @property
    def visible(self) -> set[UUID]:
        return {life.id for life in self.alive.values()}

    @property
    def found(self) -> set[UUID]:
        return {life.id for life in self.alive.values() if not life.superseded}


@dataclass
class World:
    """The system, the model and the random generator."""

    dice: random.Random
    services: Letters
    database: SharedDatabase
    model: Model = field(default_factory=Model)

    def new_request(self) -> IngestRequest:
        lifetime = self.dice.choice(EXPIRIES)
        now = datetime.now(UTC)
        expires_at = None if lifetime is None else now.replace(microsecond=0) + lifetime
        return request(self.dice.choice(CONTENTS), expires_at=expires_at, published=now)

    def record(self, ingest_request: IngestRequest, outcome: IngestStatus) -> None:
        """Apply a delivered request to the model, and check that its outcome is the one that the model expects."""
        model = self.model
        model.settled.append(ingest_request)
        model.expired.pop(ingest_request.content, None)
        life = model.alive.get(ingest_request.content)
        if life is None and ingest_request.request_id in model.forgotten:
            assert outcome.state is IngestState.DELETED
            return
        assert outcome.memory_id
        if life is None:
            assert outcome.state is IngestState.STORED
            model.alive[ingest_request.content] = Life(outcome.memory_id, ingest_request.expires_at)
        else:
            assert (outcome.state, outcome.memory_id) == (IngestState.DUPLICATE, life.id)
            expires_at = ingest_request.expires_at
            life.given = None if None in (life.given, expires_at) else max(life.given, expires_at)  # type: ignore[type-var]
        memory = self.services.memories.fetch(outcome.memory_id)
        assert memory
        assert memory.expires_at == (None if model.hold else model.alive[ingest_request.content].given)

    def taken(self, requests: list[IngestRequest]) -> IngestRequest | None:
        return requests.pop(self.dice.randrange(len(requests))) if requests else None


def _send(world: World) -> None:
    ingest_request = world.new_request()
    world.record(ingest_request, store(world.services.memories, ingest_request)[ingest_request.request_id])


def _publish(world: World) -> None:
    world.model.on_the_way.append(world.new_request())


def _deliver(world: World) -> None:
    if ingest_request := world.taken(world.model.on_the_way):
        deliveries.store(push(ingest_request, published=_published(ingest_request)), world.services)
        world.record(ingest_request, status_of(world.services.memories, ingest_request.request_id))


def _give_up(world: World) -> None:
    if ingest_request := world.taken(world.model.on_the_way):
        world.services.give_up(
            push(ingest_request, published=_published(ingest_request), message_id=str(ingest_request.request_id))
        )
        status = status_of(world.services.memories, ingest_request.request_id)
        if ingest_request.content in world.model.alive or ingest_request.request_id in world.model.forgotten:
            world.record(ingest_request, status)
        else:
            assert status.state is IngestState.DEAD_LETTERED
            world.model.expired.pop(ingest_request.content, None)
            world.model.letters.append(ingest_request)


def _redrive(world: World) -> None:
    if ingest_request := world.taken(world.model.letters):
        redrives.redrive(str(ingest_request.request_id), memories=world.services.memories, queue=world.services.queue)
        ((data, attributes),) = world.services.queue.messages
        world.services.queue.messages.clear()
        published = Published(message_id="again", data=data, attributes=attributes)
        deliveries.store(Push(published, 1), world.services)
        world.record(ingest_request, status_of(world.services.memories, ingest_request.request_id))


def _redeliver(world: World) -> None:
    if world.model.settled:
        ingest_request = world.dice.choice(world.model.settled)
        world.model.expired.pop(ingest_request.content, None)
        deliveries.store(push(ingest_request, published=_published(ingest_request)), world.services)


def _expire(world: World) -> None:
    content = world.dice.choice(CONTENTS)
    if life := world.model.alive.get(content):
        world.database.owner.run("UPDATE memories SET expires_at = now() WHERE id = :id", id=life.id)
        if not world.model.hold:
            world.model.expired[content] = world.model.alive.pop(content)


def _sweep(world: World) -> None:
    limit = world.dice.randint(1, 3)
    world.database.owner.run("SELECT remove_expired(CAST(:limit AS integer))", limit=limit)
    for content in list(world.model.expired)[:limit]:
        del world.model.expired[content]


def _supersede(world: World) -> None:
    older, newer = world.dice.sample(CONTENTS, 2)
    alive = world.model.alive
    if older in alive and newer in alive and not alive[newer].superseded:
        world.services.memories.update(alive[older].id, MemoryChange(superseded_by=alive[newer].id))
        alive[older].superseded = True


def _delete(world: World) -> None:
    content = world.dice.choice(CONTENTS)
    life = world.model.alive.get(content)
    if life and _allowed(world, lambda: world.services.memories.delete(life.id)):
        del world.model.alive[content]


def _forget(world: World) -> None:
    model = world.model
    if _allowed(world, lambda: forget(world.services)):
        model.alive.clear()
        model.expired.clear()
        model.forgotten |= {ingest_request.request_id for ingest_request in (*model.on_the_way, *model.letters)}
        model.letters.clear()
        assert world.services.memories.dead_letters(10) == []


def _hold(world: World) -> None:
    holds = Holds(world.database.connect_as_owner)
    model = world.model
    if model.hold:
        assert holds.release("ns", model.hold)
        Retention(world.database.connect_as_owner).apply("ns")
        model.hold = None
    else:
        model.hold = holds.place("ns", Selection(), "before the court", "somebody")
        while holds.suspend("ns", model.hold):
            pass
        model.alive |= model.expired
        model.expired.clear()


def _allowed(world: World, action: Callable[[], object]) -> bool:
    """Do the action and return true. If there is a legal hold, check that it prevents the action, and return false."""
    if world.model.hold:
        with pytest.raises(Conflict, match="before the court"):
            action()
        return False
    action()
    return True


def _published(ingest_request: IngestRequest) -> datetime:
    assert ingest_request.published
    return ingest_request.published


STEP_FUNCTIONS = (
    _send, _send, _publish, _publish, _deliver, _give_up, _redrive, _redeliver, _expire, _sweep, _supersede, _delete,
    _forget, _hold,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_the_visible_memories_equal_the_visible_memories_of_a_simple_model(
    seed: int, memories: MemoryStore, shared_database: SharedDatabase
) -> None:
    world = World(random.Random(seed), Letters(memories), shared_database)
    for _ in range(STEPS):
        step = world.dice.choice(STEP_FUNCTIONS)
        step(world)
        assert {memory.id for memory in list_memories(memories)} == world.model.visible, step
        assert {memory.id for memory in memories.list(Filters(), 100)} == world.model.found, step
