"""Operations on the whole system: checks, migrations and moves of the memories to another embedding space."""

import time
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from mnemosyne.app.operations.operation import Operation
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.embedding_space import DIMENSIONS
from mnemosyne.domain.parsing import Text
from mnemosyne.errors import Unavailable

SECONDS = 60.0
"""Seconds after which FillMove does not begin to embed another batch of memories."""


class Examine(Operation, action="doctor"):
    """Check the database, queue, embedder, reranker and authentication of the system."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"checks": [asdict(check) | {"ok": check.ok} for check in operator.checks()]}


class Migrate(Operation, action="migrate", changes_as_owner=True):
    """Apply pending migrations."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"applied": operator.migrate()}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"files": answer["applied"]}


class ShowSchema(Operation, action="schema_status"):
    """List the files of the schema, and show which of them are applied."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"files": operator.schema_files()}


class MoveStep(Operation, changes_as_owner=True):
    """Base of the steps of a move of the memories to another embedding space. Each step can be repeated."""

    model: Text
    dimension: Annotated[int, Field(ge=DIMENSIONS[0], le=DIMENSIONS[1])]

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"model": self.model, "dimension": self.dimension}


class BeginMove(MoveStep, action="reembed_begin"):
    """Begin to move the memories to another embedding space, or continue a move that has begun."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        current, target = operator.embedding_space(), operator.space_of(self.model, self.dimension)
        with operator.move_to(target) as move:
            move.begin()
            return {"from": str(current), "to": str(target), "missing": move.missing()}


class FillMove(MoveStep, action="reembed_fill"):
    """Compute the new embeddings of at most `limit` memories. Stop early after SECONDS or at an error of the embedder.

    The error of the embedder is raised only if this step has not embedded any memory before the error.
    """

    batch_size: Annotated[int, Field(ge=1, le=1000)] = 100
    limit: Annotated[int, Field(ge=1)] = 1000
    """Maximum number of memories that this step embeds."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        deadline, total = time.monotonic() + SECONDS, 0
        with operator.move_to(operator.space_of(self.model, self.dimension)) as move:
            while total < self.limit and time.monotonic() < deadline:
                try:
                    count = move.fill(min(self.batch_size, self.limit - total))
                except Unavailable:
                    if not total:
                        raise
                    break
                total += count
                if not count:
                    break
        return {"filled": total}


class IndexMove(MoveStep, action="reembed_index"):
    """Build the indexes of the new embeddings. Meanwhile, memories can be searched and stored."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        with operator.move_to(operator.space_of(self.model, self.dimension)) as move:
            move.index()
        return {}


class SwitchMove(MoveStep, action="reembed_switch"):
    """Replace the old embeddings by the new ones, unless too many memories have no new embedding."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        with operator.move_to(operator.space_of(self.model, self.dimension)) as move:
            switched = move.switch()
            return {"switched": switched, "missing": 0 if switched else move.missing()}


class AbandonMove(Operation, action="reembed_abandon", changes_as_owner=True):
    """Abandon a move to another embedding space. The memories keep their old embeddings."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        operator.abandon_move()
        return {}
