"""Random lives of memories against a plain model: what is visible is what the model says, after each step."""

import os
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mnemosyne.domain.memory import IngestRequest, IngestState
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.search import Filters
from tests.fakes import FakeServices, request
from tests.memories import list_memories, store
from tests.shared_database import SharedDatabase

SEQUENCES = int(os.environ.get("LIFE_SEQUENCES", "20"))
STEPS = 25
CONTENTS = ("oolong", "sencha", "assam")
EXPIRIES = (None, timedelta(days=1), timedelta(days=2))


@dataclass
class Life:
    """A memory of the model."""

    id: UUID
    expires_at: datetime | None
    superseded: bool = False


@dataclass
class Model:
    """What should be visible: the living memories by content, and the requests that are final."""

    alive: dict[str, Life] = field(default_factory=dict)
    settled: list[IngestRequest] = field(default_factory=list)

    @property
    def visible(self) -> set[UUID]:
        return {life.id for life in self.alive.values()}

    @property
    def found(self) -> set[UUID]:
        return {life.id for life in self.alive.values() if not life.superseded}


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_what_is_visible_is_what_a_plain_model_says(
    seed: int, services: FakeServices, shared_database: SharedDatabase
) -> None:
    dice, model = random.Random(seed), Model()
    for _ in range(STEPS):
        step = dice.choice((_send, _send, _redeliver, _expire, _sweep, _supersede, _delete))
        step(dice, model, services, shared_database)
        assert {memory.id for memory in list_memories(services.memories)} == model.visible, step
        assert {memory.id for memory in services.memories.list(Filters(), 100)} == model.found, step


def _send(dice: random.Random, model: Model, services: FakeServices, _: SharedDatabase) -> None:
    content, lifetime = dice.choice(CONTENTS), dice.choice(EXPIRIES)
    expires_at = None if lifetime is None else datetime.now(UTC).replace(microsecond=0) + lifetime
    made = request(content, expires_at=expires_at)
    outcome = store(services.memories, made)[made.request_id]
    assert outcome.memory_id
    model.settled.append(made)
    life = model.alive.get(content)
    if life is None:
        assert outcome.state is IngestState.STORED
        model.alive[content] = Life(outcome.memory_id, expires_at)
    else:
        assert (outcome.state, outcome.memory_id) == (IngestState.DUPLICATE, life.id)
        life.expires_at = None if None in (life.expires_at, expires_at) else max(life.expires_at, expires_at)  # type: ignore[type-var]
    stored = services.memories.fetch(outcome.memory_id)
    assert stored
    assert stored.expires_at == model.alive[content].expires_at


def _redeliver(dice: random.Random, model: Model, services: FakeServices, _: SharedDatabase) -> None:
    if model.settled:
        store(services.memories, dice.choice(model.settled))


def _expire(dice: random.Random, model: Model, services: FakeServices, database: SharedDatabase) -> None:
    content = dice.choice(CONTENTS)
    if life := model.alive.pop(content, None):
        database.owner.run("UPDATE memories SET expires_at = now() WHERE id = :id", id=life.id)


def _sweep(dice: random.Random, model: Model, services: FakeServices, database: SharedDatabase) -> None:
    database.owner.run("SELECT remove_expired(CAST(:limit AS integer))", limit=dice.randint(1, 3))


def _supersede(dice: random.Random, model: Model, services: FakeServices, _: SharedDatabase) -> None:
    older, newer = dice.sample(CONTENTS, 2)
    if older in model.alive and newer in model.alive and not model.alive[newer].superseded:
        services.memories.update(model.alive[older].id, MemoryChange(superseded_by=model.alive[newer].id))
        model.alive[older].superseded = True


def _delete(dice: random.Random, model: Model, services: FakeServices, _: SharedDatabase) -> None:
    content = dice.choice(CONTENTS)
    if life := model.alive.pop(content, None):
        services.memories.delete(life.id)
