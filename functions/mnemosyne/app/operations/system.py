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
"""Seconds after which a step of a move ends."""


class Examine(Operation):
    """Check the database, queue, embedder, reranker and authentication of the system."""

    action = "doctor"

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"checks": [asdict(check) | {"ok": check.ok} for check in operator.checks()]}


class Migrate(Operation):
    """Apply pending migrations."""

    action = "migrate"
    changes = True
    as_owner = True

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"applied": operator.migrate()}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"files": answer["applied"]}


class ShowSchema(Operation):
    """List the files of the schema, and show which of them are applied."""

    action = "schema_status"
    as_owner = True

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"files": operator.schema_files()}


class MoveStep(Operation):
    """Base of the steps of a move of the memories to another embedding space. Each step can be repeated."""

    changes = True
    as_owner = True

    model: Text
    dimension: Annotated[int, Field(ge=DIMENSIONS[0], le=DIMENSIONS[1])]

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"model": self.model, "dimension": self.dimension}


class BeginMove(MoveStep):
    """Begin to move the memories to another embedding space, or continue a move that has begun."""

    action = "reembed_begin"

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        """Begin or continue the move of the memories to another embedding space.

        Returns the current and the new embedding space, and the number of memories without a new embedding.
        """
        current, target = operator.embedding_space(), operator.space_of(self.model, self.dimension)
        with operator.move_to(target) as move:
            move.begin()
            return {"from": str(current), "to": str(target), "missing": move.missing()}


class FillMove(MoveStep):
    """Compute the new embeddings of at most `limit` memories, and stop after SECONDS."""

    action = "reembed_fill"

    batch_size: Annotated[int, Field(ge=1, le=1000)] = 100
    limit: Annotated[int, Field(ge=1)] = 1000
    """Maximum number of memories that this step embeds."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        """Embed memories, and return their number. Raises Unavailable if the embedder fails before any is embedded."""
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


class IndexMove(MoveStep):
    """Build the indexes of the new embeddings."""

    action = "reembed_index"

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        """Build the indexes of the new embeddings. Meanwhile, memories can be searched and stored."""
        with operator.move_to(operator.space_of(self.model, self.dimension)) as move:
            move.index()
        return {}


class SwitchMove(MoveStep):
    """Replace the old embeddings by the new ones."""

    action = "reembed_switch"

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        """Replace the old embeddings, unless too many memories have no new embedding.

        Returns whether the embeddings were replaced, and the number of memories without a new embedding.
        """
        with operator.move_to(operator.space_of(self.model, self.dimension)) as move:
            switched = move.switch()
            return {"switched": switched, "missing": 0 if switched else move.missing()}


class AbandonMove(Operation):
    """Abandon a move to another embedding space. The memories keep their old embeddings."""

    action = "reembed_abandon"
    changes = True
    as_owner = True

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        """Drop the new embeddings. Raises Conflict if no move to another embedding space has begun."""
        operator.abandon_move()
        return {}
